// swift-tools-version: 6.2

// A package of its own, so that users of the library never build it, and so that the library can be built with
// coverage, which guides the fuzzer, and with the address sanitizer. Its folders are links to those of the library.

import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .unsafeFlags([
    // `-sanitize=fuzzer` alone produces a form of coverage that libFuzzer does not read any more.
    "-sanitize=fuzzer", "-sanitize-coverage=edge,trace-cmp,inline-8bit-counters,pc-table", "-sanitize=address",
    "-enable-testing",
  ]),
]

let package = Package(
  name: "fuzz",
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
        .product(name: "DequeModule", package: "swift-collections"),
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
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HeapModule", package: "swift-collections"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
      ],
      swiftSettings: settings
    ),
    .target(name: "SharedStateMacroExpansion", swiftSettings: settings),
    // Declares the entry point of libFuzzer, which comes with the toolchain.
    .target(name: "CFuzzer"),
    .executableTarget(
      name: "fuzz",
      dependencies: ["CFuzzer", "SharedState", "SharedStateRedis", "SharedStateMacroExpansion"],
      swiftSettings: settings,
      linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-sanitize=address", "-use-ld=lld"])]
    ),
  ],
  swiftLanguageModes: [.v6]
)
