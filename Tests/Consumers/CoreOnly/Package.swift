// swift-tools-version: 6.2

import PackageDescription

// A program that links the core only, and tests without `SharedStateTesting`. `make check` checks what it is linked with.
let package = Package(
  name: "core-only",
  dependencies: [.package(name: "swift-shared-state", path: "../../..")],
  targets: [
    .executableTarget(
      name: "core-only",
      dependencies: [.product(name: "SharedState", package: "swift-shared-state")]
    ),
    .testTarget(
      name: "CoreOnlyTests",
      dependencies: [.product(name: "SharedState", package: "swift-shared-state")]
    ),
  ],
  swiftLanguageModes: [.v6]
)
