// swift-tools-version: 6.2

import CompilerPluginSupport
import PackageDescription

let package = Package(
  name: "swift-shared-state",
  products: [
    .library(name: "ConfigurationSharedState", targets: ["ConfigurationSharedState"]),
    .library(name: "SharedStateDependencies", targets: ["SharedStateDependencies"]),
    .library(name: "SharedStateDependenciesMacros", targets: ["SharedStateDependenciesMacros"]),
    .library(name: "SharedState", targets: ["SharedState"]),
    .library(name: "SharedStateCombine", targets: ["SharedStateCombine"]),
    .library(name: "SharedStateRedis", targets: ["SharedStateRedis"]),
    .library(name: "SharedStateTesting", targets: ["SharedStateTesting"]),
    .library(name: "SharedStateRedisTesting", targets: ["SharedStateRedisTesting"]),
    .library(name: "SharedStateServiceLifecycle", targets: ["SharedStateServiceLifecycle"]),
    .library(name: "SharedStateStore", targets: ["SharedStateStore"]),
    .library(name: "SharedStateStoreCasePaths", targets: ["SharedStateStoreCasePaths"]),
    .library(name: "SharedStateStoreCombine", targets: ["SharedStateStoreCombine"]),
    .library(name: "SharedStateStoreTesting", targets: ["SharedStateStoreTesting"]),
    .library(name: "SharedStateURLSession", targets: ["SharedStateURLSession"]),
  ],
  traits: [
    .default(enabledTraits: ["TLS"]),
    .trait(name: "TLS", description: "Connections with TLS (`rediss`), for which a service needs OpenSSL."),
    .trait(name: "Tracing", description: "Spans of swift-distributed-tracing around everything that waits for Redis."),
  ],
  dependencies: [
    .package(url: "https://github.com/pointfreeco/xctest-dynamic-overlay", from: "1.13.1"),
    .package(url: "https://github.com/pointfreeco/swift-custom-dump", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.1.0"),
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    // Only SharedStateServiceLifecycle links it.
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    // Only ConfigurationSharedState links these, the first one for documents in JSON. swift-service-lifecycle depends on
    // the second one as well.
    .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: ["JSON"]),
    .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.0.0"),
    // Only for the trait 'Tracing'.
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.2.0"),
    // Starts the programs that the demo and the tests run. No library uses it.
    .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
  ],
  targets: [
    .target(
      name: "SharedStateDependencies",
      dependencies: [.product(name: "IssueReporting", package: "xctest-dynamic-overlay")]
    ),
    // A module of its own, so that only its users link FoundationNetworking.
    .target(name: "SharedStateURLSession", dependencies: ["SharedStateDependencies"]),
    .target(
      name: "SharedState",
      dependencies: [
        "SharedStateDependencies",
        .product(name: "IssueReporting", package: "xctest-dynamic-overlay"),
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "OrderedCollections", package: "swift-collections"),
      ]
    ),
    .target(
      name: "SharedStateCombine",
      dependencies: [
        "SharedState",
        .product(name: "OpenCombine", package: "OpenCombine"),
      ]
    ),
    .systemLibrary(
      name: "CHiredis",
      providers: [
        .apt(["libhiredis-dev"]),
        .yum(["hiredis-devel"]),
      ]
    ),
    .systemLibrary(
      name: "COpenSSL",
      providers: [
        .apt(["libssl-dev"]),
        .yum(["openssl-devel"]),
      ]
    ),
    .target(
      name: "SharedStateRedis",
      dependencies: [
        "SharedState",
        "SharedStateDependencies",
        "CHiredis",
        .target(name: "COpenSSL", condition: .when(traits: ["TLS"])),
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HeapModule", package: "swift-collections"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"])),
      ]
    ),
    .target(
      name: "SharedStateServiceLifecycle",
      dependencies: [
        "SharedStateRedis",
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ]
    ),
    .target(
      name: "ConfigurationSharedState",
      dependencies: [
        "SharedState",
        "SharedStateRedis",
        .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
        .product(name: "Configuration", package: "swift-configuration"),
      ],
      // The protocols of swift-configuration are made with it.
      swiftSettings: [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
    ),
    // Shows differences in tests. It is a module of its own, because the library that it uses would make every program
    // load 31 more shared libraries.
    .target(
      name: "SharedStateDifferences",
      dependencies: [
        "SharedState",
        .product(name: "CustomDump", package: "swift-custom-dump"),
      ]
    ),
    .target(
      name: "SharedStateTesting",
      dependencies: [
        "SharedState",
        "SharedStateDependencies",
        // Not imported anywhere: its class is found by name.
        "SharedStateDifferences",
        // Reports failures to the running test. Every program that links this module gets it, too.
        .product(name: "IssueReportingTestSupport", package: "xctest-dynamic-overlay"),
      ]
    ),
    .target(
      name: "SharedStateRedisTesting",
      dependencies: [
        "SharedState",
        "SharedStateDependencies",
        "SharedStateMacros",
        "SharedStateRedis",
        "SharedStateTesting",
      ]
    ),
    // A module of its own, so that only its users build the macros.
    .target(
      name: "SharedStateDependenciesMacros",
      dependencies: [
        "SharedStateDependencies",
        "SharedStateMacros",
        .product(name: "IssueReporting", package: "xctest-dynamic-overlay"),
      ]
    ),
    // The macros have no dependencies: they speak the compiler's protocol themselves. The expansion is a library,
    // because tests that depend on a macro are built for the host machine, and all other tests with them.
    .target(name: "SharedStateMacroExpansion"),
    .macro(name: "SharedStateMacros", dependencies: ["SharedStateMacroExpansion"]),
    .target(
      name: "SharedStateStore",
      dependencies: [
        "SharedState",
        "SharedStateDependencies",
        "SharedStateMacros",
        .product(name: "IssueReporting", package: "xctest-dynamic-overlay"),
        .product(name: "OrderedCollections", package: "swift-collections"),
      ]
    ),
    // The form of case paths before case key paths. It is a module of its own, because its overloads make the type
    // checker slow.
    .target(
      name: "SharedStateStoreCasePaths",
      dependencies: [
        "SharedState",
        "SharedStateStore",
      ]
    ),
    .target(
      name: "SharedStateStoreCombine",
      dependencies: [
        "SharedStateDependencies",
        "SharedStateStore",
        .product(name: "OpenCombine", package: "OpenCombine"),
      ]
    ),
    // Four lines that cannot be written in Swift: the hook that the runtime calls for every job that is enqueued.
    .target(name: "CTaskHook"),
    .target(
      name: "SharedStateStoreTesting",
      dependencies: [
        "CTaskHook",
        "SharedState",
        "SharedStateDependencies",
        "SharedStateDifferences",
        "SharedStateStore",
        .product(name: "CustomDump", package: "swift-custom-dump"),
        .product(name: "IssueReporting", package: "xctest-dynamic-overlay"),
        // Reports failures to the running test. Every program that links this module gets it, too.
        .product(name: "IssueReportingTestSupport", package: "xctest-dynamic-overlay"),
      ]
    ),
    // Not a product: a package that depends on this one would fetch swift-subprocess, too.
    .executableTarget(
      name: "config-demo",
      dependencies: [
        "SharedStateRedis",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Subprocess", package: "swift-subprocess"),
      ],
      exclude: ["config.json"]
    ),
    // The first program of the README. It is no snippet, because a snippet is built with all products.
    .executableTarget(name: "FirstProgram", dependencies: ["SharedStateRedis"]),
    // A service for the chaos test, which starts several of them.
    .executableTarget(
      name: "ChaosService",
      dependencies: [
        "SharedState",
        "SharedStateRedis",
        "SharedStateRedisTesting",
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Tests/ChaosService"
    ),
    // A service for the test of exact totals, which runs two of them.
    .executableTarget(
      name: "CountingService",
      dependencies: [
        "SharedState",
        "SharedStateRedis",
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Tests/CountingService"
    ),
    // A service for the test of graceful shutdowns.
    .executableTarget(
      name: "LifecycleService",
      dependencies: [
        "SharedState",
        "SharedStateRedis",
        "SharedStateServiceLifecycle",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ],
      path: "Tests/LifecycleService"
    ),
    // What every connection has to do. The tests of the fake run it, and those of a real server.
    .target(
      name: "RedisConnectionContract",
      dependencies: [
        "SharedState",
        "SharedStateDependencies",
        "SharedStateRedis",
        "SharedStateRedisTesting",
        "SharedStateTesting",
      ],
      path: "Tests/RedisConnectionContract"
    ),
    // A program for a test of code that runs on the main thread.
    .executableTarget(
      name: "MainThreadProgram",
      dependencies: [
        "SharedState",
        "SharedStateCombine",
        "SharedStateRedis",
        .product(name: "OpenCombine", package: "OpenCombine"),
        .product(name: "Subprocess", package: "swift-subprocess"),
      ],
      path: "Tests/MainThreadProgram"
    ),
    .testTarget(
      name: "SharedStateDependenciesTests",
      dependencies: [
        "SharedStateDependencies",
        "SharedStateTesting",
      ]
    ),
    .testTarget(
      name: "SharedStateURLSessionTests",
      dependencies: [
        "SharedStateDependencies",
        "SharedStateTesting",
        "SharedStateURLSession",
      ]
    ),
    .testTarget(
      name: "SharedStateTests",
      dependencies: [
        "SharedState",
        "SharedStateDependencies",
        "SharedStateTesting",
        .product(name: "CustomDump", package: "swift-custom-dump"),
        .product(name: "IssueReporting", package: "xctest-dynamic-overlay"),
        .product(name: "OrderedCollections", package: "swift-collections"),
      ]
    ),
    .testTarget(
      name: "DocumentTests",
      dependencies: [
        "SharedState",
        "SharedStateDependencies",
        "SharedStateTesting",
        .product(name: "IssueReportingTestSupport", package: "xctest-dynamic-overlay"),
      ],
      exclude: ["Merge/Cases"]
    ),
    .testTarget(
      name: "SharedStateCombineTests",
      dependencies: [
        "SharedState",
        "SharedStateCombine",
        "SharedStateDependencies",
        "SharedStateTesting",
        .product(name: "OpenCombine", package: "OpenCombine"),
      ]
    ),
    .testTarget(
      name: "SharedStateRedisTests",
      dependencies: [
        "RedisConnectionContract",
        "SharedState",
        "SharedStateDependencies",
        "SharedStateRedis",
        "SharedStateRedisTesting",
        "SharedStateTesting",
        "Simulation",
      ]
    ),
    .testTarget(
      name: "SampleTests",
      dependencies: [
        "ConfigurationSharedState",
        "SharedState",
        "SharedStateCombine",
        "SharedStateDependencies",
        "SharedStateRedis",
        "SharedStateRedisTesting",
        "SharedStateServiceLifecycle",
        "SharedStateStore",
        "SharedStateStoreCasePaths",
        "SharedStateStoreCombine",
        "SharedStateStoreTesting",
        "SharedStateTesting",
        .product(name: "Configuration", package: "swift-configuration"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "OpenCombine", package: "OpenCombine"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
        .product(name: "Subprocess", package: "swift-subprocess"),
      ],
      exclude: ["README.md", "CompileErrors/Proofs"]
    ),
    .testTarget(
      name: "MacrosTests",
      dependencies: [
        "SharedState",
        "SharedStateDependencies",
        "SharedStateDependenciesMacros",
        "SharedStateMacroExpansion",
        "SharedStateStore",
        "SharedStateStoreCasePaths",
        "SharedStateTesting",
        .product(name: "IssueReporting", package: "xctest-dynamic-overlay"),
        .product(name: "Subprocess", package: "swift-subprocess"),
      ],
      exclude: ["Expansion/Golden"]
    ),
    .testTarget(
      name: "StoreTests",
      dependencies: [
        "SharedState",
        "SharedStateCombine",
        "SharedStateDependencies",
        "SharedStateRedis",
        "SharedStateRedisTesting",
        "SharedStateStore",
        "SharedStateStoreCasePaths",
        "SharedStateStoreCombine",
        "SharedStateStoreTesting",
        "SharedStateTesting",
        .product(name: "CustomDump", package: "swift-custom-dump"),
        .product(name: "IssueReporting", package: "xctest-dynamic-overlay"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "OpenCombine", package: "OpenCombine"),
      ]
    ),
    // Its folder Targets is a link to the fuzzer's.
    .testTarget(
      name: "FuzzTests",
      dependencies: [
        "SharedState",
        "SharedStateRedis",
        "SharedStateMacroExpansion",
      ],
      exclude: ["Targets/main.swift"]
    ),
    .testTarget(
      name: "IntegrationTests",
      dependencies: [
        "ChaosService",
        "ConfigurationSharedState",
        "CountingService",
        "FirstProgram",
        "LifecycleService",
        "MainThreadProgram",
        "RedisConnectionContract",
        "SharedState",
        "SharedStateDependencies",
        "SharedStateRedis",
        "SharedStateRedisTesting",
        "SharedStateServiceLifecycle",
        "SharedStateTesting",
        .product(name: "Configuration", package: "swift-configuration"),
        .product(name: "ConfigurationTesting", package: "swift-configuration"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
        .product(name: "Subprocess", package: "swift-subprocess"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)

// Services on one server, every step of every thread in random order. It looks into the state machines, which only a
// debug build allows, or the flag `-enable-testing`: a part of the tests, unless `make soak-simulation` sets this.
let isForSoak = Context.environment["BUILD_SOAK"] != nil
let simulationDependencies: [Target.Dependency] = [
  "SharedState",
  "SharedStateDependencies",
  "SharedStateRedis",
  "SharedStateRedisTesting",
]
package.targets +=
  isForSoak
  ? [
    .target(name: "Simulation", dependencies: simulationDependencies, path: "Tests/Simulation"),
    .executableTarget(name: "soak", dependencies: ["Simulation"], path: "Tests/Soak"),
  ]
  : [.testTarget(name: "Simulation", dependencies: simulationDependencies, path: "Tests/Simulation")]

// `make check` sets this for the run under the thread sanitizer. Every program links SharedStateDependencies, and with
// it the functions that show the sanitizer the order of a mutex.
let isForThreadSanitizer = Context.environment["THREAD_SANITIZER"] != nil
if isForThreadSanitizer {
  package.targets.append(.target(name: "CThreadSanitizer", publicHeadersPath: "."))
  package.targets.first { $0.name == "SharedStateDependencies" }?.dependencies.append("CThreadSanitizer")
  let withoutThreads: Set = ["DocumentTests", "FuzzTests"]
  package.targets.removeAll { withoutThreads.contains($0.name) }
}

for target in package.targets where target.type != .system {
  target.swiftSettings =
    (target.swiftSettings ?? []) + [
      .enableUpcomingFeature("ExistentialAny"),
      .enableUpcomingFeature("InternalImportsByDefault"),
      .enableUpcomingFeature("MemberImportVisibility"),
    ] + (isForThreadSanitizer ? [.define("THREAD_SANITIZER")] : [])
}
