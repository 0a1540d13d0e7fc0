import Foundation

/// Reads dates with the strategy for dates.
final class DateDecoding: ValueDecoding<Date>, @unchecked Sendable {
  override func read(at place: ReadingPlace, from reader: DocumentReader) throws -> Date {
    guard reader.kind(place.node) != .null else { throw reader.mismatch(Date.self, at: place.node) }
    switch reader.options.dates {
    case .secondsSince1970: return Date(timeIntervalSince1970: try reader.float(Double.self, at: place.node))
    case .millisecondsSince1970:
      return Date(timeIntervalSince1970: try reader.float(Double.self, at: place.node) / 1000)
    case .iso8601:
      let string = try reader.string(at: place.node)
      guard let date = try? Date.ISO8601FormatStyle().parse(string) else {
        throw reader.corrupted(
          "Expected date string to be ISO8601-formatted.",
          expected: "an ISO 8601 date",
          at: place.node
        )
      }
      return date
    case .custom(let decode): return try reader.call(at: place) { try decode($0) }
    case .deferredToDate: return try reader.call(at: place) { try Date(from: $0) }
    @unknown default: return try reader.call(at: place) { try Date(from: $0) }
    }
  }
}

/// Reads data with the strategy for data.
final class DataDecoding: ValueDecoding<Data>, @unchecked Sendable {
  override func read(at place: ReadingPlace, from reader: DocumentReader) throws -> Data {
    guard reader.kind(place.node) != .null else { throw reader.mismatch(Data.self, at: place.node) }
    switch reader.options.data {
    case .base64:
      guard let data = Data(base64Encoded: try reader.string(at: place.node)) else {
        throw reader.corrupted("Encountered Data is not valid Base64.", expected: "Base64", at: place.node)
      }
      return data
    case .custom(let decode): return try reader.call(at: place) { try decode($0) }
    case .deferredToData: return try reader.call(at: place) { try Data(from: $0) }
    @unknown default: return try reader.call(at: place) { try Data(from: $0) }
    }
  }
}

/// Reads URLs from strings.
final class URLDecoding: ValueDecoding<URL>, @unchecked Sendable {
  override func read(at place: ReadingPlace, from reader: DocumentReader) throws -> URL {
    guard reader.kind(place.node) != .null else { throw reader.mismatch(URL.self, at: place.node) }
    guard let url = URL(string: try reader.string(at: place.node)) else {
      throw reader.corrupted("Invalid URL string.", expected: "a URL", at: place.node)
    }
    return url
  }
}

/// Reads decimal numbers from numbers.
final class DecimalDecoding: ValueDecoding<Decimal>, @unchecked Sendable {
  override func read(at place: ReadingPlace, from reader: DocumentReader) throws -> Decimal {
    try reader.decimal(at: place.node)
  }
}
