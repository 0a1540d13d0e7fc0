// swift-tools-version: 6.2

import PackageDescription

let sharedState = Target.Dependency.product(name: "SharedStateRedis", package: "swift-shared-state")

// The server and the command-line program of the article "Getting started on a server".
let package = Package(
  name: "server",
  dependencies: [
    .package(name: "swift-shared-state", path: "../../.."),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.0.0"),
  ],
  targets: [
    .executableTarget(
      name: "Server",
      dependencies: [sharedState, .product(name: "Hummingbird", package: "hummingbird")]
    ),
    .executableTarget(name: "maximum-items", dependencies: [sharedState]),
    .testTarget(
      name: "ServerTests",
      dependencies: [
        "Server",
        .product(name: "HummingbirdTesting", package: "hummingbird"),
        .product(name: "SharedStateRedisTesting", package: "swift-shared-state"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)
