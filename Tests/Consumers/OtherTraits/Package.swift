// swift-tools-version: 6.2

import PackageDescription

// A package without TLS, which is on by default, and with spans, which are off. `make check` builds it with an OpenSSL
// that does not compile.
let package = Package(
  name: "other-traits",
  dependencies: [
    .package(name: "swift-shared-state", path: "../../..", traits: ["Tracing"]),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
  ],
  targets: [
    .executableTarget(
      name: "plain",
      dependencies: [.product(name: "SharedStateRedis", package: "swift-shared-state")]
    ),
    .testTarget(
      name: "OtherTraitsTests",
      dependencies: [
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "SharedStateRedisTesting", package: "swift-shared-state"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ],
      swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]
    ),
  ],
  swiftLanguageModes: [.v6]
)
