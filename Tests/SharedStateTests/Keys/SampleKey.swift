import SharedState
import SharedStateTesting
import Synchronization

/// A correct key, or one with a fault.
struct SampleKey: SharedKey {
  let storage: SampleStorage
  let name: String

  struct ID: Hashable {
    let storage: ObjectIdentifier
    let name: String
    let number: Int
  }

  var id: ID {
    ID(
      storage: ObjectIdentifier(storage),
      name: fault == .mixesIdentifiers ? "" : name,
      number: fault == .changesIdentifiers ? storage.nextNumber() : 0
    )
  }

  func load(context: LoadContext<Int>, continuation: LoadContinuation<Int>) {
    switch (fault, storage.load(fault == .mixesDocuments ? "a" : name)) {
    case (.resumesLoadTwice, let result):
      continuation.resume(with: result)
      continuation.resume(with: result)
    case (.leaksLoad, _):
      break
    case (.storesDefault, .success(nil)):
      continuation.resume(returning: context.initialValue ?? 0)
    case (.ignoresExplicitLoads, _) where context.initialValue == nil:
      continuation.resumeReturningInitialValue()
    case (.ignoresDamage, .failure):
      continuation.resumeReturningInitialValue()
    case (_, let result):
      continuation.resume(with: result)
    }
  }

  func subscribe(context: LoadContext<Int>, subscriber: SharedSubscriber<Int>) -> SharedSubscription {
    guard fault != .ignoresChanges else { return SharedSubscription {} }
    let number = storage.subscribe(name, subscriber)
    return SharedSubscription { [fault, storage] in
      if fault != .ignoresCancellation { storage.unsubscribe(number) }
    }
  }

  func save(_ value: Int, context: SaveContext, continuation: SaveContinuation) {
    switch fault {
    case .dropsSaves:
      break
    case .savesOnRequestOnly where context == .didSet:
      break
    case .savesInReverse:
      storage.saveInReverse(value, name, isLast: context == .userInitiated)
    case .mixesDocuments:
      storage.save(value, "a")
    default:
      storage.save(value, name)
    }
    if fault == .echoesLate { storage.echo(name) }
    if fault == .leaksSave { return }
    continuation.resume()
    if fault == .resumesSaveTwice { continuation.resume() }
  }

  func reset(to initialValue: Int, continuation: SaveContinuation) {
    if fault == .ignoresResets { return continuation.resume() }
    save(initialValue, context: .replacingUnreadable, continuation: continuation)
  }

  private var fault: Fault? { storage.fault }
}

extension SampleKey {
  /// The possible faults of a key.
  enum Fault: CaseIterable {
    case changesIdentifiers, mixesIdentifiers, storesDefault, resumesLoadTwice, leaksLoad, ignoresExplicitLoads
    case ignoresDamage, ignoresChanges, ignoresRemovals, repeatsChanges, delaysChanges, ignoresCancellation
    case dropsSaves, savesOnRequestOnly, savesInReverse, resumesSaveTwice, leaksSave, echoesLate, mixesDocuments
    case keepsToItself, ignoresResets

    /// The check that has to find the fault.
    var check: String {
      switch self {
      case .changesIdentifiers, .mixesIdentifiers:
        "keys of the same state have equal identifiers, and keys of different states have not"
      case .storesDefault: "a load says once that nothing is stored"
      case .resumesLoadTwice, .leaksLoad: "a load hands over the stored value once"
      case .ignoresExplicitLoads: "an explicit load has brought the stored value when it returns"
      case .ignoresDamage: "an unreadable document is an error, and the present value stays"
      case .ignoresChanges: "shares follow the changes of others"
      case .ignoresRemovals: "shares return to the default when others remove the stored value"
      case .repeatsChanges, .delaysChanges: "a subscriber hears of each change once, in order"
      case .ignoresCancellation: "a subscriber hears of no change after its subscription was cancelled"
      case .dropsSaves: "an explicit save has stored the change when it returns"
      case .savesOnRequestOnly: "a key stores a change even if nobody holds a share any more"
      case .savesInReverse: "a key stores the newest of many changes"
      case .resumesSaveTwice, .leaksSave: "a save has one answer, and a load returns the saved value"
      case .echoesLate: "a saved value never comes back over a newer change"
      case .mixesDocuments: "a key stores each state by itself"
      case .keepsToItself: "others see the saved value"
      case .ignoresResets: "a value that was stored before the first use is not the default"
      }
    }
  }
}

/// The storage of a `SampleKey`.
final class SampleStorage: Sendable {
  struct Unreadable: Error {}

  private struct State {
    var values: [String: Int] = [:]
    var damaged: Set<String> = []
    var subscribers: [Int: (name: String, subscriber: SharedSubscriber<Int>)] = [:]
    var count = 0
    /// A value that a fault holds back.
    var held: Int?
    var pendingChange: Int??
  }

  let fault: SampleKey.Fault?
  private let state = Mutex(State())

  init(fault: SampleKey.Fault? = nil) {
    self.fault = fault
  }

  func nextNumber() -> Int {
    state.withLock { state in
      state.count += 1
      return state.count
    }
  }

  func load(_ name: String) -> Result<Int?, any Error> {
    state.withLock { state in
      state.damaged.contains(name) ? .failure(Unreadable()) : .success(state.values[name])
    }
  }

  func save(_ value: Int, _ name: String) {
    state.withLock { $0.values[name] = value }
  }

  /// Saves the first value after the last one.
  func saveInReverse(_ value: Int, _ name: String, isLast: Bool) {
    state.withLock { state in
      if !isLast { state.held = state.held ?? value }
      guard isLast else { return }
      state.values[name] = state.held ?? value
      state.held = nil
    }
  }

  /// Tells of the value that the previous call has saved.
  func echo(_ name: String) {
    let (late, subscribers) = state.withLock { state in
      defer { state.held = state.values[name] }
      return (state.held, state.subscribers.values.filter { $0.name == name })
    }
    guard let late else { return }
    for entry in subscribers { entry.subscriber.yield(late) }
  }

  func subscribe(_ name: String, _ subscriber: SharedSubscriber<Int>) -> Int {
    let number = nextNumber()
    state.withLock { $0.subscribers[number] = (name, subscriber) }
    return number
  }

  func unsubscribe(_ number: Int) {
    let entry = state.withLock { $0.subscribers.removeValue(forKey: number) }
    withExtendedLifetime(entry) {}
  }

  /// A change from elsewhere.
  private func change(_ name: String, _ value: Int?) {
    let (told, subscribers) = state.withLock { state in
      state.values[name] = value
      state.damaged.remove(name)
      return (changesToNotify(of: value, &state), state.subscribers.values.filter { $0.name == name })
    }
    for entry in subscribers {
      for value in told { entry.subscriber.yield(with: .success(value)) }
    }
  }

  private func changesToNotify(of value: Int?, _ state: inout State) -> [Int?] {
    switch fault {
    case .ignoresRemovals where value == nil: return []
    case .repeatsChanges: return [value, value]
    case .delaysChanges:
      // A change is told together with the next one.
      if let pending = state.pendingChange {
        state.pendingChange = nil
        return [pending, value]
      }
      state.pendingChange = .some(value)
      return []
    default: return [value]
    }
  }

  private func damage(_ name: String) {
    state.withLock { state in
      state.damaged.insert(name)
      state.values[name] = nil
    }
  }

  /// The value that others read. With a fault, the key keeps the saves of its shares to itself.
  private func read(_ name: String) -> Int? {
    fault == .keepsToItself ? nil : state.withLock { $0.values[name] }
  }

  func contractStorage(patience: Duration = .seconds(20)) -> SharedKeyContract<SampleKey>.Storage {
    .init(
      values: [0, 1, 2, 3],
      patience: patience,
      outsider: .init(
        read: { self.read($0) },
        write: { self.change($0, $1) },
        remove: { self.change($0, nil) },
        damage: { self.damage($0) }
      ),
      key: { SampleKey(storage: self, name: $0) }
    )
  }
}
