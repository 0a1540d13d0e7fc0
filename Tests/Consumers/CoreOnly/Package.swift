// swift-tools-version: 6.2

import PackageDescription

// A program that links the core only, and tests without `SharedStateTesting`. `make check` builds the program with a
// hiredis that does not compile.
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
