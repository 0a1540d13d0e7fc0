// swift-tools-version: 6.2

import PackageDescription

// A package whose tests use the library as a user's tests do. `make check` runs them: some have to fail.
let package = Package(
  name: "with-tests",
  dependencies: [.package(name: "swift-shared-state", path: "../../..")],
  targets: [
    .testTarget(
      name: "WithTestsTests",
      dependencies: [
        .product(name: "SharedState", package: "swift-shared-state"),
        .product(name: "SharedStateDependencies", package: "swift-shared-state"),
        .product(name: "SharedStateTesting", package: "swift-shared-state"),
      ]
    )
  ],
  swiftLanguageModes: [.v6]
)
