import Foundation
import Glibc
import SharedStateDependencies
import Synchronization

/// Reports changes to files, by any program. One thread serves all files of the process; it sleeps in the kernel when
/// nothing happens.
///
/// A file is watched through the directories on its path, because a watch on the file itself stays with the old file
/// when that is replaced.
final class Inotify: Sendable {
  private struct Watcher {
    let path: String
    let onChange: @Sendable () -> Void
    let onEnd: @Sendable (any Error) -> Void
    var points: [WatchPoint] = []
    var names: WatchTable.Names = [:]
  }

  private struct State {
    var descriptor: Int32 = -1
    var watchersEver: UInt64 = 0
    var watchers: [UInt64: Watcher] = [:]
    /// The same watchers, by what concerns them.
    var table = WatchTable()
  }

  /// The instance of this process.
  static let shared = Inotify()

  private static let fates = UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR) | IN_MASK_ADD_BIT
  private static let changes =
    fates | UInt32(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB)

  // A watch descriptor means nothing without the table. So the calls that add and remove watches, which do not block,
  // are made with the lock held.
  private let state = Mutex(State())
  private let add: @Sendable (_ descriptor: Int32, _ path: String, _ mask: UInt32) -> Int32

  /// - Parameter add: The call of the system that adds a watch.
  init(add: @escaping @Sendable (Int32, String, UInt32) -> Int32 = { inotify_add_watch($0, $1, $2) }) {
    self.add = add
  }

  /// Calls back, on the thread of this class, whenever something may have happened to the file.
  ///
  /// - Parameters:
  ///   - path: An absolute path. Neither the file nor its directory needs to exist.
  ///   - onChange: Must not block.
  ///   - onEnd: Takes the reason when the file cannot be watched any more. Must not block.
  /// - Throws: ``FileStorageError`` when the system has no more watches or threads, or does not permit the watch.
  func watch(
    _ path: String,
    onChange: @escaping @Sendable () -> Void,
    onEnd: @escaping @Sendable (any Error) -> Void
  ) throws -> SharedSubscription {
    let number = try state.withLock { state in
      if state.descriptor < 0 { state.descriptor = try start(for: path) }
      state.watchersEver += 1
      state.watchers[state.watchersEver] = Watcher(path: path, onChange: onChange, onEnd: onEnd)
      do {
        try place(state.watchersEver, &state)
      } catch {
        remove(state.watchersEver, &state)
        throw error
      }
      return state.watchersEver
    }
    return SharedSubscription { [self] in state.withLock { remove(number, &$0) } }
  }

  // MARK: Watches

  /// Watches every directory on the path of the watcher's file as it is now.
  private func place(_ number: UInt64, _ state: inout State) throws {
    // The path may change while it is walked, so it is walked again. Only constant changes exhaust the attempts.
    for _ in 0..<16 {
      guard let watcher = state.watchers[number] else { return }
      let points = WatchPoint.points(on: watcher.path)
      if points == watcher.points { return }
      var names: WatchTable.Names = [:]
      var isComplete = true
      for point in points {
        let mask = point.name == nil ? Self.fates : Self.changes
        let watch = add(state.descriptor, point.directory.text, mask)
        if watch >= 0 {
          names[watch, default: []].insert(point.name)
          state.table.insert(point.name, in: watch, of: number)
        } else if errno == ENOENT || errno == ENOTDIR {
          isComplete = false
        } else if point.name != nil || errno == ENOSPC || errno == ENOMEM {
          // A directory on the way may be passable but not readable: only changes of the directory itself are missed
          // then.
          let error = FileStorageError.unwatchable(path: watcher.path, code: errno)
          removeWatches(state.table.remove(names, except: watcher.names, of: number), state)
          throw error
        }
      }
      removeWatches(state.table.remove(watcher.names, except: names, of: number), state)
      state.watchers[number]?.names = names
      state.watchers[number]?.points = isComplete ? points : []
    }
  }

  private func remove(_ number: UInt64, _ state: inout State) {
    guard let watcher = state.watchers.removeValue(forKey: number) else { return }
    removeWatches(state.table.remove(watcher.names, of: number), state)
  }

  private func removeWatches(_ watches: [Int32], _ state: State) {
    for watch in watches { inotify_rm_watch(state.descriptor, watch) }
  }

  // MARK: Events

  private func start(for path: String) throws -> Int32 {
    let descriptor = inotify_init1(Int32(IN_CLOEXEC))
    guard descriptor >= 0 else { throw FileStorageError.unwatchable(path: path, code: errno) }
    do throws(ThreadStarter.Refusal) {
      try ThreadStarter.system.start("shared-inotify") { [self] in run() }
    } catch {
      close(descriptor)
      throw FileStorageError.system(operation: "start a thread to watch", path: path, code: EAGAIN)
    }
    return descriptor
  }

  private func run() {
    let descriptor = state.withLock { $0.descriptor }
    // Room for thousands of events; the kernel hands over whole events only.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 8)
    defer { buffer.deallocate() }
    while true {
      let count = read(descriptor, buffer.baseAddress, buffer.count)
      if count > 0 {
        handle(InotifyEvent.parse(UnsafeRawBufferPointer(rebasing: buffer[..<count])))
      } else if count == 0 || errno != EINTR {
        return end(descriptor, code: errno)
      }
    }
  }

  /// Ends all watches, so that they begin again.
  private func end(_ descriptor: Int32, code: Int32) {
    let watchers = state.withLock { state in
      defer { (state.watchers, state.table, state.descriptor) = ([:], WatchTable(), -1) }
      return state.watchers.values
    }
    close(descriptor)
    for watcher in watchers {
      watcher.onEnd(FileStorageError.system(operation: "watch", path: watcher.path, code: code))
    }
  }

  private func handle(_ events: [InotifyEvent]) {
    typealias Ended = (watcher: Watcher, error: any Error)
    let (notified, ended): ([(watcher: Watcher, isCreation: Bool)], [Ended]) = state.withLock { state in
      var touched: Set<UInt64> = []
      var changed: Set<UInt64> = []
      for event in events {
        // After an overflow it is unknown what was lost, so all watchers are notified.
        let concerned = event.isOverflow ? Set(state.watchers.keys) : state.table.watchers(of: event)
        touched.formUnion(concerned)
        if !event.isFileCreation { changed.formUnion(concerned) }
        // Another directory may have its name now.
        if event.name == nil { for number in concerned { state.watchers[number]?.points = [] } }
        // The kernel has dropped the watch, together with the directory.
        if event.isIgnored {
          state.table.forget(event.watch)
          for number in concerned { state.watchers[number]?.names[event.watch] = nil }
        }
      }
      let notified = touched.compactMap { number in
        state.watchers[number].map { ($0, !changed.contains(number)) }
      }
      var ended: [Ended] = []
      for number in touched {
        do {
          try place(number, &state)
        } catch {
          if let watcher = state.watchers[number] { ended.append((watcher, error)) }
          remove(number, &state)
        }
      }
      return (notified, ended)
    }
    for (watcher, error) in ended { watcher.onEnd(error) }
    for (watcher, isCreation) in notified where !(isCreation && Self.isBeingWritten(watcher.path)) {
      watcher.onChange()
    }
  }

  /// Whether the new file is empty: when its writer closes it, there is another event.
  private static func isBeingWritten(_ path: String) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else { return false }
    return status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1 && status.st_size == 0
  }
}

/// `IN_MASK_ADD`: adds to an existing watch of the directory.
private let IN_MASK_ADD_BIT: UInt32 = 0x2000_0000
