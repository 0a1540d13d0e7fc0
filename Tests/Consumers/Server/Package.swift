// swift-tools-version: 6.2

import PackageDescription

let sharedState = Target.Dependency.product(name: "SharedStateRedis", package: "swift-shared-state")

// The server and the command-line program of the article "Getting started on a server".
let package = Package(
  name: "server",
  dependencies: [
    .package(name: "swift-shared-state", path: "../../.."),
    // One trait only: SwiftPM passes several in a random order, so that Hummingbird would often be built again.
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: ["FullFoundation"]),
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
