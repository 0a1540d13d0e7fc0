// swift-tools-version: 6.2

import PackageDescription

// A package that wants spans. Its tests run what is compiled with the trait 'Tracing' only.
let package = Package(
  name: "traced",
  dependencies: [
    .package(name: "swift-shared-state", path: "../../..", traits: [.defaults, "Tracing"]),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
  ],
  targets: [
    .testTarget(
      name: "TracedTests",
      dependencies: [
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "SharedStateRedisTesting", package: "swift-shared-state"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ],
      swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]
    )
  ],
  swiftLanguageModes: [.v6]
)
