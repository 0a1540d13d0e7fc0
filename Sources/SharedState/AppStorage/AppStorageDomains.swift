import Foundation
import IssueReporting
import Synchronization

/// Finds the one domain of each set of user defaults, for which there may be several `UserDefaults` objects.
final class AppStorageDomains: Sendable {
  private enum Identity: Hashable {
    case object(ObjectIdentifier)
    case file(Name)
  }

  private struct Entry {
    weak var domain: AppStorageDomain?
  }

  private struct State {
    var domains: [Identity: Entry] = [:]
    /// The newest plain user defaults of an unknown suite.
    weak var unknown: AppStorageDomain?
    var hasReported = false
  }

  private let file: @Sendable (UserDefaults) -> String?
  private let state = Mutex(State())

  /// - Parameter file: Finds the file of some user defaults; `nil` when it is unknown.
  init(file: @escaping @Sendable (UserDefaults) -> String?) {
    self.file = file
  }

  /// The domains of this process.
  static let shared = AppStorageDomains(file: path)

  func domain(of store: UserDefaults) -> AppStorageDomain {
    let path = store is InMemoryUserDefaults ? nil : file(store)
    // A subclass may keep its values elsewhere, so two of its objects may hold different ones.
    let isPlain = type(of: store) == UserDefaults.self
    let identity =
      if isPlain, let path { Identity.file(Name(path)) } else { Identity.object(ObjectIdentifier(store)) }
    let made = AppStorageDomain(store: store, path: path)
    let (domain, isReported) = state.withLock { state in
      // A domain keeps its store alive, so a store that is found by its address is the same one.
      if let domain = state.domains[identity]?.domain { return (domain, false) }
      // User defaults are rarely made, so it is enough to forget old ones now and then.
      if state.domains.count % 64 == 63 { state.domains = state.domains.filter { $0.value.domain != nil } }
      state.domains[identity] = Entry(domain: made)
      // Only now: an unused domain would otherwise replace the one that was found.
      (store as? InMemoryUserDefaults)?.notify(made)
      guard isPlain, path == nil else { return (made, false) }
      defer { state.unknown = made }
      guard state.unknown != nil, !state.hasReported else { return (made, false) }
      state.hasReported = true
      return (made, true)
    }
    if isReported { reportUnknownSuite() }
    return domain
  }

  private func reportUnknownSuite() {
    reportIssue(
      """
      Two 'UserDefaults' objects are used for app storage, and their suites are unknown. If they are of one suite, \
      shares of its keys are not one value: use one object for each suite.
      """
    )
  }

  /// The file in which corelibs keeps user defaults.
  @Sendable
  private static func path(of store: UserDefaults) -> String? {
    // Only the object itself shows the name of its suite. If the property were renamed, every object would have a
    // domain of its own, and changes by other processes would be seen at the next load.
    var mirror: Mirror? = Mirror(reflecting: store)
    while let present = mirror {
      if let suite = present.children.first(where: { $0.label == "suite" })?.value {
        return path(ofSuite: suite as? String)
      }
      mirror = present.superclassMirror
    }
    return nil
  }

  private static func path(ofSuite suite: String?) -> String {
    let name = suite ?? Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
    if name.hasPrefix("/") { return name + ".plist" }
    let environment = ProcessInfo.processInfo.environment
    let configuration = environment["XDG_CONFIG_HOME"].flatMap { $0.isEmpty ? nil : $0 }
    let home = environment["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? NSHomeDirectory()
    return (configuration ?? home + "/.config") + "/\(name).plist"
  }
}

/// Knows the type of value that each name is used with, and finds names that are used with two.
struct NamesByType {
  private var types: [Name: (type: ObjectIdentifier, text: String)] = [:]
  private var namesOfTwoTypes: Set<Name> = []

  /// Remembers that a name is used with a type of value.
  ///
  /// - Returns: The type that it was used with before, if that is another one; only the first time.
  mutating func insert(_ name: Name, as type: Any.Type) -> String? {
    guard let present = types[name] else {
      types[name] = (ObjectIdentifier(type), "\(type)")
      return nil
    }
    guard present.type != ObjectIdentifier(type), namesOfTwoTypes.insert(name).inserted else { return nil }
    return present.text
  }
}
