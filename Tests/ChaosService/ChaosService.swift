import Foundation
import Logging
import SharedState
@testable import SharedStateRedis
import SharedStateRedisTesting
import Synchronization

/// One of the services of a chaos test: `ChaosService URL INDEX`.
///
/// It reads commands from standard input, one per line, and answers each with the contents of its boxes. In between it
/// reports what it does and sees, for a ``RedisHistory``. It exits when its input ends.
///
/// - `start`: keeps saving and making atomic updates.
/// - `write 10`: changes its own field and the common one ten times.
/// - `rest`: stops the work that `start` began, and saves.
/// - `report`: only answers.
@main
final class ChaosService: Sendable {
  private let store: RedisStore
  private let document: Shared<ChaosDocument>
  private let count: Shared<Int>
  private let index: Int
  private let isResting = Atomic(true)
  /// The number of changes in the document.
  private let written = Atomic(0)
  private let updates = Atomic(0)

  private static let pace = Duration.milliseconds(4)

  static func main() async throws {
    guard CommandLine.arguments.count == 3, let index = Int(CommandLine.arguments[2]) else { exit(2) }
    await ChaosService(store: try store(CommandLine.arguments[1], index: index), index: index).run()
  }

  private init(store: RedisStore, index: Int) {
    self.store = store
    document = Shared(wrappedValue: ChaosDocument(), .redis(ChaosDocument.name, store: store))
    count = Shared(wrappedValue: 0, .redis(ChaosDocument.countName, store: store))
    self.index = index
  }

  private func run() async {
    await withDiscardingTaskGroup { tasks in
      self.open()
      tasks.addTask { for await document in self.document.updates { self.show(document, ChaosDocument.name) } }
      tasks.addTask { for await count in self.count.updates { self.show(count, ChaosDocument.countName) } }
      var work: [Task<Void, Never>] = []
      for await command in Self.commands {
        let words = command.split(separator: " ")
        switch words.first {
        case "start":
          isResting.store(false, ordering: .relaxed)
          work = [Task { await self.keepSaving() }, Task { await self.keepUpdating() }]
        case "write":
          await write(words.last.flatMap { Int($0) } ?? 1)
        case "rest":
          isResting.store(true, ordering: .relaxed)
          for task in work { await task.value }
          await saveAll()
        default:
          break
        }
        let load = RedisHistory.Load(values: 2, changes: store.pendingChanges)
        tell(.kept(service: documentBox.service, load))
        ChaosEvent.answered([held(document.wrappedValue, documentBox), held(count.wrappedValue, countBox)]).tell()
      }
    }
  }

  private func write(_ times: Int) async {
    for _ in 0..<times {
      let number = written.load(ordering: .relaxed) + 1
      let common = number * ChaosDocument.fields.count + index
      tell(
        .changed(documentBox, number: number, [ChaosDocument.fieldNames[index]: "\(number)", "common": "\(common)"])
      )
      document.withLock { document in
        document[keyPath: ChaosDocument.fields[index]] = number
        document.common = common
      }
      // Stored after the change, so that a save never claims a change that it does not include.
      written.store(number, ordering: .relaxed)
      try? await Task.sleep(for: Self.pace)
    }
  }

  private func keepSaving() async {
    while !isResting.load(ordering: .relaxed) {
      _ = try? await save()
      try? await Task.sleep(for: Self.pace * 5)
    }
  }

  private func keepUpdating() async {
    while !isResting.load(ordering: .relaxed) {
      let number = updates.add(1, ordering: .relaxed).newValue
      tell(.updateBegan(countBox, number: number, changes: true))
      do {
        let value = try await count.updateAtomically { count in
          count += 1
          return count
        }
        tell(.updateEnded(countBox, number: number, .succeeded(try? RedisHistory.Document(of: value))))
      } catch RedisSharedStateError.Code.outcomeUnknown {
        tell(.updateEnded(countBox, number: number, .unknown))
      } catch {
        tell(.updateEnded(countBox, number: number, .failed))
      }
      // A very short pause, so that most disturbances of the server hit an update.
      try? await Task.sleep(for: Self.pace / 8)
    }
  }

  /// Tries to save until it succeeds. The process that waits for the answer limits the time.
  private func saveAll() async {
    while (try? await save()) == nil { try? await Task.sleep(for: Self.pace) }
  }

  private func save() async throws {
    let number = written.load(ordering: .relaxed)
    try await document.save()
    tell(.saved(documentBox, through: number))
  }

  // MARK: The history

  private var documentBox: RedisHistory.Box { box(ChaosDocument.name) }
  private var countBox: RedisHistory.Box { box(ChaosDocument.countName) }

  private func box(_ name: String) -> RedisHistory.Box { RedisHistory.Box(service: index, name: name) }

  private func open() {
    let initial = (try? RedisHistory.Document(of: ChaosDocument())) ?? [:]
    tell(.opened(documentBox, default: initial, owns: [ChaosDocument.fieldNames[index]]))
    tell(.opened(countBox, default: ["": "0"], owns: []))
  }

  /// Records that the value has changed, here or elsewhere. The revision is read a little later, and never goes back
  /// either.
  private func show(_ value: some Encodable, _ name: String) {
    let revision = store.confirmedRevision(of: name)?.rawValue
    tell(.shown(box(name), try? RedisHistory.Document(of: value), revision: revision, isFromOutside: false))
  }

  private func held(_ value: some Encodable, _ box: RedisHistory.Box) -> RedisHistory.Rest.Held {
    let revision = store.confirmedRevision(of: box.name)?.rawValue
    return RedisHistory.Rest.Held(box, (try? RedisHistory.Document(of: value)) ?? [:], revision: revision)
  }

  private func tell(_ event: RedisHistory.Event) { ChaosEvent.recorded(event).tell() }

  /// Reading blocks, so it runs on its own thread.
  private static var commands: AsyncStream<String> {
    AsyncStream { lines in
      Thread.detachNewThread {
        while let line = readLine() { lines.yield(line) }
        exit(0)
      }
    }
  }

  /// A store with short timeouts, so that a pause of the server is more than a delay.
  private static func store(_ url: String, index: Int) throws -> RedisStore {
    var configuration = try RedisConfiguration(url: url)
    configuration.label = "chaos\(index)"
    configuration.connectTimeout = .milliseconds(500)
    configuration.requestTimeout = .milliseconds(200)
    configuration.keepAliveInterval = .milliseconds(200)
    configuration.operationTimeout = .seconds(1)
    configuration.antiEntropyInterval = .seconds(1)
    configuration.backoff = .init(base: .milliseconds(5), cap: .milliseconds(100))
    return RedisStore(configuration, logger: Logger(label: configuration.label) { _ in SwiftLogNoOpLogHandler() })
  }
}
