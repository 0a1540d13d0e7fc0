// swift-tools-version: 6.2

// A package of its own, so that users of the library never build it. It depends on the library as a user's program
// does, so that it measures what such a program gets: with `-enable-testing` the compiler could assume less.

import PackageDescription

// It measures internals of the library, too. They have the access level 'package', so the benchmarks are compiled as a
// part of the library's package. SwiftPM names that after its folder.
let folder = Context.packageDirectory.split(separator: "/").dropLast().last ?? ""
let packageName = String(
  folder.lowercased().enumerated().map { $1.isLetter || $0 > 0 && $1.isNumber ? $1 : "_" }
)

func library(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-shared-state") }

let package = Package(
  name: "benchmarks",
  dependencies: [.package(name: "swift-shared-state", path: "..")],
  targets: [
    .target(
      name: "CBench",
      linkerSettings: [.linkedLibrary("hiredis")]
    ),
    .executableTarget(
      name: "bench",
      dependencies: [
        "CBench",
        library("SharedState"),
        library("SharedStateDependencies"),
        library("SharedStateRedis"),
        library("SharedStateRedisTesting"),
        library("SharedStateStore"),
        library("SharedStateStoreTesting"),
      ],
      packageAccess: false,
      swiftSettings: [
        .treatAllWarnings(as: .error),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .unsafeFlags(["-package-name", packageName]),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)
