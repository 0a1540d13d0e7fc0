public import Foundation
import SharedState
import Synchronization

/// The snapshot of a store, in a file that all processes of the service on this machine share.
///
/// It is read once, when the store is made. May be used on any thread; every call but ``state(of:)`` may block for as
/// long as the disk does.
final class SnapshotFile: Sendable {
  /// Something that an operator should know.
  enum Event: Equatable, Sendable {
    /// The file was not used, for this reason, and was set aside under another name.
    case refused(Snapshot.Refusal)
    /// The file cannot be read, for this reason.
    case unreadable(String)
    /// The snapshot cannot be written, for this reason.
    case notWritten(String)
    /// The snapshot is written again.
    case writtenAgain
  }

  private struct State {
    /// What the file has, as far as is known.
    var known: Snapshot
    /// The stamp of the file with that content; `nil`: it is not known.
    var stamp: FileStamp?
    /// Whether the last attempt to write it has failed.
    var hasFailed = false
  }

  private let file: PrivateFile
  private let name: String
  private let store: Snapshot.Identity
  private let report: @Sendable (Event) -> Void
  private let state: Mutex<State>
  /// The date of the snapshot that the store has started with; `nil`: there was none.
  let startDate: Date?

  /// Reads the file.
  init(in folder: URL, of store: Snapshot.Identity, report: @escaping @Sendable (Event) -> Void) {
    var digest = SHA1()
    digest.update("\(store.database) \(store.label) \(store.namespace)")
    // A label may have a character that a file's name cannot have.
    let label = RedisName.label(store.label).replacing("/", with: "-")
    name = "\(label)-\(digest.finish().prefix(16)).snapshot"
    file = PrivateFile(name, in: folder)
    (self.store, self.report) = (store, report)
    let snapshot = Self.read(file, of: store, report)
    startDate = snapshot?.date
    state = Mutex(State(known: snapshot ?? Snapshot(date: .distantPast)))
  }

  private static func read(
    _ file: PrivateFile,
    of store: Snapshot.Identity,
    _ report: (Event) -> Void
  ) -> Snapshot? {
    do {
      return try file.read().map { try Snapshot($0, of: store) }
    } catch let refusal as Snapshot.Refusal {
      report(.refused(refusal))
    } catch {
      report(.unreadable("\(error)"))
    }
    return nil
  }

  /// What the snapshot has of a value, and the date of the snapshot; `nil`: nothing that could be shown.
  func state(of name: Name) -> SnapshotState? {
    state.withLock { state in
      guard let known = state.known.states[name], let document = known.document else { return nil }
      return SnapshotState(
        state: .init(revision: known.revision, content: .document(document)),
        date: state.known.date,
        version: known.version
      )
    }
  }

  /// Adds states to the file. Never called by two threads at a time.
  ///
  /// - Returns: Whether the file has them.
  @discardableResult
  func write(_ states: [Name: Snapshot.State], at date: Date) -> Bool {
    let (known, stamp) = state.withLock { ($0.known.states, $0.stamp) }
    let result = Result { try file.alone { try merge(states, known, stamp, date) } }
    let event = state.withLock { state -> Event? in
      defer { if case .failure = result { state.hasFailed = true } else { state.hasFailed = false } }
      switch result {
      case .success(let written):
        (state.known, state.stamp) = written
        return state.hasFailed ? .writtenAgain : nil
      case .failure(let error): return state.hasFailed ? nil : .notWritten("\(error)")
      }
    }
    if let event { report(event) }
    if case .success = result { return true } else { return false }
  }

  private func merge(
    _ states: [Name: Snapshot.State],
    _ known: [Name: Snapshot.State],
    _ knownStamp: FileStamp?,
    _ date: Date
  ) throws -> (Snapshot, FileStamp?) {
    var snapshot = Snapshot(date: date)
    let stamp = try file.stamp()
    if stamp != nil, stamp == knownStamp {
      snapshot.states = known
    } else if let data = try file.read() {
      do throws(Snapshot.Refusal) {
        snapshot.states = try Snapshot(data, of: store).states
      } catch {
        // It may be of a later release, which would miss it.
        try file.rename(to: name + ".refused")
      }
    }
    let before = snapshot.states
    snapshot.merge(states, known: known)
    guard snapshot.states != before else { return (snapshot, stamp) }
    return (snapshot, try file.write(snapshot.encoded(for: store)))
  }
}

/// A state of a value that a snapshot has, and the date of the snapshot.
struct SnapshotState: Hashable, Sendable {
  let state: Replica.State
  let date: Date
  var version: SavedVersion?
  /// The members of its document that cannot be read, and the shown value, as this service encodes it; `nil`: the whole
  /// document is shown.
  var part: Part?

  struct Part: Hashable, Sendable {
    let unreadableMembers: RedisSharedStateError
    let encoded: Data
  }
}

extension RedisConfiguration {
  /// Where a store keeps a snapshot of its values, to start with while Redis is unreachable.
  public struct Snapshot: Hashable, Sendable {
    /// The folder of the file.
    let folder: URL

    /// A file in this folder, which is made when it is missing.
    ///
    /// The file has a name for the label, the namespace and the database. Several processes of one service may use one
    /// folder at a time. Only the user of the process may read the file. It contains values in plain text.
    public static func folder(_ folder: URL) -> Self { Self(folder: folder) }
  }
}

/// When the snapshot is written: some time after the first change that it lacks, and when a connection ends.
struct SnapshotSchedule: Sendable {
  /// `nil`: there is no snapshot.
  let delay: Duration?
  private var isChanged = false
  private var isWriting = false
  /// Whether no time passes before it is written once more.
  private var isUrgent = false
  /// When it is to be written.
  private(set) var next: Instant?
  /// States of values that nobody shares any more, which are not written yet.
  private(set) var departed: [Name: Snapshot.State] = [:]
  private static let maximumDeparted = 10_000

  init(delay: Duration?) { self.delay = delay }

  /// The server has confirmed another state of a value.
  mutating func changed() { if delay != nil { isChanged = true } }

  /// Decides at this time. Returns whether the snapshot has to be written now; then ``written(_:)`` follows.
  ///
  /// - Parameter isUrgent: Whether no time passes before it is written.
  mutating func take(now: Instant, isUrgent: Bool = false) -> Bool {
    guard let delay, isChanged else { return false }
    guard !isWriting else {
      // Without a connection, nobody decides again later.
      self.isUrgent = self.isUrgent || isUrgent
      return false
    }
    let due = next ?? now + delay
    guard isUrgent || due <= now else {
      next = due
      return false
    }
    begin()
    return true
  }

  private mutating func begin() { (isChanged, isWriting, isUrgent, next) = (false, true, false, nil) }

  /// A value with this state is not shared any more.
  mutating func depart(_ name: Name, _ state: Snapshot.State) {
    guard isBehind, departed[name] != nil || departed.count < Self.maximumDeparted else { return }
    departed[name] = state
  }

  /// These states of values that nobody shared are written.
  mutating func wrote(_ states: [Name: Snapshot.State]) {
    for (name, state) in states where departed[name] == state { departed[name] = nil }
  }

  /// Whether it lacks a change, or is being written.
  var isBehind: Bool { isChanged || isWriting }

  /// The attempt to write it has ended. Returns whether it has to be written again now; then this follows once more.
  mutating func written(_ isWritten: Bool) -> Bool {
    let isNext = isChanged && isUrgent
    if isNext {
      begin()
    } else {
      (isWriting, isUrgent) = (false, false)
      if !isWritten { isChanged = true }
    }
    return isNext
  }
}
