// swift-tools-version: 6.2

import PackageDescription

// A package whose tests use a Redis, as in the article "Testing with Redis".
let package = Package(
  name: "with-redis",
  dependencies: [.package(name: "swift-shared-state", path: "../../..")],
  targets: [
    .executableTarget(
      name: "leaving",
      dependencies: [.product(name: "SharedStateRedis", package: "swift-shared-state")]
    ),
    .testTarget(
      name: "WithRedisTests",
      dependencies: [.product(name: "SharedStateRedisTesting", package: "swift-shared-state")],
      // One import has to be enough here, too.
      swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]
    ),
  ],
  swiftLanguageModes: [.v6]
)
