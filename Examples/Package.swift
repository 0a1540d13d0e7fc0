// swift-tools-version: 6.2

// A package of its own, so that users of the library never build it. It depends on the library as a user's program
// does.

import PackageDescription

let settings: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

func library(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-shared-state") }

let package = Package(
  name: "examples",
  dependencies: [
    .package(name: "swift-shared-state", path: ".."),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
  ],
  targets: [
    .systemLibrary(name: "CEpoll", path: "LineServer/Sources/CEpoll"),
    .target(
      name: "LineServer",
      dependencies: [
        "CEpoll",
        library("SharedState"),
        library("SharedStateDependencies"),
        library("SharedStateStore"),
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
      dependencies: [
        "LineServer",
        .product(name: "Subprocess", package: "swift-subprocess"),
      ],
      path: "LineServer/Sources/line-load",
      swiftSettings: settings
    ),
    .testTarget(
      name: "LineServerTests",
      dependencies: [
        "LineServer",
        library("SharedState"),
        library("SharedStateDependencies"),
        library("SharedStateStore"),
        library("SharedStateStoreTesting"),
      ],
      path: "LineServer/Tests",
      swiftSettings: settings
    ),
    .target(
      name: "OrderWorkflow",
      dependencies: [
        library("SharedState"),
        library("SharedStateDependencies"),
        library("SharedStateRedis"),
        library("SharedStateStore"),
      ],
      path: "OrderWorkflow/Sources/OrderWorkflow",
      swiftSettings: settings
    ),
    .executableTarget(
      name: "order-workflow",
      dependencies: [
        "OrderWorkflow",
        library("SharedState"),
        library("SharedStateDependencies"),
        library("SharedStateRedis"),
        library("SharedStateStore"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Subprocess", package: "swift-subprocess"),
      ],
      path: "OrderWorkflow/Sources/order-workflow",
      swiftSettings: settings
    ),
    .testTarget(
      name: "OrderWorkflowTests",
      dependencies: [
        "OrderWorkflow",
        library("SharedState"),
        library("SharedStateDependencies"),
        library("SharedStateRedis"),
        library("SharedStateStore"),
        library("SharedStateStoreTesting"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "OrderWorkflow/Tests",
      swiftSettings: settings
    ),
    .target(
      name: "Bot",
      dependencies: [
        library("SharedStateDependencies"),
        library("SharedStateStore"),
      ],
      path: "Bot/Sources/Bot",
      swiftSettings: settings
    ),
    .executableTarget(
      name: "bot-program",
      dependencies: ["Bot", library("SharedStateStore")],
      path: "Bot/Sources/bot-program",
      swiftSettings: settings
    ),
    .testTarget(
      name: "BotTests",
      dependencies: [
        "Bot",
        library("SharedState"),
        library("SharedStateDependencies"),
        library("SharedStateStore"),
        library("SharedStateStoreTesting"),
      ],
      path: "Bot/Tests",
      swiftSettings: settings
    ),
  ],
  swiftLanguageModes: [.v6]
)
