public import Foundation

extension UserDefaults {
  /// New, empty user defaults that live as long as they are used, and write nothing to the disk.
  ///
  /// ```swift
  /// prepareDependencies { $0.defaultAppStorage = .inMemory }
  /// ```
  ///
  /// Changes that are made to them directly are seen at once by shares that were made with these very user defaults.
  public static var inMemory: UserDefaults { InMemoryUserDefaults.makeEmpty() }
}
