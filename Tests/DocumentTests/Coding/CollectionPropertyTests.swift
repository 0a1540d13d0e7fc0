import Foundation
import Testing

@testable import SharedState

/// Sets and dictionaries have another order here than with a JSONEncoder, or another form. They are read as the same
/// values.
@Suite("Random sets and dictionaries", .timeLimit(.minutes(5)))
struct CollectionPropertyTests {
  enum Size: String, Codable, Hashable, CaseIterable { case small, large, extraLarge = "extra/large é", none = "" }
  enum Level: Int, Codable, Hashable, CaseIterable { case low = -1, high = 10, highest = 200 }

  /// The type itself defines the names of its keys.
  enum Planet: String, Codable, Hashable, CaseIterable, CodingKeyRepresentable { case earth, mars = "m/a", venus = "é" }

  struct Code: RawRepresentable, Codable, Hashable, CodingKeyRepresentable {
    var rawValue: Int
    var codingKey: any CodingKey { Name("c\(rawValue)") }

    init(rawValue: Int) { self.rawValue = rawValue }
    init?<Key: CodingKey>(codingKey: Key) {
      guard codingKey.stringValue.first == "c", let number = Int(codingKey.stringValue.dropFirst()) else { return nil }
      rawValue = number
    }
  }

  struct Version: RawRepresentable, Codable, Hashable {
    var rawValue: String
  }

  struct Point: Codable, Hashable { var x: Int, y: Int? }

  struct Everything: Codable, Equatable {
    var sizes: Set<Size>
    var numbers: Set<Double>
    var points: Set<Point>
    var sets: Set<Set<Int>>
    var optionals: Set<String?>
    var bySize: [Size: [Int]]
    var byLevel: [Level: Size]
    var byPlanet: [Planet: [Planet: Int]]
    var byCode: [Code: String]
    var byVersion: [Version: Version]
    var byIdentity: [UUID: Set<Level>]
    var byPoint: [Point: [String: Int]]
    var byNumber: [UInt16: [Int: Bool]]
    var byRequest: [EncoderTests.RequestID: Int]
    var byOptional: [EncoderTests.RequestID?: [Size: Int]]

    init(_ generator: inout Generator) {
      func few<Element: Hashable>(_ make: () -> Element) -> Set<Element> {
        Set((0..<generator.number(below: 4)).map { _ in make() })
      }
      func map<Key: Hashable, Value>(_ key: () -> Key, _ value: () -> Value) -> [Key: Value] {
        Dictionary(few(key).map { ($0, value()) }) { $1 }
      }
      func number() -> Int { generator.number(below: 300) - 10 }
      func size() -> Size { Size.allCases.randomElement(using: &generator) ?? .small }
      func level() -> Level { Level.allCases.randomElement(using: &generator) ?? .low }
      func planet() -> Planet { Planet.allCases.randomElement(using: &generator) ?? .earth }
      func point() -> Point { Point(x: number(), y: generator.isTrue() ? number() : nil) }
      func request() -> EncoderTests.RequestID {
        let number = number()
        return generator.isTrue() ? .number(number) : .string(generator.isTrue() ? "\(number)" : generator.string())
      }
      sizes = few(size)
      numbers = few { Double(number()) / 8 }
      points = few(point)
      sets = few { few(number) }
      optionals = few { generator.isTrue() ? generator.string() : nil }
      bySize = map(size) { [number()] }
      byLevel = map(level, size)
      byPlanet = map(planet) { map(planet, number) }
      byCode = map({ Code(rawValue: number()) }) { generator.string() }
      byVersion = map({ Version(rawValue: generator.string()) }) { Version(rawValue: generator.string()) }
      byIdentity = map({ UUID() }) { few(level) }
      byPoint = map(point) { map({ generator.name() }, number) }
      byNumber = map({ UInt16(generator.number(below: 300)) }) { map(number) { generator.isTrue() } }
      byRequest = map(request, number)
      byOptional = map({ generator.isTrue() ? request() : nil }) { map(size, number) }
    }
  }

  @Test("Collections written by our encoder or by Foundation are read as the same values", arguments: 0..<20)
  func collectionsAreReadAlike(block: Int) throws {
    for seed in (block * 10)..<((block + 1) * 10) {
      var generator = Generator(seed: seed)
      let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
      if generator.isTrue() { encoder.outputFormatting.insert(.sortedKeys) }
      if generator.isTrue(oneIn: 3) { encoder.outputFormatting.insert(.prettyPrinted) }
      if generator.isTrue(oneIn: 3) {
        (encoder.keyEncodingStrategy, decoder.keyDecodingStrategy) = (.convertToSnakeCase, .convertFromSnakeCase)
      }
      let reader = try #require(DocumentDecoder(decoder))
      let objects = try #require(DocumentEncoder(encoder, readBy: reader))
      let arrays = try #require(DocumentEncoder(encoder, usesArraysForDictionaries: true, readBy: reader))
      let value = [Everything(&generator)]
      #expect(try reader.decode([Everything].self, from: objects.encode(value)) == value, "seed \(seed)")
      #expect(try reader.decode([Everything].self, from: arrays.encode(value)) == value, "seed \(seed)")
      #expect(try reader.decode([Everything].self, from: encoder.encode(value)) == value, "seed \(seed)")
      #expect(try decoder.decode([Everything].self, from: arrays.encode(value)) == value, "seed \(seed)")
      // The text is a function of the value, and so the value that was read has the same text.
      let again = try reader.decode([Everything].self, from: encoder.encode(value))
      #expect(try objects.encode(again) == objects.encode(value), "seed \(seed)")
    }
  }
}
