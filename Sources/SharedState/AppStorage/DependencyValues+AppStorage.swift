public import Foundation
public import SharedStateDependencies
import Synchronization

extension DependencyValues {
  /// The user defaults that ``AppStorageKey`` uses: the standard ones; in previews and tests, empty ones in memory, of
  /// which every test has its own.
  public var defaultAppStorage: UserDefaults {
    get { self[AppStorageDependency.self].store }
    set { self[AppStorageDependency.self] = AppStorageDependency(store: newValue) }
  }

  /// Whether a key whose name would hamper observation on Apple platforms is reported.
  public var appStorageKeyFormatWarningEnabled: Bool {
    get { self[AppStorageKeyFormatWarning.self] }
    set { self[AppStorageKeyFormatWarning.self] = newValue }
  }

  /// The names that were reported already, in this process or test.
  var reportedAppStorageNames: ReportedNames { self[ReportedNames.self] }
}

private struct AppStorageDependency: DependencyKey, @unchecked Sendable {
  // `@unchecked Sendable` is right because `UserDefaults` is documented to be safe to use from any thread.
  let store: UserDefaults

  static var liveValue: Self { Self(store: .standard) }
  static var previewValue: Self { Self(store: InMemoryUserDefaults.makeEmpty()) }
  static var testValue: Self { Self(store: InMemoryUserDefaults.makeEmpty()) }
}

private enum AppStorageKeyFormatWarning: DependencyKey {
  static let liveValue = true
  static let testValue = true
}

/// Remembers the names that were reported.
final class ReportedNames: DependencyKey, Sendable {
  private let names = Mutex<Set<Name>>([])

  static let liveValue = ReportedNames()
  static var testValue: ReportedNames { ReportedNames() }

  /// Remembers the name; `false` when it was there before.
  func insert(_ name: Name) -> Bool {
    names.withLock { $0.insert(name).inserted }
  }
}
