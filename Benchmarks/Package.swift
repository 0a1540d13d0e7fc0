// swift-tools-version: 6.2

import PackageDescription

let package = Package(
  name: "benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    // Named, so that it is found whatever the folder of the checkout is called.
    .package(name: "swift-shared-state", path: "..")
  ],
  targets: [
    .target(
      name: "CBench",
      linkerSettings: [.linkedLibrary("hiredis")]
    ),
    .executableTarget(
      name: "bench",
      dependencies: [
        "CBench",
        .product(name: "SharedState", package: "swift-shared-state"),
        .product(name: "SharedStateDependencies", package: "swift-shared-state"),
        .product(name: "SharedStateRedis", package: "swift-shared-state"),
        .product(name: "SharedStateTesting", package: "swift-shared-state"),
      ],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)
