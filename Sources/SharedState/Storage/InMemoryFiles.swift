import Foundation
import Synchronization

/// Files that exist in memory only.
final class InMemoryFiles: FileSystem {
  private struct State {
    var contents: [String: FileContent] = [:]
    var changes: Int64 = 0
    var watchers: [Int64: (path: String, onChange: @Sendable () -> Void)] = [:]
  }

  private let state = Mutex(State())

  let saveInterval = Duration.zero

  func read(_ path: String) -> FileContent? {
    state.withLock { $0.contents[path] }
  }

  func stamp(of path: String) -> FileStamp? {
    read(path)?.stamp
  }

  @discardableResult
  func write(_ data: Data, to path: String) -> FileStamp {
    let (stamp, told) = state.withLock { state in
      state.changes += 1
      let stamp = FileStamp(size: Int64(data.count), changed: state.changes)
      state.contents[path] = FileContent(data: data, stamp: stamp)
      return (stamp, state.watchers.values.filter { $0.path == path })
    }
    for watcher in told { watcher.onChange() }
    return stamp
  }

  func remove(_ path: String) {
    let told = state.withLock { state in
      state.contents[path] = nil
      return state.watchers.values.filter { $0.path == path }
    }
    for watcher in told { watcher.onChange() }
  }

  func watch(_ path: String, onChange: @escaping @Sendable () -> Void) -> SharedSubscription {
    let number = state.withLock { state in
      state.changes += 1
      state.watchers[state.changes] = (path, onChange)
      return state.changes
    }
    return SharedSubscription { [weak self] in
      _ = self?.state.withLock { $0.watchers.removeValue(forKey: number) }
    }
  }
}
