import Foundation

/// A value that reads itself in every allowed way, and records what it finds.
struct Probe: Decodable {
  final class Log: @unchecked Sendable {
    // `@unchecked Sendable` is right because one task uses it.
    static let key = CodingUserInfoKey(rawValue: "log")
    var generator: Generator
    var lines: [String] = []

    init(seed: Int) { generator = Generator(seed: seed) }

    func attempt<Value>(_ label: String, _ body: () throws -> Value) {
      do {
        let value = try body()
        // The description of a distant date traps.
        let dates = (value as? Date).map { [$0] } ?? (value as? [Date])
        let text = dates.map { "\($0.map(\.timeIntervalSince1970))" }
        lines.append("\(label): \(text ?? (value is Probe ? "a probe" : "\(value)"))")
      } catch {
        lines.append("\(label): \(Self.describe(error))")
      }
    }

    static func describe(_ error: any Error) -> String {
      func path(_ context: DecodingError.Context) -> String {
        context.codingPath.map(\.stringValue).joined(separator: "/")
      }
      switch error {
      case DecodingError.typeMismatch(let type, let context): return "\(type) at \(path(context)) is mistyped"
      case DecodingError.valueNotFound(let type, let context): return "\(type) at \(path(context)) is null"
      case DecodingError.keyNotFound(let key, let context): return "\(key.stringValue) at \(path(context)) is missing"
      // JSONDecoder throws another error when a number does not fit.
      default: return "corrupted"
      }
    }
  }

  init(from decoder: any Decoder) throws {
    guard let key = Log.key, let log = decoder.userInfo[key] as? Log else { return }
    log.lines.append(decoder.userInfo.keys.map(\.rawValue).sorted().joined())
    let path = decoder.codingPath.map(\.stringValue).joined(separator: "/")
    for round in 0..<3 {
      let label = "\(path) \(round)"
      switch log.generator.number(below: 3) {
      case 0: log.attempt(label) { try Self.probe(try decoder.container(keyedBy: Name.self), log, label) }
      case 1: log.attempt(label) { try Self.probe(try decoder.unkeyedContainer(), log, label) }
      default: log.attempt(label) { try Self.probe(try decoder.singleValueContainer(), log, label) }
      }
    }
  }

  private static func probe(_ container: KeyedDecodingContainer<Name>, _ log: Log, _ label: String) throws {
    log.lines.append("\(container.allKeys.map(\.stringValue).sorted())")
    for _ in 0..<8 {
      let key = Name(log.generator.name())
      let label = "\(label) \(key.stringValue)"
      func both<Value: Decodable>(_ type: Value.Type) {
        log.attempt(label) { try container.decode(type, forKey: key) }
        log.attempt(label) { try container.decodeIfPresent(type, forKey: key) as Any }
      }
      switch log.generator.number(below: 36) {
      case 0: log.attempt(label) { container.contains(key) }
      case 1: log.attempt(label) { try container.decodeNil(forKey: key) }
      case 2: log.attempt(label) { try probe(container.nestedContainer(keyedBy: Name.self, forKey: key), log, label) }
      case 3: log.attempt(label) { try probe(container.nestedUnkeyedContainer(forKey: key), log, label) }
      case 4: log.attempt(label) { try Probe(from: container.superDecoder(forKey: key)) }
      case 5: log.attempt(label) { try Probe(from: container.superDecoder()) }
      case 6: both(Int.self)
      case 7: both(String.self)
      case 8: both(Double.self)
      case 9: both(Bool.self)
      case 10: both(Float.self)
      case 11: both(UInt8.self)
      case 12: both(UInt64.self)
      case 13: both(Int128.self)
      case 14: both(Decimal.self)
      case 15: both(Date.self)
      case 16: both(Data.self)
      case 17: both(URL.self)
      case 18: both([Int].self)
      case 19: log.attempt(label) { try container.decode(Set<String>.self, forKey: key).sorted() }
      // The errors of JSONDecoder depend on the order of a dictionary.
      case 20:
        log.attempt(label) { (try? container.decode([Int: Int].self, forKey: key))?.sorted { $0.key < $1.key } as Any }
      case 21: both(Int?.self)
      case 22: both([Probe].self)
      case 23:
        log.attempt(label) {
          (try? container.decode([String: Bool].self, forKey: key))?.sorted { $0.key < $1.key } as Any
        }
      case 24: both([Int8?].self)
      case 25: both(CollectionPropertyTests.Size.self)
      case 26: both(CollectionPropertyTests.Level?.self)
      case 27:
        log.attempt(label) {
          (try? container.decode([CollectionPropertyTests.Code: Int].self, forKey: key))?
            .sorted { $0.key.rawValue < $1.key.rawValue } as Any
        }
      case 28:
        log.attempt(label) {
          (try? container.decode([CollectionPropertyTests.Planet: String].self, forKey: key))?
            .sorted { $0.key.rawValue < $1.key.rawValue } as Any
        }
      case 29: log.attempt(label) { try container.decode(ContainerComparisonTests.Dog.self, forKey: key).name }
      case 30: both(Range<Int>.self)
      case 31: log.attempt(label) { try container.decode(Set<Int>.self, forKey: key).sorted() }
      default: both(Probe.self)
      }
    }
  }

  private static func probe(_ container: any UnkeyedDecodingContainer, _ log: Log, _ label: String) throws {
    var container = container
    for _ in 0..<6 {
      if container.isAtEnd {
        log.attempt(label) { try container.decode(Int.self) }
        return
      }
      let label = "\(label) \(container.currentIndex) of \(container.count ?? -1) \(container.isAtEnd)"
      switch log.generator.number(below: 14) {
      case 0: log.attempt(label) { try container.decodeNil() }
      case 1: log.attempt(label) { try probe(container.nestedContainer(keyedBy: Name.self), log, label) }
      case 2: log.attempt(label) { try probe(container.nestedUnkeyedContainer(), log, label) }
      case 3: log.attempt(label) { try Probe(from: container.superDecoder()) }
      case 4: log.attempt(label) { try container.decode(Int.self) }
      case 5: log.attempt(label) { try container.decode(String.self) }
      case 6: log.attempt(label) { try container.decode(Double.self) }
      case 7: log.attempt(label) { try container.decode(Date.self) }
      case 8: log.attempt(label) { try container.decodeIfPresent(Int.self) as Any }
      case 9: log.attempt(label) { try container.decode([String?].self) }
      case 10: log.attempt(label) { try container.decode(Decimal.self) }
      default: log.attempt(label) { try container.decode(Probe.self) }
      }
    }
  }

  private static func probe(_ container: any SingleValueDecodingContainer, _ log: Log, _ label: String) throws {
    log.attempt(label) { container.decodeNil() }
    log.attempt(label) { try container.decode(Int.self) }
    log.attempt(label) { try container.decode(UInt16.self) }
    log.attempt(label) { try container.decode(String.self) }
    log.attempt(label) { try container.decode(Double.self) }
    log.attempt(label) { try container.decode(Float.self) }
    log.attempt(label) { try container.decode(Bool.self) }
    log.attempt(label) { try container.decode([Date].self) }
    log.attempt(label) { try container.decode(Double?.self) as Any }
  }
}

extension Generator {
  /// The text of any JSON value.
  mutating func json(depth: Int = 4) -> String {
    switch number(below: depth == 0 ? 9 : 15) {
    case 0: return "null"
    case 1: return "true"
    case 2: return "false"
    case 3: return "\(Int(truncatingIfNeeded: next()) >> number(below: 64))"
    case 4: return "\(number(below: 300))"
    case 5: return numberText()
    case 6: return quoted(string())
    case 7:
      return ["\"1\"", "\"inf\"", "\"nan\"", "\"QUJD\"", "\"2024-05-06T07:08:09Z\"", "\"\"", "\"2024-05-06 07:08:09\""]
        .randomElement(using: &self) ?? ""
    case 8: return double().isFinite ? "0.5" : "1E2"
    case 9, 10, 11:
      let elements = (0..<number(below: 5)).map { _ in json(depth: depth - 1) }
      return "[" + elements.joined(separator: isTrue() ? "," : " ,\n") + "]"
    default:
      let members = (0..<number(below: isTrue(oneIn: 4) ? 30 : 8)).map { _ in
        quoted(name()) + (isTrue() ? ":" : " : ") + json(depth: depth - 1)
      }
      return "{" + members.joined(separator: ",") + "}"
    }
  }

  private mutating func quoted(_ string: String) -> String {
    let escaped = string.unicodeScalars.map { scalar in
      if scalar.value >= 0x20, scalar != "\"", scalar != "\\", !isTrue(oneIn: 8) { return String(scalar) }
      return scalar.utf16.map { unit in "\\u" + String(UInt32(unit) + 0x10000, radix: 16).suffix(4) }.joined()
    }
    return "\"" + escaped.joined() + "\""
  }

  /// No zero with an exponent, which JSONDecoder refuses, and no number that it rounds to an integer.
  private mutating func numberText() -> String {
    let sign = isTrue() ? "-" : ""
    if isTrue(oneIn: 3) { return sign + "\(1 + number(below: 9))" + digits(below: 24) }
    var text = sign + "\(1 + number(below: 9))" + digits(below: 6)
    if isTrue() { text += "." + digits(below: 6) + (isTrue() ? "0" : "5") }
    if isTrue() { text += (isTrue() ? "e" : "E+") + "\(number(below: 12))" }
    return text
  }

  private mutating func digits(below limit: Int) -> String {
    (0..<number(below: limit)).map { _ in "\(number(below: 10))" }.joined()
  }
}
