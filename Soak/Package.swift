// swift-tools-version: 6.2

// A package of its own, so that nobody who uses the library ever builds it, and so that the simulation, which looks
// into the state machines, can be optimised. Its folders are links to those of the library.

import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .unsafeFlags(["-enable-testing"]),
]

let package = Package(
  name: "soak",
  dependencies: [
    .package(url: "https://github.com/pointfreeco/xctest-dynamic-overlay", from: "1.13.1"),
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
        .product(name: "OrderedCollections", package: "swift-collections"),
      ],
      swiftSettings: settings
    ),
    .systemLibrary(name: "CHiredis"),
    .target(
      name: "SharedStateRedis",
      dependencies: [
        "SharedState",
        "SharedStateDependencies",
        "CHiredis",
        .product(name: "HeapModule", package: "swift-collections"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
      ],
      swiftSettings: settings
    ),
    // Only its folder History: the rest of it is about tests.
    .target(name: "SharedStateTesting", swiftSettings: settings),
    .target(
      name: "Simulation",
      dependencies: ["SharedState", "SharedStateRedis", "SharedStateTesting"],
      swiftSettings: settings
    ),
    .executableTarget(name: "soak", dependencies: ["Simulation", "SharedStateRedis"], swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
