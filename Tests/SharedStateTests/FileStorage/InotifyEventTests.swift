import Foundation
import Glibc
import Synchronization
import Testing

@testable import SharedState

@Suite("InotifyEvent", .timeLimit(.minutes(5)))
struct InotifyEventTests {
  private func bytes(watch: Int32, mask: UInt32, name: String, padding: Int) -> [UInt8] {
    let name = Array(name.utf8) + Array(repeating: 0, count: padding)
    let header = [UInt32(bitPattern: watch), mask, 0, UInt32(name.count)]
    return header.flatMap { word in withUnsafeBytes(of: word) { Array($0) } } + name
  }

  @Test("Events with and without names are distinguished, and a truncated one at the end is dropped")
  func parse() {
    let buffer =
      bytes(watch: 1, mask: 8, name: "file", padding: 12) + bytes(watch: -1, mask: 0x4000, name: "", padding: 0)
      + bytes(watch: 2, mask: 0x8000, name: "", padding: 0) + [1, 2, 3]
    let events = buffer.withUnsafeBytes(InotifyEvent.parse)
    #expect(
      events == [
        InotifyEvent(watch: 1, mask: 8, name: "file"),
        InotifyEvent(watch: -1, mask: 0x4000, name: nil),
        InotifyEvent(watch: 2, mask: 0x8000, name: nil),
      ]
    )
    #expect(events.map(\.isOverflow) == [false, true, false])
    #expect(events.map(\.isIgnored) == [false, false, true])
  }
}

@Suite("Limits of the system to watching files", .timeLimit(.minutes(5)))
struct WatchLimitTests {
  @Test("The error names the limit that is reached")
  func named() {
    func text(_ code: Int32) -> String { FileStorageError.unwatchable(path: "/a/b", code: code).description }
    #expect(text(ENOSPC).contains("fs.inotify.max_user_watches"))
    #expect(text(EMFILE).contains("fs.inotify.max_user_instances"))
    #expect(text(EACCES) == FileStorageError.system(operation: "watch", path: "/a/b", code: EACCES).description)
    #expect(FileStorageError.unwatchable(path: "/a/b", code: ENOSPC).systemError == ENOSPC)
  }

  @Test("A file whose path cannot be watched as a whole leaves no watch behind")
  func noneLeft() throws {
    let directory = try TemporaryDirectory()
    let last = directory.url.path
    let descriptors = Mutex<Set<Int32>>([])
    let inotify = Inotify { descriptor, path, mask in
      descriptors.withLock { _ = $0.insert(descriptor) }
      guard path == last else { return inotify_add_watch(descriptor, path, mask) }
      errno = ENOSPC
      return -1
    }
    #expect(throws: FileStorageError.unwatchable(path: "\(last)/count", code: ENOSPC)) {
      try inotify.watch("\(last)/count", onChange: {}, onEnd: { _ in })
    }
    let descriptor = try #require(descriptors.withLock { $0.count == 1 ? $0.first : nil })
    let info = try String(contentsOfFile: "/proc/self/fdinfo/\(descriptor)", encoding: .utf8)
    #expect(info.contains("flags:") && !info.contains("inotify wd:"))
  }
}
