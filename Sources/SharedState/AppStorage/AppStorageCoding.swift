import Foundation

/// Converts values of a type to and from objects that `UserDefaults` stores.
struct AppStorageCoding<Value: Sendable>: Sendable {
  /// Reads a stored value; `nil` when it is of another type.
  let decode: @Sendable (PropertyListValue) throws -> Value?
  /// Makes the object that is stored for a value; `nil` to store nothing.
  let encode: @Sendable (Value) throws -> Any?
  /// Makes the same coding with a default that supplies missing members; `nil` when values have no members.
  var completed: (@Sendable (Value) -> Self)?
}

extension AppStorageCoding {
  /// Stores nothing for `nil`.
  func optional() -> AppStorageCoding<Value?> {
    AppStorageCoding<Value?>(decode: { try decode($0).map(Optional.some) }, encode: { try $0.flatMap(encode) })
  }

  /// Stores the raw value.
  static func rawValue(of coding: AppStorageCoding<Value.RawValue>) -> Self where Value: RawRepresentable {
    AppStorageCoding(
      decode: { try coding.decode($0).flatMap(Value.init(rawValue:)) },
      encode: { try coding.encode($0.rawValue) }
    )
  }

  /// Stores JSON, as data; for `nil`, nothing.
  static func json(
    _ encoder: JSONEncoder,
    _ decoder: JSONDecoder,
    completedBy defaultValue: Value? = nil
  ) -> Self where Value: Codable {
    let coder = ValueCoder(encoder, decoder, completedBy: defaultValue)
    var coding = data(decode: { try coder.decode($0).value }, encode: { try coder.encode($0) })
    coding.completed = { json(encoder, decoder, completedBy: $0) }
    return coding
  }

  /// Stores data; for `nil`, nothing.
  static func data(
    decode: @escaping @Sendable (Data) throws -> Value,
    encode: @escaping @Sendable (Value) throws -> Data
  ) -> Self {
    AppStorageCoding(
      decode: { try $0.data.map(decode) },
      encode: { value in
        if let optional = value as? any OptionalValue, optional.isNil { return nil }
        return try encode(value)
      }
    )
  }
}

extension AppStorageCoding<Bool> {
  static var natural: Self {
    AppStorageCoding(
      decode: { stored in
        switch stored {
        case .boolean(let value): value
        // Property lists made by other programs may hold 0 for false and 1 for true.
        case .integer(0): false
        case .integer(1): true
        default: nil
        }
      },
      encode: { $0 }
    )
  }
}

extension AppStorageCoding<Int> {
  static var natural: Self {
    AppStorageCoding(
      decode: { stored in
        switch stored {
        case .integer(let value): value
        case .real(let value): Int(exactly: value)
        default: nil
        }
      },
      encode: { $0 }
    )
  }
}

extension AppStorageCoding<Double> {
  static var natural: Self {
    AppStorageCoding(
      decode: { stored in
        switch stored {
        case .real(let value): value
        case .integer(let value): Double(value)
        default: nil
        }
      },
      encode: { $0 }
    )
  }
}

extension AppStorageCoding<String> {
  static var natural: Self {
    AppStorageCoding(
      decode: { stored in
        guard case .string(let value) = stored else { return nil }
        return value
      },
      encode: { $0 }
    )
  }
}

extension AppStorageCoding<[String]> {
  static var natural: Self {
    AppStorageCoding(
      decode: { stored in
        guard case .array(let values) = stored else { return nil }
        var strings: [String] = []
        for case .string(let value) in values { strings.append(value) }
        return strings.count == values.count ? strings : nil
      },
      encode: { $0 }
    )
  }
}

extension AppStorageCoding<Data> {
  static var natural: Self {
    AppStorageCoding(
      decode: { stored in
        guard case .data(let value) = stored else { return nil }
        return value
      },
      encode: { $0 }
    )
  }
}

extension AppStorageCoding<Date> {
  static var natural: Self {
    AppStorageCoding(
      decode: { stored in
        guard case .date(let value) = stored else { return nil }
        return value
      },
      encode: { $0 }
    )
  }
}

extension AppStorageCoding<URL> {
  static var natural: Self {
    AppStorageCoding(
      decode: { stored in
        switch stored {
        case .string(let text) where text.hasPrefix("/") || text.hasPrefix("~"):
          URL(fileURLWithPath: (text as NSString).expandingTildeInPath)
        case .string(let text): URL(string: text)
        case .data(let data): try NSKeyedUnarchiver.unarchivedObject(ofClass: NSURL.self, from: data).map { $0 as URL }
        default: nil
        }
      },
      encode: object(for:)
    )
  }

  /// An object that `UserDefaults.url(forKey:)` can read: a path for a plain file, otherwise an archive, if that keeps
  /// the URL. (`set(_:forKey:)` of a URL keeps nothing but the path on Linux.)
  static func object(for url: URL) -> Any? {
    if url.isFileURL, URL(fileURLWithPath: url.path) == url { return url.path }
    // `NSURL` takes the fragment of a URL without slashes for a part of its path. Such a URL is stored as text, which
    // is readable, too.
    if (url as NSURL).absoluteString != url.absoluteString { return url.absoluteString }
    return try? NSKeyedArchiver.archivedData(withRootObject: url as NSURL, requiringSecureCoding: true)
  }
}

/// An optional, whatever it wraps.
protocol OptionalValue {
  /// The type without the optional around it.
  static var wrappedType: Any.Type { get }

  var isNil: Bool { get }
}

extension Optional: OptionalValue {
  static var wrappedType: Any.Type { Wrapped.self }

  var isNil: Bool { if case .none = self { true } else { false } }
}
