public import Foundation
import Synchronization

/// User defaults that are held in memory only, and announce each change immediately, wherever it is made.
final class InMemoryUserDefaults: UserDefaults {
  private struct State {
    // Property lists, which are never changed once they are stored: `UserDefaults` itself hands them to any thread.
    nonisolated(unsafe) var values: [Name: Any] = [:]
    nonisolated(unsafe) var registered: [Name: Any] = [:]
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

  /// Notifies the domain of every change from now on.
  func notify(_ domain: AppStorageDomain) {
    state.withLock { $0.domain = domain }
  }

  override func object(forKey defaultName: String) -> Any? {
    let name = Name(defaultName)
    let box = state.withLock { state in UncheckedBox(state.values[name] ?? state.registered[name]) }
    return box.value
  }

  override func set(_ value: Any?, forKey defaultName: String) {
    let name = Name(defaultName)
    let box = UncheckedBox(value)
    let domain = state.withLock { state in
      state.values[name] = box.value
      return state.domain
    }
    domain?.check([name])
  }

  override func set(_ url: URL?, forKey defaultName: String) {
    set(url.flatMap(AppStorageCoding<URL>.object(for:)), forKey: defaultName)
  }

  override func removeObject(forKey defaultName: String) {
    set(Any?.none, forKey: defaultName)
  }

  override func register(defaults registrationDictionary: [String: Any]) {
    let names = registrationDictionary.keys.map { Name($0) }
    let box = UncheckedBox(registrationDictionary)
    let domain = state.withLock { state in
      for (name, value) in box.value { state.registered[Name(name)] = value }
      return state.domain
    }
    domain?.check(names)
  }

  override func dictionaryRepresentation() -> [String: Any] {
    state.withLock { state in
      let values = state.registered.merging(state.values) { _, value in value }
      // Two names may be equal as texts, but differ in their bytes. A dictionary of texts has room for one of them.
      return UncheckedBox(Dictionary(values.map { ($0.text, $1) }, uniquingKeysWith: { first, _ in first }))
    }.value
  }

  override func synchronize() -> Bool { true }
}

/// Carries a property list, which is never changed, across a lock.
private struct UncheckedBox<Value>: @unchecked Sendable {
  let value: Value

  init(_ value: Value) {
    self.value = value
  }
}

extension UserDefaults {
  /// New, empty user defaults that live as long as they are used, and write nothing to the disk.
  ///
  /// ```swift
  /// prepareDependencies { $0.defaultAppStorage = .inMemory }
  /// ```
  ///
  /// Shares that were made with these very user defaults see direct changes to them immediately.
  public static var inMemory: UserDefaults { InMemoryUserDefaults.makeEmpty() }
}
