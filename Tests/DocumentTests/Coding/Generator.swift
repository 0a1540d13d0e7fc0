import Foundation
import SharedStateDependencies

/// Random values that are the same for the same seed.
struct Generator: RandomNumberGenerator {
  private var random: SplitMix64

  init(seed: Int) { random = SplitMix64(seed: UInt64(truncatingIfNeeded: seed) &* 0x9E37_79B9_7F4A_7C15) }

  mutating func next() -> UInt64 { random.next() }

  mutating func number(below limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }

  mutating func isTrue(oneIn count: Int = 2) -> Bool { number(below: count) == 0 }

  mutating func string() -> String {
    let characters: [Character] = Array("abcXYZ019_ /\\\"\n\r\t\u{8}\u{c}\0\u{1}\u{1f}\u{7f}é漢😀\u{2028}e\u{301}")
    return String(
      (0..<number(below: isTrue(oneIn: 5) ? 40 : 6)).map { _ in characters[number(below: characters.count)] }
    )
  }

  /// One of a few names, so that some repeat.
  mutating func name() -> String {
    ["a", "b", "fooBar", "foo_bar", "URLPath", "_x", "é", "veryLongNameOfAMember", "q\"/", "super", "1"]
      .randomElement(using: &self) ?? "a"
  }

  mutating func double() -> Double {
    switch number(below: 6) {
    case 0: Double(Int.random(in: -1000...1000, using: &self))
    case 1: Double.random(in: -1...1, using: &self)
    case 2: Double(bitPattern: next())
    case 3:
      [0, -0.0, 1e15, 1e16, 1e17, .leastNonzeroMagnitude, .greatestFiniteMagnitude]
        .randomElement(using: &self) ?? 0
    case 4: isTrue(oneIn: 10) ? [.infinity, -.infinity, .nan].randomElement(using: &self) ?? 0 : 0.1
    default: Double(Int64(truncatingIfNeeded: next()))
    }
  }
}

/// The settings of coders.
struct Settings: CustomStringConvertible {
  let seed: Int
  let encoder = JSONEncoder()
  let decoder = JSONDecoder()

  var description: String { "settings \(seed)" }

  struct Failure: Error {}

  init(seed: Int) {
    self.seed = seed
    var generator = Generator(seed: seed)
    if generator.isTrue(oneIn: 3) {
      encoder.nonConformingFloatEncodingStrategy =
        .convertToString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
      decoder.nonConformingFloatDecodingStrategy =
        .convertFromString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    }
    if generator.isTrue(oneIn: 3), let key = CodingUserInfoKey(rawValue: "setting") {
      (encoder.userInfo[key], decoder.userInfo[key]) = (seed, seed)
    }
    chooseDates(&generator)
    chooseKeys(&generator)
    encoder.outputFormatting = .sortedKeys
    if generator.isTrue(oneIn: 3) { encoder.outputFormatting.insert(.prettyPrinted) }
    if generator.isTrue() { encoder.outputFormatting.insert(.withoutEscapingSlashes) }
  }

  private func chooseDates(_ generator: inout Generator) {
    switch generator.number(below: 7) {
    case 0: (encoder.dateEncodingStrategy, decoder.dateDecodingStrategy) = (.iso8601, .iso8601)
    case 1: (encoder.dateEncodingStrategy, decoder.dateDecodingStrategy) = (.secondsSince1970, .secondsSince1970)
    case 2:
      (encoder.dateEncodingStrategy, decoder.dateDecodingStrategy) = (.millisecondsSince1970, .millisecondsSince1970)
    case 3:
      encoder.dateEncodingStrategy = .custom { date, encoder in
        var container = encoder.container(keyedBy: Name.self)
        try container.encode(date.timeIntervalSince1970, forKey: Name("seconds"))
      }
      decoder.dateDecodingStrategy = .custom { decoder in
        let container = try decoder.container(keyedBy: Name.self)
        return Date(timeIntervalSince1970: try container.decode(Double.self, forKey: Name("seconds")))
      }
    case 4:
      encoder.dateEncodingStrategy = .custom { _, _ in }
      decoder.dateDecodingStrategy = .custom { _ in throw Failure() }
    case 5:
      let formatter = DateFormatter()
      formatter.dateFormat = "yyyy-MM-dd HH:mm:ss"
      formatter.timeZone = TimeZone(secondsFromGMT: 0)
      (encoder.dateEncodingStrategy, decoder.dateDecodingStrategy) = (.formatted(formatter), .formatted(formatter))
    default: break
    }
    switch generator.number(below: 4) {
    case 0: (encoder.dataEncodingStrategy, decoder.dataDecodingStrategy) = (.deferredToData, .deferredToData)
    case 1:
      encoder.dataEncodingStrategy = .custom { data, encoder in
        var container = encoder.singleValueContainer()
        try container.encode(data.count)
      }
      decoder.dataDecodingStrategy = .custom {
        Data(count: try $0.singleValueContainer().decode(UInt8.self) == 0 ? 0 : 1)
      }
    default: break
    }
  }

  private func chooseKeys(_ generator: inout Generator) {
    switch generator.number(below: 4) {
    case 0:
      (encoder.keyEncodingStrategy, decoder.keyDecodingStrategy) = (.convertToSnakeCase, .convertFromSnakeCase)
    case 1:
      encoder.keyEncodingStrategy = .custom { path in Name("k>\(path.last?.stringValue ?? "")") }
      decoder.keyDecodingStrategy = .custom { path in
        Name(path.last.map { $0.stringValue.split(separator: ">").last.map(String.init) ?? "" } ?? "")
      }
    default: break
    }
  }
}

/// A key with any name.
struct Name: CodingKey, Hashable {
  let stringValue: String
  var intValue: Int? { nil }

  init(_ name: String) { stringValue = name }
  init(stringValue: String) { self.init(stringValue) }
  init?(intValue: Int) { nil }
}
