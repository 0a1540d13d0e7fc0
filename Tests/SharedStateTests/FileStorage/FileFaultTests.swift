import Foundation
import SharedStateDependencies
import SharedStateTesting
import Synchronization
import Testing

@testable import SharedState

@Suite("A shared file in trouble", .timeLimit(.minutes(5)))
struct FileFaultTests {
  private let url = URL(fileURLWithPath: "/numbers.json")
  private let files = FaultyFiles()

  private func share(in storage: FileStorage? = nil) -> Shared<[Int]> {
    withDependencies {
      $0.defaultFileStorage = storage ?? FileStorage(files: files)
    } operation: {
      Shared(wrappedValue: [], .fileStorage(url))
    }
  }

  /// Edits the file as another program does.
  private func edit(_ text: String) { files.files.write(Data(text.utf8), to: url.path) }

  private var text: String? { files.read(url.path).map { String(decoding: $0.data, as: UTF8.self) } }

  // MARK: The watch

  @Test("An error stays as long as the file is not watched, changes are seen meanwhile, and the watch comes back")
  func refusedWatch() async throws {
    files.watchError = .system(operation: "watch", path: url.path, code: EMFILE)
    let numbers = share()
    #expect((numbers.loadError as? FileStorageError)?.systemError == EMFILE)
    try await numbers.load()
    #expect(numbers.loadError != nil)
    numbers.withLock { $0 = [1] }
    try await numbers.save()
    #expect(numbers.loadError != nil)
    edit("[2]")
    try await wait(for: [2], in: numbers)
    #expect(numbers.loadError != nil)
    let late = withDependencies {
      $0.defaultFileStorage = FileStorage(files: files)
    } operation: {
      SharedReader(wrappedValue: "", .fileStorage(url))
    }
    #expect(late.loadError != nil)

    files.watchError = nil
    try await waitUntil { numbers.loadError == nil }
    edit("[3]")
    try await wait(for: [3], in: numbers)
  }

  @Test("A watch that the system ends is restarted")
  func endedWatch() async throws {
    let numbers = share()
    #expect(numbers.loadError == nil)
    files.watchError = .system(operation: "watch", path: url.path, code: ENOSPC)
    files.endWatches()
    #expect((numbers.loadError as? FileStorageError)?.systemError == ENOSPC)
    files.watchError = nil
    try await waitUntil { numbers.loadError == nil }
    edit("[3]")
    try await wait(for: [3], in: numbers)
  }

  @Test("A share that is made after a time without a watch has no old error")
  func shareAfterWatchError() async throws {
    let storage = FileStorage(files: files)
    let document = storage.document(at: url)
    files.watchError = .system(operation: "watch", path: url.path, code: EMFILE)
    let errors = Recorder<Bool>()
    document.observe(by: KeyAuthor(), { _ in }, onWatchError: { errors.append($0 != nil) }).cancel()
    files.watchError = nil
    let subscription = document.observe(by: KeyAuthor(), { _ in }, onWatchError: { errors.append($0 != nil) })
    #expect(errors.elements == [true])
    subscription.cancel()
  }

  // MARK: Saving

  @Test("A save does not replace what another program has written since, and says so")
  func unseenEdit() async throws {
    files.isSilent = true
    edit("[1]")
    let storage = FileStorage(files: files)
    let numbers = share(in: storage)
    #expect(numbers.wrappedValue == [1])
    // The check of a new share must not see the edit. It is repeated once when it has crossed with the first reading.
    for _ in 1...2 { storage.document(at: url).queue.sync {} }
    edit("[2]")
    numbers.withLock { $0 = [9] }
    #expect(text == "[2]")
    #expect(numbers.saveError as? FileStorageError == .changedElsewhere(path: url.path))
    try await wait(for: [2], in: numbers)
    numbers.withLock { $0.append(3) }
    try await numbers.save()
    #expect(text == "[2,3]")
    #expect(numbers.saveError == nil)
    files.files.remove(url.path)
    await #expect(throws: FileStorageError.changedElsewhere(path: url.path)) { try await numbers.save() }
    #expect(text == nil)
  }

  @Test("An edit that one share has read is seen by the others, which would replace it")
  func editReadByAnother() async throws {
    files.isSilent = true
    edit("[1]")
    let (numbers, set) = withDependencies {
      $0.defaultFileStorage = FileStorage(files: files)
    } operation: {
      (Shared(wrappedValue: [0], .fileStorage(url)), Shared(wrappedValue: Set([0]), .fileStorage(url)))
    }
    edit("[2]")
    try await set.load()
    #expect(set.wrappedValue == [2])
    try await wait(for: [2], in: numbers)
  }

  @Test("A save replaces a file that was touched only, and any file on request")
  func touchedFile() async throws {
    files.isSilent = true
    edit("[1]")
    let numbers = share()
    edit("[1]")
    numbers.withLock { $0 = [9] }
    #expect(numbers.saveError == nil)
    #expect(text == "[9]")
    edit("[2]")
    try await numbers.save(replacingUnreadable: true)
    #expect(text == "[9]")
  }

  @Test("A failed write is tried again by itself, and so is a failed deletion")
  func failedWrite() async throws {
    let numbers = share()
    files.writeError = .system(operation: "write", path: url.path, code: ENOSPC)
    numbers.withLock { $0 = [1] }
    #expect((numbers.saveError as? FileStorageError)?.systemError == ENOSPC)
    files.writeError = nil
    try await waitUntil { numbers.saveError == nil }
    #expect(text == "[1]")
    files.writeError = .system(operation: "remove", path: url.path, code: EROFS)
    await #expect(throws: FileStorageError.self) { try await numbers.reset() }
    files.writeError = nil
    try await waitUntil { numbers.saveError == nil }
    #expect(text == nil)
  }

  @Test("A failed write does not come back over a later edit")
  func editAfterFailure() async throws {
    let numbers = share()
    files.writeError = .system(operation: "write", path: url.path, code: ENOSPC)
    numbers.withLock { $0 = [1] }
    #expect(numbers.saveError != nil)
    edit("[2]")
    try await wait(for: [2], in: numbers)
    let writes = files.writes
    files.writeError = nil
    // The retry of another value, which begins later, comes after the one that must not come.
    let other = withDependencies {
      $0.defaultFileStorage = FileStorage(files: files)
    } operation: {
      Shared(wrappedValue: 0, .fileStorage(URL(fileURLWithPath: "/other.json")))
    }
    files.writeError = .system(operation: "write", path: url.path, code: ENOSPC)
    other.withLock { $0 = 1 }
    files.writeError = nil
    try await waitUntil { other.saveError == nil }
    #expect(files.writes == writes + 2)
    #expect(text == "[2]")
  }

  // MARK: A file that is mounted by itself

  @Test("A file that cannot be replaced is written in place", arguments: [EBUSY, EROFS])
  func mountedFile(code: Int32) throws {
    let directory = try TemporaryDirectory()
    let path = directory["numbers.json"].path
    try Data("[1, 2, 3]".utf8).write(to: directory["numbers.json"])
    let before = try DiskFiles().stamp(of: path)
    let stamp = try AtomicWrite(path: path) { _, _ in
      errno = code
      return -1
    }.write(Data("[4]".utf8))
    #expect(try DiskFiles().read(path)?.data == Data("[4]".utf8))
    #expect(stamp.inode == before?.inode)
    #expect(try DiskFiles().stamp(of: path) == stamp)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path) == ["numbers.json"])
  }
}

/// Files in memory, on a system that refuses what the test says.
private final class FaultyFiles: FileSystem {
  private struct State {
    var watchError: FileStorageError?
    var writeError: FileStorageError?
    var isSilent = false
    var writes = 0
    var ends: [@Sendable (any Error) -> Void] = []
  }

  let files = InMemoryFiles()
  private let state = Mutex(State())

  let saveInterval = Duration.zero
  let watchInterval = Duration.milliseconds(5)

  var watchError: FileStorageError? {
    get { state.withLock { $0.watchError } }
    set { state.withLock { $0.watchError = newValue } }
  }

  var writeError: FileStorageError? {
    get { state.withLock { $0.writeError } }
    set { state.withLock { $0.writeError = newValue } }
  }

  /// Whether watches tell of nothing, as on a file system of another machine.
  var isSilent: Bool {
    get { state.withLock { $0.isSilent } }
    set { state.withLock { $0.isSilent = newValue } }
  }

  /// The number of attempts to write.
  var writes: Int { state.withLock { $0.writes } }

  /// Ends all watches, as the system does.
  func endWatches() {
    let (ends, error) = state.withLock { state in
      defer { state.ends = [] }
      return (state.ends, state.watchError)
    }
    if let error { for end in ends { end(error) } }
  }

  func watch(
    _ path: String,
    onChange: @escaping @Sendable () -> Void,
    onEnd: @escaping @Sendable (any Error) -> Void
  ) throws -> SharedSubscription {
    try state.withLock { state in
      if let error = state.watchError { throw error }
      state.ends.append(onEnd)
    }
    return files.watch(path, onChange: { [self] in if !isSilent { onChange() } }, onEnd: onEnd)
  }

  func read(_ path: String) -> FileContent? { files.read(path) }

  func stamp(of path: String) -> FileStamp? { files.stamp(of: path) }

  func write(_ data: Data, to path: String) throws -> FileStamp {
    try attempt()
    return files.write(data, to: path)
  }

  func remove(_ path: String) throws {
    try attempt()
    files.remove(path)
  }

  private func attempt() throws {
    try state.withLock { state in
      state.writes += 1
      if let error = state.writeError { throw error }
    }
  }
}
