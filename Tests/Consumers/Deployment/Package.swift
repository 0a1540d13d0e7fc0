// swift-tools-version: 6.2

import PackageDescription

// A service as it is deployed, and its tests, built with the optimiser. `make check` checks which libraries the service
// links, and runs it with only the packages that the article "Deploying" puts into a container.
let package = Package(
  name: "deployment",
  dependencies: [.package(name: "swift-shared-state", path: "../../..")],
  targets: [
    .executableTarget(
      name: "service",
      dependencies: [
        .product(name: "SharedState", package: "swift-shared-state"),
        .product(name: "SharedStateRedis", package: "swift-shared-state"),
      ]
    ),
    .testTarget(
      name: "ServiceTests",
      dependencies: [
        .product(name: "SharedState", package: "swift-shared-state"),
        .product(name: "SharedStateTesting", package: "swift-shared-state"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)
