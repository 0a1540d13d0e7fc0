import Foundation
import Synchronization

/// User defaults that are held in memory only, and tell at once what is changed, by whoever does it.
final class InMemoryUserDefaults: UserDefaults {
  private struct State {
    // Property lists, which nobody changes once they are stored: `UserDefaults` itself hands them to any thread.
    nonisolated(unsafe) var values: [String: Any] = [:]
    nonisolated(unsafe) var registered: [String: Any] = [:]
    weak var domain: AppStorageDomain?
  }

  private let state = Mutex(State())

  /// Makes empty user defaults.
  static func makeEmpty() -> InMemoryUserDefaults {
    // The suite is never looked at, because every access is overridden.
    guard let made = InMemoryUserDefaults(suiteName: "shared-state-in-memory") else {
      preconditionFailure("User defaults could not be made. This is a bug in SharedState.")
    }
    return made
  }

  /// Tells the domain of every change from now on.
  func tell(_ domain: AppStorageDomain) {
    state.withLock { $0.domain = domain }
  }

  override func object(forKey defaultName: String) -> Any? {
    let box = state.withLock { state in UncheckedBox(state.values[defaultName] ?? state.registered[defaultName]) }
    return box.value
  }

  override func set(_ value: Any?, forKey defaultName: String) {
    let box = UncheckedBox(value)
    let domain = state.withLock { state in
      state.values[defaultName] = box.value
      return state.domain
    }
    domain?.check([defaultName])
  }

  override func set(_ url: URL?, forKey defaultName: String) {
    set(url.flatMap(AppStorageCoding<URL>.object(for:)), forKey: defaultName)
  }

  override func removeObject(forKey defaultName: String) {
    set(Any?.none, forKey: defaultName)
  }

  override func register(defaults registrationDictionary: [String: Any]) {
    let box = UncheckedBox(registrationDictionary)
    let domain = state.withLock { state in
      state.registered.merge(box.value) { _, new in new }
      return state.domain
    }
    domain?.check(Array(registrationDictionary.keys))
  }

  override func dictionaryRepresentation() -> [String: Any] {
    state.withLock { state in UncheckedBox(state.registered.merging(state.values) { _, value in value }) }.value
  }

  override func synchronize() -> Bool { true }
}

/// Carries a property list, which nobody changes, across a lock.
private struct UncheckedBox<Value>: @unchecked Sendable {
  let value: Value

  init(_ value: Value) {
    self.value = value
  }
}
