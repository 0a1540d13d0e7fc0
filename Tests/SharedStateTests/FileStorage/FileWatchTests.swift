import Dispatch
import Foundation
import Synchronization
import Testing

@testable import SharedState

@Suite("The watch of a shared file", .timeLimit(.minutes(5)))
struct FileWatchTests {
  @Test("Its first observer begins it, and its last one ends it, even if others come and go while it begins")
  func oneWatch() {
    let files = WatchedFiles()
    let document = FileDocument(path: "/count", files: files, queue: DispatchQueue(label: "count")) {}
    for number in 1...2 {
      let other = Mutex<SharedSubscription?>(nil)
      files.whileBeginning {
        document.observe(by: KeyAuthor()) { _, _ in }.cancel()
        let stays = document.observe(by: KeyAuthor()) { _, _ in }
        other.withLock { $0 = stays }
      }
      let first = document.observe(by: KeyAuthor()) { _, _ in }
      #expect(files.begun == number)
      first.cancel()
      #expect(files.ended == number - 1)
      other.withLock { $0.take() }?.cancel()
      #expect(files.ended == number)
    }
  }

  @Test("All files of a storage are checked and written on one queue, and those of another storage on another one")
  func oneQueue() {
    let (storage, other) = (FileStorage.inMemory, FileStorage.inMemory)
    let (first, second) = (URL(fileURLWithPath: "/first.json"), URL(fileURLWithPath: "/second.json"))
    #expect(storage.document(at: first).queue === storage.document(at: second).queue)
    #expect(storage.document(at: first).queue !== other.document(at: first).queue)
  }
}

/// Counts watches, and runs a closure while one begins.
private final class WatchedFiles: FileSystem {
  private struct State {
    var begun = 0
    var ended = 0
    var task: (@Sendable () -> Void)?
  }

  private let files = InMemoryFiles()
  private let state = Mutex(State())

  var begun: Int { state.withLock { $0.begun } }
  var ended: Int { state.withLock { $0.ended } }
  var saveInterval: Duration { files.saveInterval }
  var watchInterval: Duration { files.watchInterval }

  func whileBeginning(_ task: @escaping @Sendable () -> Void) { state.withLock { $0.task = task } }

  func watch(
    _ path: String,
    onChange: @escaping @Sendable () -> Void,
    onEnd: @escaping @Sendable (any Error) -> Void
  ) -> SharedSubscription {
    let task = state.withLock { state in
      state.begun += 1
      return state.task.take()
    }
    task?()
    let watch = files.watch(path, onChange: onChange, onEnd: onEnd)
    return SharedSubscription { [self] in
      state.withLock { $0.ended += 1 }
      watch.cancel()
    }
  }

  func read(_ path: String) -> FileContent? { files.read(path) }
  func stamp(of path: String) -> FileStamp? { files.stamp(of: path) }
  func write(_ data: Data, to path: String, verify: () throws -> Void) rethrows -> FileStamp {
    try files.write(data, to: path, verify: verify)
  }
  func remove(_ path: String) { files.remove(path) }
}
