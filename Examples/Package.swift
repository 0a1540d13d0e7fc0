// swift-tools-version: 6.2

// A package of its own, so that nobody who uses the library ever builds it. It depends on the library as a program does.

import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

let package = Package(
  name: "examples",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "swift-shared-state", path: ".."),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
  ],
  targets: [
    .systemLibrary(name: "CEpoll", path: "LineServer/Sources/CEpoll"),
    .target(
      name: "LineServer",
      dependencies: [
        "CEpoll",
        .product(name: "SharedState", package: "swift-shared-state"),
        .product(name: "SharedStateDependencies", package: "swift-shared-state"),
        .product(name: "SharedStateStore", package: "swift-shared-state"),
      ],
      path: "LineServer/Sources/LineServer",
      swiftSettings: settings
    ),
    .executableTarget(
      name: "line-server",
      dependencies: ["LineServer"],
      path: "LineServer/Sources/line-server",
      swiftSettings: settings
    ),
    .executableTarget(
      name: "line-load",
      dependencies: ["LineServer"],
      path: "LineServer/Sources/line-load",
      swiftSettings: settings
    ),
    .testTarget(
      name: "LineServerTests",
      dependencies: [
        "LineServer",
        .product(name: "SharedState", package: "swift-shared-state"),
        .product(name: "SharedStateDependencies", package: "swift-shared-state"),
        .product(name: "SharedStateStore", package: "swift-shared-state"),
        .product(name: "SharedStateStoreTesting", package: "swift-shared-state"),
      ],
      path: "LineServer/Tests",
      swiftSettings: settings
    ),
    .target(
      name: "OrderWorkflow",
      dependencies: [
        .product(name: "SharedState", package: "swift-shared-state"),
        .product(name: "SharedStateDependencies", package: "swift-shared-state"),
        .product(name: "SharedStateRedis", package: "swift-shared-state"),
        .product(name: "SharedStateStore", package: "swift-shared-state"),
      ],
      path: "OrderWorkflow/Sources/OrderWorkflow",
      swiftSettings: settings
    ),
    .executableTarget(
      name: "order-workflow",
      dependencies: [
        "OrderWorkflow",
        .product(name: "SharedState", package: "swift-shared-state"),
        .product(name: "SharedStateDependencies", package: "swift-shared-state"),
        .product(name: "SharedStateRedis", package: "swift-shared-state"),
        .product(name: "SharedStateStore", package: "swift-shared-state"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "OrderWorkflow/Sources/order-workflow",
      swiftSettings: settings
    ),
    .testTarget(
      name: "OrderWorkflowTests",
      dependencies: [
        "OrderWorkflow",
        .product(name: "SharedState", package: "swift-shared-state"),
        .product(name: "SharedStateDependencies", package: "swift-shared-state"),
        .product(name: "SharedStateRedis", package: "swift-shared-state"),
        .product(name: "SharedStateStore", package: "swift-shared-state"),
        .product(name: "SharedStateStoreTesting", package: "swift-shared-state"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "OrderWorkflow/Tests",
      swiftSettings: settings
    ),
    .target(
      name: "Bot",
      dependencies: [
        .product(name: "SharedStateDependencies", package: "swift-shared-state"),
        .product(name: "SharedStateStore", package: "swift-shared-state"),
      ],
      path: "Bot/Sources/Bot",
      swiftSettings: settings
    ),
    .executableTarget(
      name: "bot-program",
      dependencies: ["Bot", .product(name: "SharedStateStore", package: "swift-shared-state")],
      path: "Bot/Sources/bot-program",
      swiftSettings: settings
    ),
    .testTarget(
      name: "BotTests",
      dependencies: [
        "Bot",
        .product(name: "SharedState", package: "swift-shared-state"),
        .product(name: "SharedStateDependencies", package: "swift-shared-state"),
        .product(name: "SharedStateStore", package: "swift-shared-state"),
        .product(name: "SharedStateStoreTesting", package: "swift-shared-state"),
      ],
      path: "Bot/Tests",
      swiftSettings: settings
    ),
  ],
  swiftLanguageModes: [.v6]
)
