public import Foundation

// Without a `store`, a key uses the user defaults of the dependency `\.defaultAppStorage`.

extension SharedReaderKey {
  /// Keeps a boolean in user defaults, under a name.
  public static func appStorage(
    _ name: String,
    store: UserDefaults? = nil
  ) -> Self where Self == AppStorageKey<Bool> {
    AppStorageKey(name, store: store, coding: .natural)
  }

  /// Keeps an optional boolean in user defaults, under a name.
  public static func appStorage(
    _ name: String,
    store: UserDefaults? = nil
  ) -> Self where Self == AppStorageKey<Bool?> {
    AppStorageKey(name, store: store, coding: AppStorageCoding<Bool>.natural.optional())
  }

  /// Keeps an integer in user defaults, under a name.
  public static func appStorage(
    _ name: String,
    store: UserDefaults? = nil
  ) -> Self where Self == AppStorageKey<Int> {
    AppStorageKey(name, store: store, coding: .natural)
  }

  /// Keeps an optional integer in user defaults, under a name.
  public static func appStorage(
    _ name: String,
    store: UserDefaults? = nil
  ) -> Self where Self == AppStorageKey<Int?> {
    AppStorageKey(name, store: store, coding: AppStorageCoding<Int>.natural.optional())
  }

  /// Keeps a real number in user defaults, under a name.
  public static func appStorage(_ name: String, store: UserDefaults? = nil) -> Self
  where Self == AppStorageKey<Double> {
    AppStorageKey(name, store: store, coding: .natural)
  }

  /// Keeps an optional real number in user defaults, under a name.
  public static func appStorage(_ name: String, store: UserDefaults? = nil) -> Self
  where Self == AppStorageKey<Double?> {
    AppStorageKey(name, store: store, coding: AppStorageCoding<Double>.natural.optional())
  }

  /// Keeps a string in user defaults, under a name.
  public static func appStorage(_ name: String, store: UserDefaults? = nil) -> Self
  where Self == AppStorageKey<String> {
    AppStorageKey(name, store: store, coding: .natural)
  }

  /// Keeps an optional string in user defaults, under a name.
  public static func appStorage(_ name: String, store: UserDefaults? = nil) -> Self
  where Self == AppStorageKey<String?> {
    AppStorageKey(name, store: store, coding: AppStorageCoding<String>.natural.optional())
  }

  /// Keeps strings in user defaults, under a name.
  public static func appStorage(_ name: String, store: UserDefaults? = nil) -> Self
  where Self == AppStorageKey<[String]> {
    AppStorageKey(name, store: store, coding: .natural)
  }

  /// Keeps optional strings in user defaults, under a name.
  public static func appStorage(_ name: String, store: UserDefaults? = nil) -> Self
  where Self == AppStorageKey<[String]?> {
    AppStorageKey(name, store: store, coding: AppStorageCoding<[String]>.natural.optional())
  }

  /// Keeps a URL in user defaults, under a name.
  public static func appStorage(
    _ name: String,
    store: UserDefaults? = nil
  ) -> Self where Self == AppStorageKey<URL> {
    AppStorageKey(name, store: store, coding: .natural)
  }

  /// Keeps an optional URL in user defaults, under a name.
  public static func appStorage(
    _ name: String,
    store: UserDefaults? = nil
  ) -> Self where Self == AppStorageKey<URL?> {
    AppStorageKey(name, store: store, coding: AppStorageCoding<URL>.natural.optional())
  }

  /// Keeps data in user defaults, under a name.
  public static func appStorage(
    _ name: String,
    store: UserDefaults? = nil
  ) -> Self where Self == AppStorageKey<Data> {
    AppStorageKey(name, store: store, coding: .natural)
  }

  /// Keeps optional data in user defaults, under a name.
  public static func appStorage(
    _ name: String,
    store: UserDefaults? = nil
  ) -> Self where Self == AppStorageKey<Data?> {
    AppStorageKey(name, store: store, coding: AppStorageCoding<Data>.natural.optional())
  }

  /// Keeps a date in user defaults, under a name.
  public static func appStorage(
    _ name: String,
    store: UserDefaults? = nil
  ) -> Self where Self == AppStorageKey<Date> {
    AppStorageKey(name, store: store, coding: .natural)
  }

  /// Keeps an optional date in user defaults, under a name.
  public static func appStorage(
    _ name: String,
    store: UserDefaults? = nil
  ) -> Self where Self == AppStorageKey<Date?> {
    AppStorageKey(name, store: store, coding: AppStorageCoding<Date>.natural.optional())
  }

  /// Keeps a value in user defaults by its raw value, an integer, under a name.
  public static func appStorage<Value: RawRepresentable>(
    _ name: String,
    store: UserDefaults? = nil
  ) -> Self where Value.RawValue == Int, Self == AppStorageKey<Value> {
    AppStorageKey(name, store: store, coding: .rawValue(of: .natural))
  }

  /// Keeps an optional value in user defaults by its raw value, an integer, under a name.
  public static func appStorage<Value: RawRepresentable>(
    _ name: String,
    store: UserDefaults? = nil
  ) -> Self where Value.RawValue == Int, Self == AppStorageKey<Value?> {
    AppStorageKey(name, store: store, coding: AppStorageCoding<Value>.rawValue(of: .natural).optional())
  }

  /// Keeps a value in user defaults by its raw value, a string, under a name.
  public static func appStorage<Value: RawRepresentable>(
    _ name: String,
    store: UserDefaults? = nil
  ) -> Self where Value.RawValue == String, Self == AppStorageKey<Value> {
    AppStorageKey(name, store: store, coding: .rawValue(of: .natural))
  }

  /// Keeps an optional value in user defaults by its raw value, a string, under a name.
  public static func appStorage<Value: RawRepresentable>(
    _ name: String,
    store: UserDefaults? = nil
  ) -> Self where Value.RawValue == String, Self == AppStorageKey<Value?> {
    AppStorageKey(name, store: store, coding: AppStorageCoding<Value>.rawValue(of: .natural).optional())
  }

  /// Keeps a value in user defaults as JSON data, under a name; `nil` removes the entry.
  ///
  /// - Parameters:
  ///   - name: Distinguishes this value from others in the user defaults.
  ///   - store: The user defaults; `nil` for those of the dependency `\.defaultAppStorage`.
  ///   - decoder: Reads the data. Only its settings are used, except that a subclass is used as it is.
  ///   - encoder: Makes the data, likewise.
  @_disfavoredOverload
  public static func appStorage<Value: Codable>(
    _ name: String,
    store: UserDefaults? = nil,
    decoder: JSONDecoder = JSONDecoder(),
    encoder: JSONEncoder = JSONEncoder()
  ) -> Self where Self == AppStorageKey<Value> {
    AppStorageKey(name, store: store, coding: .json(encoder, decoder))
  }

  /// Keeps a value in user defaults as data of any format, under a name; `nil` removes the entry.
  ///
  /// As with ``SharedReaderKey/fileStorage(_:decode:encode:)``, closures after a leading dot need `@Sendable in`.
  /// - Parameters:
  ///   - name: Distinguishes this value from others in the user defaults.
  ///   - store: The user defaults; `nil` for those of the dependency `\.defaultAppStorage`.
  ///   - decode: Reads the data. Called on any thread.
  ///   - encode: Makes the data. Called on any thread.
  public static func appStorage<Value>(
    _ name: String,
    store: UserDefaults? = nil,
    decode: @escaping @Sendable (Data) throws -> Value,
    encode: @escaping @Sendable (Value) throws -> Data
  ) -> Self where Self == AppStorageKey<Value> {
    AppStorageKey(name, store: store, coding: .data(decode: decode, encode: encode))
  }
}
