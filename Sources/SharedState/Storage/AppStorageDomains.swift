import Foundation
import Synchronization

/// Finds the one domain of each user defaults, of which there may be several `UserDefaults` objects.
final class AppStorageDomains: Sendable {
  private enum Identity: Hashable {
    case object(ObjectIdentifier)
    case file(Name)
  }

  private struct Entry {
    weak var domain: AppStorageDomain?
  }

  private let domains = Mutex<[Identity: Entry]>([:])

  /// Those of this process.
  static let shared = AppStorageDomains()

  func domain(of store: UserDefaults) -> AppStorageDomain {
    let path = store is InMemoryUserDefaults ? nil : Self.path(of: store)
    let identity = path.map { Identity.file(Name($0)) } ?? .object(ObjectIdentifier(store))
    let made = AppStorageDomain(store: store, path: path)
    return domains.withLock { domains in
      // A domain keeps its store alive, so a store that is found by its address is the same one.
      if let domain = domains[identity]?.domain { return domain }
      // Few user defaults come into being; those that are gone are forgotten now and then.
      if domains.count % 64 == 63 { domains = domains.filter { $0.value.domain != nil } }
      domains[identity] = Entry(domain: made)
      // Not when it is made: the one that is found would not be told any more.
      (store as? InMemoryUserDefaults)?.tell(made)
      return made
    }
  }

  /// The file that corelibs keeps user defaults in.
  private static func path(of store: UserDefaults) -> String? {
    #if os(Linux)
      // There is no other way to learn the name of a suite than to look at the object. Were the property renamed, every
      // object would have a domain of its own, and changes by other processes would be seen when something is loaded.
      var mirror: Mirror? = Mirror(reflecting: store)
      while let present = mirror {
        if let suite = present.children.first(where: { $0.label == "suite" })?.value {
          return path(ofSuite: suite as? String)
        }
        mirror = present.superclassMirror
      }
    #endif
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
