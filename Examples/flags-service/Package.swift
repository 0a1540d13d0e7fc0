// swift-tools-version: 6.2

import PackageDescription

let settings: [SwiftSetting] = [.treatAllWarnings(as: .error)]

func library(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-shared-state") }

let package = Package(
  name: "flags-service",
  products: [.executable(name: "flags-service", targets: ["FlagsService"])],
  dependencies: [
    .package(name: "swift-shared-state", path: "../.."),
    // One trait only: SwiftPM passes several in a random order, so that Hummingbird would often be built again.
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: ["FullFoundation"]),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    // Only for the tests, which start the service as a process.
    .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
  ],
  targets: [
    .executableTarget(
      name: "FlagsService",
      dependencies: [
        library("SharedStateRedis"),
        library("SharedStateServiceLifecycle"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ],
      swiftSettings: settings
    ),
    .testTarget(
      name: "FlagsServiceTests",
      dependencies: [
        "FlagsService",
        library("SharedStateRedisTesting"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "Subprocess", package: "swift-subprocess"),
      ],
      path: "Tests",
      swiftSettings: settings
    ),
  ],
  swiftLanguageModes: [.v6]
)
