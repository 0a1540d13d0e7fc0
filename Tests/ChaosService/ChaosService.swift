import Foundation
import Logging
import SharedState
import SharedStateRedis
import Synchronization

/// One of the services of a chaos test: `ChaosService URL INDEX`.
///
/// It takes commands from standard input, one a line, and answers each; in between it tells what it sees. It ends with
/// its input.
///
/// - `start`: saves and makes atomic updates, over and over again.
/// - `write 10`: changes its field, and the common one, ten times.
/// - `rest`: stops what `start` began, and saves.
/// - `report`: nothing else.
@main
final class ChaosService: Sendable {
  private let document: Shared<ChaosDocument>
  private let count: Shared<Int>
  private let index: Int
  private let isResting = Atomic(true)
  private let written = Atomic(0)

  private static let pace = Duration.milliseconds(4)

  static func main() async throws {
    guard CommandLine.arguments.count == 3, let index = Int(CommandLine.arguments[2]) else { exit(2) }
    await ChaosService(store: try store(CommandLine.arguments[1], label: "chaos\(index)"), index: index).run()
  }

  private init(store: RedisStore, index: Int) {
    document = Shared(wrappedValue: ChaosDocument(), .redis(ChaosDocument.name, store: store))
    count = Shared(wrappedValue: 0, .redis(ChaosDocument.countName, store: store))
    self.index = index
  }

  private func run() async {
    await withDiscardingTaskGroup { tasks in
      tasks.addTask { for await document in self.document.updates { self.tell(.saw(document)) } }
      tasks.addTask { for await count in self.count.updates { self.tell(.counted(count)) } }
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
          await save()
        default:
          break
        }
        let written = written.load(ordering: .relaxed)
        tell(.answered(ChaosReport(document: document.wrappedValue, count: count.wrappedValue, written: written)))
      }
    }
  }

  private func write(_ times: Int) async {
    for _ in 0..<times {
      let number = written.add(1, ordering: .relaxed).newValue
      document.withLock { document in
        document[keyPath: ChaosDocument.fields[index]] = number
        document.common = number * ChaosDocument.fields.count + index
      }
      try? await Task.sleep(for: Self.pace)
    }
  }

  private func keepSaving() async {
    while !isResting.load(ordering: .relaxed) {
      try? await document.save()
      try? await Task.sleep(for: Self.pace * 5)
    }
  }

  private func keepUpdating() async {
    while !isResting.load(ordering: .relaxed) {
      do {
        let value = try await count.updateAtomically { count in
          count += 1
          return count
        }
        tell(.updated(value))
      } catch RedisSharedStateError.outcomeUnknown {
        tell(.outcomeUnknown)
      } catch {
        // It has not taken effect, and must not be counted.
      }
      // Hardly a pause, so that most of what happens to the server happens to an update.
      try? await Task.sleep(for: Self.pace / 8)
    }
  }

  /// Saves, as often as it takes; how long it may take is the business of whoever waits for the answer.
  private func save() async {
    while (try? await document.save()) == nil { try? await Task.sleep(for: Self.pace) }
  }

  private func tell(_ event: ChaosEvent) {
    guard let line = try? JSONEncoder().encode(event) else { return }
    // In one piece, which a pipe never mixes with another.
    FileHandle.standardOutput.write(line + Data("\n".utf8))
  }

  /// Reading blocks, so it has a thread of its own.
  private static var commands: AsyncStream<String> {
    AsyncStream { lines in
      Thread.detachNewThread {
        while let line = readLine() { lines.yield(line) }
        exit(0)
      }
    }
  }

  /// A store that loses its patience early, so that a pause of the server is more than a delay.
  private static func store(_ url: String, label: String) throws -> RedisStore {
    var configuration = try RedisConfiguration(url: url)
    configuration.label = label
    configuration.connectTimeout = .milliseconds(500)
    configuration.requestTimeout = .milliseconds(200)
    configuration.keepAlive = .milliseconds(200)
    configuration.operationTimeout = .seconds(1)
    configuration.antiEntropy = .seconds(1)
    configuration.backoff = .init(base: .milliseconds(5), cap: .milliseconds(100))
    return RedisStore(configuration, logger: Logger(label: label) { _ in SwiftLogNoOpLogHandler() })
  }
}
