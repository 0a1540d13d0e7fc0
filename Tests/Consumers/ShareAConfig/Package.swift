// swift-tools-version: 6.2

import PackageDescription

let sharedState = Target.Dependency.product(name: "SharedStateRedis", package: "swift-shared-state")

let package = Package(
  name: "share-a-config",
  dependencies: [.package(path: "../swift-shared-state")],
  targets: [
    .target(name: "ShopConfig", dependencies: [sharedState]),
    .executableTarget(name: "checkout", dependencies: ["ShopConfig", sharedState]),
    .executableTarget(name: "office", dependencies: ["ShopConfig", sharedState]),
    .testTarget(
      name: "ShopConfigTests",
      dependencies: [
        "ShopConfig",
        .product(name: "SharedStateRedisTesting", package: "swift-shared-state"),
      ]
    ),
  ]
)
