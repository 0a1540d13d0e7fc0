import Dispatch
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
    with(storage ?? FileStorage(files: files)) { Shared(wrappedValue: [], .fileStorage(url)) }
  }

  /// Makes a share of `[1]` in a file whose watch says nothing. Its own check does not see a later edit any more.
  private func unwatchedShare(in storage: FileStorage) -> Shared<[Int]> {
    files.isSilent = true
    edit("[1]")
    let numbers = share(in: storage)
    // The check is repeated once when it has crossed with the first reading.
    for _ in 1...2 { storage.document(at: url).queue.sync {} }
    return numbers
  }

  /// Makes a share that stops at a gate when it decodes `[2]`.
  private func share(in storage: FileStorage, decoding gate: Gate) -> Shared<[Int]> {
    with(storage) {
      Shared(
        wrappedValue: [],
        FileStorageKey<[Int]>.fileStorage(url) { data in
          if data == Data("[2]".utf8) { gate.pass() }
          return try JSONDecoder().decode([Int].self, from: data)
        } encode: {
          try JSONEncoder().encode($0)
        }
      )
    }
  }

  private func with<Result>(_ storage: FileStorage, _ make: () -> Result) -> Result {
    withDependencies {
      $0.defaultFileStorage = storage
    } operation: {
      make()
    }
  }

  /// Edits the file as another program does.
  private func edit(_ text: String) { files.files.write(Data(text.utf8), to: url.path) }

  private var text: String? { files.files.read(url.path).map { String(decoding: $0.data, as: UTF8.self) } }

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
    document.observe(by: KeyAuthor(), { _, _ in }, onWatchError: { errors.append($0 != nil) }).cancel()
    files.watchError = nil
    let subscription = document.observe(by: KeyAuthor(), { _, _ in }, onWatchError: { errors.append($0 != nil) })
    #expect(errors.elements == [true])
    subscription.cancel()
  }

  // MARK: Saving

  @Test("A save does not replace what another program has written or deleted since, and says so")
  func unseenEdit() async throws {
    let numbers = unwatchedShare(in: FileStorage(files: files))
    #expect(numbers.wrappedValue == [1])
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
    try await wait(for: [], in: numbers)
  }

  @Test("A deletion by another program wins over a change that is not saved yet, and the change gets an error")
  func deletionBesideChange() async throws {
    let numbers = unwatchedShare(in: FileStorage(files: files))
    #expect(numbers.wrappedValue == [1])
    files.files.remove(url.path)
    numbers.withLock { $0 = [9] }
    #expect(text == nil)
    #expect(numbers.saveError as? FileStorageError == .changedElsewhere(path: url.path))
    try await wait(for: [], in: numbers)
    numbers.withLock { $0 = [9] }
    try await numbers.save()
    #expect(text == "[9]")
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

  @Test("An edit that is found while a closure runs is not replaced by the change of that closure")
  func editDuringChange() async throws {
    let storage = FileStorage(files: files)
    let numbers = unwatchedShare(in: storage)
    files.isSilent = false
    numbers.withLock { numbers in
      edit("[2]")
      // The edit is found, and cannot be shown yet.
      storage.document(at: url).queue.sync {}
      numbers = [9]
    }
    #expect(text == "[2]")
    #expect(numbers.saveError as? FileStorageError == .changedElsewhere(path: url.path))
    try await wait(for: [2], in: numbers)
    numbers.withLock { $0.append(3) }
    #expect(text == "[2,3]")
    #expect(numbers.saveError == nil)
  }

  @Test("A change that is made while an edit is decoded does not replace it")
  func changeDuringDecoding() async throws {
    let decoding = Gate()
    let numbers = share(in: FileStorage(files: files), decoding: decoding)
    edit("[2]")
    #expect(try await decoding.isReached())
    numbers.withLock { $0 = [9] }
    #expect(text == "[2]")
    #expect(numbers.saveError as? FileStorageError == .changedElsewhere(path: url.path))
    decoding.open()
    try await wait(for: [2], in: numbers)
    #expect(text == "[2]")
  }

  @Test("An edition that is decoded late says nothing about a newer one")
  func lateDecoding() {
    files.isSilent = true
    let document = FileDocument(path: url.path, files: files, queue: DispatchQueue(label: "numbers")) {}
    let (author, type) = (KeyAuthor(), ObjectIdentifier([Int].self))
    edit("damaged")
    let damaged = document.read().edition
    edit("[2]")
    let repaired = document.read().edition
    author.see(repaired)
    document.didDecode(as: type, repaired, isReadable: true)
    document.didDecode(as: type, damaged, isReadable: false)
    document.save(as: type, by: author, context: .userInitiated, continuation: SaveContinuation { _ in }) {
      Data("[3]".utf8)
    }
    #expect(text == "[3]")
  }

  @Test("An edit that was replaced on request while it was decoded is not shown")
  func replacementDuringDecoding() async throws {
    let decoding = Gate()
    let storage = FileStorage(files: files)
    let numbers = share(in: storage, decoding: decoding)
    edit("[2]")
    #expect(try await decoding.isReached())
    numbers.withLock { $0 = [9] }
    try await numbers.save(replacingUnreadable: true)
    #expect(text == "[9]")
    decoding.open()
    for _ in 1...3 { storage.document(at: url).queue.sync {} }
    #expect(numbers.wrappedValue == [9])
    #expect(text == "[9]")
  }

  @Test("An edit that is shown while a value is handed over is not replaced by it")
  func editDuringHandover() async throws {
    let storage = FileStorage(files: files)
    let saving = Gate()
    let numbers = with(storage) {
      Shared(
        wrappedValue: [],
        WrappingKey(base: .fileStorage(url), willSave: { value in if value == [9] { saving.pass() } })
      )
    }
    numbers.withLock { $0 = [1] }
    let changing = Task.detached { try await onThread(stackSize: 1 << 19) { numbers.withLock { $0 = [9] } } }
    #expect(try await saving.isReached())
    edit("[2]")
    try await wait(for: [2], in: numbers)
    saving.open()
    try await changing.value
    #expect(text == "[2]")
    #expect(numbers.wrappedValue == [2])
    #expect(numbers.saveError as? FileStorageError == .changedElsewhere(path: url.path))
  }

  @Test("A share that is made while another one of the file is being written replaces nothing")
  func shareDuringWrite() async throws {
    edit("[1]")
    let storage = FileStorage(files: files)
    let numbers = share(in: storage)
    let writing = Gate()
    files.onWrite = { writing.pass() }
    let changing = Task.detached { try await onThread(stackSize: 1 << 19) { numbers.withLock { $0 = [1, 2] } } }
    #expect(try await writing.isReached())
    files.onWrite = nil
    let set = with(storage) { Shared(wrappedValue: Set<Int>(), .fileStorage(url)) }
    #expect(set.wrappedValue == [1])
    set.withLock { _ = $0.insert(3) }
    #expect(set.saveError as? FileStorageError == .changedElsewhere(path: url.path))
    writing.open()
    try await changing.value
    try await wait(for: [1, 2], in: set)
    #expect(text == "[1,2]")
    #expect(numbers.saveError == nil)
  }

  @Test("A change that cannot be encoded does not refuse those of another type")
  func unencodableBeside() async throws {
    edit("[1]")
    let storage = FileStorage(files: files)
    let numbers = share(in: storage)
    let reals = with(storage) { Shared(wrappedValue: [Double](), .fileStorage(url)) }
    reals.withLock { $0 = [.nan] }
    #expect(reals.saveError != nil)
    for _ in 1...2 { storage.document(at: url).queue.sync {} }
    numbers.withLock { $0.append(2) }
    #expect(numbers.saveError == nil)
    #expect(text == "[1,2]")
  }

  @Test("A key that is built on a file and passes edits on later can save after them")
  func builtOnAFile() async throws {
    let queue = DispatchQueue(label: "later")
    let numbers = with(FileStorage(files: files)) {
      Shared(wrappedValue: [], WrappingKey(base: .fileStorage(url), passOn: { change in queue.async(execute: change) }))
    }
    edit("[2]")
    try await wait(for: [2], in: numbers)
    numbers.withLock { $0.append(3) }
    #expect(text == "[2,3]")
    #expect(numbers.saveError == nil)
  }

  @Test("A file that could not be read for a moment can be saved again without an event")
  func passingReadError() async throws {
    edit("[1]")
    let numbers = share()
    files.readError = .system(operation: "read", path: url.path, code: EMFILE)
    edit("[2]")
    try await waitUntil { (numbers.loadError as? FileStorageError)?.systemError == EMFILE }
    files.isSilent = true
    files.readError = nil
    try await wait(for: [2], in: numbers)
    numbers.withLock { $0.append(3) }
    try await numbers.save()
    #expect(text == "[2,3]")
  }

  @Test("A write that fails behind the replacement is not taken for another program's")
  func failureBehindReplacement() async throws {
    files.isSilent = true
    let storage = FileStorage(files: files)
    let numbers = share(in: storage)
    // No check comes in between.
    let queue = storage.document(at: url).queue
    queue.sync { queue.suspend() }
    defer { queue.resume() }
    files.failsBehindWrites = true
    files.writeError = .system(operation: "write", path: url.path, code: EIO)
    numbers.withLock { $0 = [1] }
    #expect((numbers.saveError as? FileStorageError)?.systemError == EIO)
    #expect(text == "[1]")
    files.writeError = nil
    numbers.withLock { $0 = [2] }
    #expect(text == "[2]")
    #expect(numbers.saveError == nil)
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

  // MARK: The disk

  @Test("An edit in place right behind a replacement is noticed", arguments: [0, EBUSY])
  func editBehindReplacement(code: Int32) throws {
    let directory = try TemporaryDirectory()
    let path = directory["numbers.json"].path
    try Data("[1]".utf8).write(to: directory["numbers.json"])
    let verified = Mutex(0)
    let stamp = try AtomicWrite(path: path) { old, new in
      if code != 0 {
        errno = code
        return -1
      }
      let result = rename(old, new)
      // Another program, which keeps the file.
      guard let file = FileHandle(forWritingAtPath: path) else { return -1 }
      file.write(Data("[7, 7]".utf8))
      return result
    }.write(Data("[4]".utf8)) { verified.withLock { $0 += 1 } }
    #expect(verified.withLock { $0 } == (code == 0 ? 1 : 2))
    #expect(try (DiskFiles().stamp(of: path) == stamp) == (code != 0))
  }

  @Test("A replacement that is not verified leaves the file as it is")
  func unverified() throws {
    let directory = try TemporaryDirectory()
    let path = directory["numbers.json"].path
    try Data("[1]".utf8).write(to: directory["numbers.json"])
    #expect(throws: FileStorageError.changedElsewhere(path: path)) {
      try DiskFiles().write(Data("[4]".utf8), to: path) { throw FileStorageError.changedElsewhere(path: path) }
    }
    #expect(try DiskFiles().read(path)?.data == Data("[1]".utf8))
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path) == ["numbers.json"])
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
    var readError: FileStorageError?
    var failsBehindWrites = false
    var onWrite: (@Sendable () -> Void)?
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

  var readError: FileStorageError? {
    get { state.withLock { $0.readError } }
    set { state.withLock { $0.readError = newValue } }
  }

  /// Whether a write fails although the file has the new content.
  var failsBehindWrites: Bool {
    get { state.withLock { $0.failsBehindWrites } }
    set { state.withLock { $0.failsBehindWrites = newValue } }
  }

  /// Called before a write.
  var onWrite: (@Sendable () -> Void)? {
    get { state.withLock { $0.onWrite } }
    set { state.withLock { $0.onWrite = newValue } }
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

  func read(_ path: String) throws -> FileContent? {
    if let error = readError { throw error }
    return files.read(path)
  }

  func stamp(of path: String) -> FileStamp? { files.stamp(of: path) }

  func write(_ data: Data, to path: String, verify: () throws -> Void) throws -> FileStamp {
    onWrite?()
    try verify()
    if failsBehindWrites { files.write(data, to: path) }
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

/// A key that is built on a file.
private struct WrappingKey: SharedKey {
  let base: FileStorageKey<[Int]>
  /// Passes a change on to the subscriber, now or later.
  var passOn: @Sendable (_ change: @escaping @Sendable () -> Void) -> Void = { $0() }
  var willSave: @Sendable ([Int]) -> Void = { _ in }

  var id: FileStorageKeyID { base.id }

  func load(context: LoadContext<[Int]>, continuation: LoadContinuation<[Int]>) {
    base.load(context: context, continuation: continuation)
  }

  func subscribe(context: LoadContext<[Int]>, subscriber: SharedSubscriber<[Int]>) -> SharedSubscription {
    base.subscribe(
      context: context,
      subscriber: SharedSubscriber { [passOn] result in passOn { subscriber.yield(with: result) } }
    )
  }

  func save(_ value: [Int], context: SaveContext, continuation: SaveContinuation) {
    willSave(value)
    base.save(value, context: context, continuation: continuation)
  }

  func reset(to initialValue: [Int], continuation: SaveContinuation) {
    base.reset(to: initialValue, continuation: continuation)
  }
}
