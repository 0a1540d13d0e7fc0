import Foundation
import Synchronization

/// Files that exist in memory only.
final class InMemoryFiles: FileSystem {
  private struct State {
    var contents: [Name: FileContent] = [:]
    var changes: Int64 = 0
    var watchers: [Int64: (path: Name, onChange: @Sendable () -> Void)] = [:]
  }

  private let state = Mutex(State())

  let saveInterval = Duration.zero
  let watchInterval = Duration.seconds(1)

  func read(_ path: String) -> FileContent? {
    state.withLock { $0.contents[Name(path)] }
  }

  func stamp(of path: String) -> FileStamp? {
    read(path)?.stamp
  }

  func write(_ data: Data, to path: String, verify: () throws -> Void) rethrows -> FileStamp {
    try verify()
    return write(data, to: path)
  }

  @discardableResult
  func write(_ data: Data, to path: String) -> FileStamp {
    let name = Name(path)
    let (stamp, notified) = state.withLock { state in
      state.changes += 1
      let stamp = FileStamp(size: Int64(data.count), changed: state.changes)
      state.contents[name] = FileContent(data: data, stamp: stamp)
      return (stamp, state.watchers.values.filter { $0.path == name })
    }
    for watcher in notified { watcher.onChange() }
    return stamp
  }

  func remove(_ path: String) {
    let name = Name(path)
    let notified = state.withLock { state in
      state.contents[name] = nil
      return state.watchers.values.filter { $0.path == name }
    }
    for watcher in notified { watcher.onChange() }
  }

  func watch(
    _ path: String,
    onChange: @escaping @Sendable () -> Void,
    onEnd: @escaping @Sendable (any Error) -> Void
  ) -> SharedSubscription {
    let number = state.withLock { state in
      state.changes += 1
      state.watchers[state.changes] = (Name(path), onChange)
      return state.changes
    }
    return SharedSubscription { [weak self] in
      _ = self?.state.withLock { $0.watchers.removeValue(forKey: number) }
    }
  }
}
