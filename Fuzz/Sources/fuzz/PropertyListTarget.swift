import Foundation

@testable import SharedState

/// Checks that user defaults survive a round trip through their file, and that each type reads only values that it
/// writes.
///
/// An input is a list of instructions that make one property list, each a byte with its operands.
enum PropertyListTarget {
  static func run(_ data: Data) {
    var reader = Reader(bytes: Array(data)[...])
    let object = reader.object(depth: 0)
    let value = PropertyListValue(object)
    _ = value.kind
    for format in [PropertyListSerialization.PropertyListFormat.binary, .xml] {
      // XML does not preserve every number and text, so it is only used for plain objects.
      guard format == .binary || reader.isPlain else { continue }
      let text = attempt("is not written") {
        try PropertyListSerialization.data(fromPropertyList: object, format: format, options: 0)
      }
      let again = attempt("is not read again") {
        try PropertyListSerialization.propertyList(from: text, options: [], format: nil)
      }
      check(PropertyListValue(again) == value, "\(PropertyListValue(again)) was \(value), in \(format.rawValue)")
    }
    checkNumber(value)
    checkRoundTrip(value, AppStorageCoding<Bool>.natural) { $0 }
    checkRoundTrip(value, AppStorageCoding<Int>.natural) { $0 }
    checkRoundTrip(value, AppStorageCoding<Double>.natural) { $0 }
    checkRoundTrip(value, AppStorageCoding<String>.natural) { $0 }
    checkRoundTrip(value, AppStorageCoding<[String]>.natural) { $0 }
    checkRoundTrip(value, AppStorageCoding<Data>.natural) { $0 }
    checkRoundTrip(value, AppStorageCoding<Date>.natural) { $0 }
    checkRoundTrip(value, AppStorageCoding<[String: Int]>.json(JSONEncoder(), JSONDecoder())) { $0 }
    // Foundation makes a URL of text that is none, and a different one the next time. "$null" is its own name for
    // nothing.
    guard case .string(let text) = value, reader.isPlain, text != "$null" else { return }
    checkRoundTrip(value, AppStorageCoding<URL>.natural) { $0.absoluteURL }
  }

  /// Checks numbers in property lists of other programs, which represent booleans and integers in other ways.
  private static func checkNumber(_ stored: PropertyListValue) {
    guard case .integer(let number) = stored else { return }
    let (bool, int, double) = attempt("is not read") {
      (
        try AppStorageCoding<Bool>.natural.decode(stored), try AppStorageCoding<Int>.natural.decode(stored),
        try AppStorageCoding<Double>.natural.decode(stored)
      )
    }
    check(bool == (number == 0 ? false : number == 1 ? true : nil), "\(number) is \(String(describing: bool))")
    check(int == number && double == Double(number), "another number")
  }

  /// - Parameter meaning: The part of a value that must survive the round trip.
  private static func checkRoundTrip<Value>(
    _ stored: PropertyListValue,
    _ coding: AppStorageCoding<Value>,
    _ meaning: (Value) -> some Equatable
  ) {
    guard let value = (try? coding.decode(stored)) ?? nil else { return }
    let object = attempt("is not written") { try coding.encode(value) }
    guard let object else { fatalError("nothing is written for \(value)") }
    let again = attempt("is not read") { try coding.decode(PropertyListValue(object)) }
    check(again.map(meaning) == meaning(value), "\(String(describing: again)) was \(value)")
  }

  private struct Reader {
    var bytes: ArraySlice<UInt8>
    /// Whether XML preserves all numbers and texts of the object.
    var isPlain = true

    mutating func object(depth: Int) -> Any {
      let kind = bytes.popFirst() ?? 0
      switch kind % 8 {
      case 0: return NSNumber(value: number(1) != 0)
      case 1: return NSNumber(value: Int(truncatingIfNeeded: number(8)))
      case 2:
        let double = Double(bitPattern: number(8))
        // Two NaNs are not equal.
        guard double.isFinite else { return NSNumber(value: 0.5) }
        isPlain = false
        return NSNumber(value: double)
      case 3: return text()
      case 4: return Date(timeIntervalSinceReferenceDate: Double(Int32(truncatingIfNeeded: number(4))))
      case 5: return take(Int(number(1)))
      case 6: return depth < 8 ? (0..<number(1) % 8).map { _ in object(depth: depth + 1) } : []
      default:
        guard depth < 8 else { return [String: Any]() }
        let pairs = (0..<number(1) % 8).map { _ in (text(), object(depth: depth + 1)) }
        return Dictionary(pairs) { _, last in last }
      }
    }

    private mutating func number(_ count: Int) -> UInt64 {
      (0..<count).reduce(0) { number, _ in number << 8 | UInt64(bytes.popFirst() ?? 0) }
    }

    private mutating func take(_ count: Int) -> Data {
      defer { bytes = bytes.dropFirst(count) }
      return Data(bytes.prefix(count))
    }

    private mutating func text() -> String {
      let text = String(decoding: take(Int(number(1))), as: UTF8.self)
      if !text.unicodeScalars.allSatisfy({ (0x20...0x7E).contains($0.value) }) { isPlain = false }
      return text
    }
  }
}
