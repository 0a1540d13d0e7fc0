import Foundation
import SharedStateDependencies
import Testing

@testable import SharedState

/// Custom encodings in app storage.
@Suite("Encodings of app storage", .timeLimit(.minutes(5)))
struct AppStorageEncodingTests {
  struct Event: Codable, Equatable, Sendable {
    var date: Date
    var place = "here"
  }

  struct Unwanted: Error {}

  @Dependency(\.defaultAppStorage) var defaults

  private static var decoder: JSONDecoder {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .secondsSince1970
    return decoder
  }

  private static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .secondsSince1970
    return encoder
  }

  @Test("The settings of a decoder and an encoder apply")
  func coders() {
    defaults.set(Data(#"{"date":1}"#.utf8), forKey: "event")
    @Shared(.appStorage("event", decoder: Self.decoder, encoder: Self.encoder))
    var event = Event(date: .distantPast, place: "there")
    #expect(event == Event(date: Date(timeIntervalSince1970: 1), place: "there"))
    $event.withLock { $0.date = Date(timeIntervalSince1970: 2) }
    #expect(defaults.data(forKey: "event") == Data(#"{"date":2,"place":"there"}"#.utf8))
  }

  @Test("A property-list value is stored as JSON if an encoder is given")
  func natural() {
    @Shared(.appStorage("count", encoder: Self.encoder)) var count = 1
    @Shared(.appStorage("name", decoder: Self.decoder)) var name: String?
    #expect(defaults.data(forKey: "count") == Data("1".utf8))
    #expect(defaults.object(forKey: "name") == nil)
    $name.withLock { $0 = "Blob" }
    #expect(defaults.data(forKey: "name") == Data(#""Blob""#.utf8))
  }

  @Test("Closures encode and decode the data")
  func closures() async throws {
    let key = AppStorageKey<[Int]>.appStorage(
      "numbers",
      decode: { data in try data.map { byte in try Self.number(byte) } },
      encode: { numbers in Data(try numbers.map { try Self.byte($0) }) }
    )
    @Shared(key) var numbers = [1, 2]
    #expect(defaults.data(forKey: "numbers") == Data([1, 2]))
    $numbers.withLock { $0.append(3) }
    #expect(defaults.data(forKey: "numbers") == Data([1, 2, 3]))
    defaults.set(Data([7]), forKey: "numbers")
    #expect(numbers == [7])
    // A custom error is treated like any other: the stored data stay, and so does the value.
    defaults.set(Data([0]), forKey: "numbers")
    #expect(numbers == [7])
    #expect($numbers.loadError is AppStorageError)
    $numbers.withLock { $0 = [8] }
    #expect(defaults.data(forKey: "numbers") == Data([0]))
    try await $numbers.save(replacingUnreadable: true)
    $numbers.withLock { $0 = [0] }
    #expect($numbers.saveError is Unwanted)
    #expect(defaults.data(forKey: "numbers") == Data([8]))
  }

  @Test("Closures are not called for nil, which stores nothing")
  func optional() {
    @Shared(
      .appStorage(
        "text",
        decode: { @Sendable in String(decoding: $0, as: UTF8.self) as String? },
        encode: { @Sendable in Data(try #require($0).utf8) }
      )
    ) var text: String?
    #expect(defaults.object(forKey: "text") == nil)
    $text.withLock { $0 = "a" }
    #expect(defaults.data(forKey: "text") == Data("a".utf8))
    $text.withLock { $0 = nil }
    #expect(defaults.object(forKey: "text") == nil)
    #expect($text.saveError == nil)
  }

  private static func number(_ byte: UInt8) throws -> Int {
    guard byte > 0 else { throw Unwanted() }
    return Int(byte)
  }

  private static func byte(_ number: Int) throws -> UInt8 {
    guard number > 0 else { throw Unwanted() }
    return UInt8(number)
  }
}
