import Foundation

extension RedisConfiguration {
  /// A parameter of a Redis URL. Most of them may also be a variable of the environment, or a key of
  /// swift-configuration.
  package struct Parameter: Sendable {
    /// Its name in a URL, for example `request-timeout`.
    package let name: String
    /// The option that it sets; `nil`: it is a part of the address, or a name.
    let option: Option?

    /// An option of a configuration, as text.
    struct Option: Sendable {
      /// The texts that are accepted, for an error.
      let expected: String
      /// Sets the option, and returns whether the text was accepted.
      let set: @Sendable (_ text: String, _ configuration: inout RedisConfiguration) -> Bool
    }

    private init(_ name: String, _ option: Option? = nil) {
      (self.name, self.option) = (name, option)
    }

    private static func duration(
      _ name: String,
      _ property: any WritableKeyPath<RedisConfiguration, Duration> & Sendable
    ) -> Self {
      let option = Option(expected: "a whole number above 0 with a unit, such as 500ms, 5s or 2m") { text, target in
        guard let duration = Duration(parameter: text) else { return false }
        target[keyPath: property] = duration
        return true
      }
      return Self(name, option)
    }

    /// One of several words, each of which stands for a value.
    private static func choice<Value: Sendable>(
      _ name: String,
      _ property: any WritableKeyPath<RedisConfiguration, Value> & Sendable,
      _ values: [(word: String, value: Value)]
    ) -> Self {
      let words = values.map { "'\($0.word)'" }
      let expected = words.dropLast().joined(separator: ", ") + " or " + words.suffix(1).joined()
      let option = Option(expected: expected) { text, target in
        guard let value = values.first(where: { $0.word == text })?.value else { return false }
        target[keyPath: property] = value
        return true
      }
      return Self(name, option)
    }
  }
}

extension RedisConfiguration.Parameter {
  /// All parameters that may also be a variable or a key.
  package static let all = addresses + options

  /// The parameters that set an option.
  static let options = [
    .choice("access", \.access, [("read-write", .readWrite), ("read-only", .readOnly)]),
    .choice(
      "data-loss-policy",
      \.dataLossPolicy,
      [("reseed", .reseed), ("reseed-from-snapshot", .reseedFromSnapshot), ("adopt-server", .adoptServer)]
    ),
    Self(
      "snapshot",
      Option(expected: "the absolute path of a folder") { text, target in
        guard text.utf8.first == UInt8(ascii: "/") else { return false }
        target.snapshot = .folder(URL(filePath: text, directoryHint: .isDirectory))
        return true
      }
    ),
    .duration("backoff-base", \.backoff.base),
    .duration("backoff-cap", \.backoff.cap),
    .duration("connect-timeout", \.connectTimeout),
    .duration("request-timeout", \.requestTimeout),
    .duration("operation-timeout", \.operationTimeout),
    .duration("shutdown-timeout", \.shutdownTimeout),
    .duration("keep-alive-interval", \.keepAliveInterval),
    .duration("anti-entropy-interval", \.antiEntropyInterval),
  ]

  private static let addresses = [
    "namespace", "label", "ca", "certificate", "key", "server-name", "primary", "sentinel-user", secret,
  ].map { Self($0) }

  /// The names of all parameters of a URL.
  static let names = all.map(\.name) + ["database"]

  private static let secret = "sentinel-password"

  /// Whether it is a password.
  package var isSecret: Bool { name == Self.secret }

  /// Its name in the environment, for example `REDIS_REQUEST_TIMEOUT`.
  var variable: String { "REDIS_" + name.uppercased().replacing("-", with: "_") }

  /// Its name in a configuration, for example `requestTimeout`.
  package var key: String {
    let words = name.split(separator: "-")
    return words.prefix(1).joined() + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }

  /// The parameter that a name stands for which is almost right; `nil`: the name is right, or not similar to any.
  ///
  /// An error may quote a name that is similar to one of these: no password is.
  static func nearest(to name: String) -> String? {
    let bytes = Array(name.utf8)
    guard !names.contains(name) else { return nil }
    let distances = names.filter { abs($0.utf8.count - bytes.count) <= 2 }.map { ($0, distance(bytes, Array($0.utf8))) }
    guard let (nearest, distance) = distances.min(by: { $0.1 < $1.1 }) else { return nil }
    return distance <= (nearest.utf8.count < 5 ? 1 : 2) ? nearest : nil
  }

  /// How many bytes have to be inserted, deleted or replaced to turn one name into the other.
  private static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
    var row = Array(0...other.count)
    for (line, byte) in one.enumerated() {
      var diagonal = row[0]
      row[0] = line + 1
      for (column, candidate) in other.enumerated() {
        let replaced = diagonal + (byte == candidate ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
      }
    }
    return row[other.count]
  }
}

extension RedisConfiguration {
  /// Sets the options that parameters of a URL name.
  ///
  /// - Throws: ``RedisSharedStateError/Code/invalidURL`` with the name of a parameter whose text is not accepted, without
  ///   the text.
  mutating func set(_ texts: [String: String]) throws(RedisSharedStateError) {
    for parameter in Parameter.options {
      guard let text = texts[parameter.name], let option = parameter.option else { continue }
      guard option.set(text, &self) else {
        throw .invalidURL(reason: "its '\(parameter.name)' is not \(option.expected)")
      }
    }
  }
}

extension Duration {
  /// A text such as `500ms`, `5s` or `2m`; `nil`: it is another one, or not above 0.
  fileprivate init?(parameter text: String) {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let number = Int32(digits), number > 0 else { return nil }
    switch text.dropFirst(digits.count) {
    case "ms": self = .milliseconds(number)
    case "s": self = .seconds(number)
    case "m": self = .seconds(Int64(number) * 60)
    default: return nil
    }
  }
}
