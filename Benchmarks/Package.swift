// swift-tools-version: 6.2

// A package of its own, so that users of the library never build it. Its folders are links to those of the library, so
// that it can measure internals of the library that are built as for a program that depends on it: with
// `-enable-testing` the compiler could assume less.

import CompilerPluginSupport
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

let package = Package(
  name: "benchmarks",
  dependencies: [
    .package(url: "https://github.com/pointfreeco/xctest-dynamic-overlay", from: "1.13.1"),
    .package(url: "https://github.com/pointfreeco/swift-custom-dump", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.1.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
  ],
  targets: [
    .target(
      name: "SharedStateDependencies",
      dependencies: [.product(name: "IssueReporting", package: "xctest-dynamic-overlay")],
      swiftSettings: settings
    ),
    .target(
      name: "SharedState",
      dependencies: [
        "SharedStateDependencies",
        .product(name: "IssueReporting", package: "xctest-dynamic-overlay"),
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "OrderedCollections", package: "swift-collections"),
      ],
      swiftSettings: settings
    ),
    .systemLibrary(name: "CHiredis"),
    .systemLibrary(name: "COpenSSL"),
    .target(
      name: "SharedStateRedis",
      dependencies: [
        "SharedState",
        "SharedStateDependencies",
        "CHiredis",
        "COpenSSL",
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HeapModule", package: "swift-collections"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
      ],
      swiftSettings: settings + [.define("TLS")]
    ),
    .target(
      name: "SharedStateTesting",
      dependencies: ["SharedState", "SharedStateDependencies"],
      swiftSettings: settings
    ),
    .target(
      name: "SharedStateRedisTesting",
      dependencies: ["SharedState", "SharedStateDependencies", "SharedStateRedis", "SharedStateTesting"],
      swiftSettings: settings
    ),
    .target(name: "SharedStateStoreMacroExpansion", swiftSettings: settings),
    .macro(
      name: "SharedStateStoreMacros",
      dependencies: ["SharedStateStoreMacroExpansion"],
      swiftSettings: settings
    ),
    .target(
      name: "SharedStateStore",
      dependencies: [
        "SharedState",
        "SharedStateDependencies",
        "SharedStateStoreMacros",
        .product(name: "IssueReporting", package: "xctest-dynamic-overlay"),
        .product(name: "OrderedCollections", package: "swift-collections"),
      ],
      swiftSettings: settings
    ),
    .target(name: "CTaskHook"),
    .target(
      name: "SharedStateStoreTesting",
      dependencies: [
        "CTaskHook",
        "SharedState",
        "SharedStateDependencies",
        "SharedStateStore",
        .product(name: "CustomDump", package: "swift-custom-dump"),
        .product(name: "IssueReporting", package: "xctest-dynamic-overlay"),
      ],
      swiftSettings: settings
    ),
    .target(
      name: "CBench",
      linkerSettings: [.linkedLibrary("hiredis")]
    ),
    .executableTarget(
      name: "bench",
      dependencies: [
        "CBench",
        "SharedState",
        "SharedStateDependencies",
        "SharedStateRedis",
        "SharedStateRedisTesting",
        "SharedStateStore",
        "SharedStateStoreTesting",
      ],
      swiftSettings: settings
    ),
  ],
  swiftLanguageModes: [.v6]
)
