import Foundation

/// Writes dates with the strategy for dates.
final class DateEncoding: ValueEncoding<Date>, @unchecked Sendable {
  override func write(_ date: Date, key: (any CodingKey)?, to writer: DocumentWriter) throws {
    switch writer.options.dates {
    case .secondsSince1970: try date.timeIntervalSince1970.write(key: key, to: writer)
    case .millisecondsSince1970: try (1000 * date.timeIntervalSince1970).write(key: key, to: writer)
    case .iso8601: date.formatted(.iso8601).write(key: key, to: writer)
    case .custom(let encode): try writer.write(key: key) { try encode(date, $0) }
    case .deferredToDate: try writer.write(key: key) { try date.encode(to: $0) }
    @unknown default: try writer.write(key: key) { try date.encode(to: $0) }
    }
  }
}

/// Writes data with the strategy for data.
final class DataEncoding: ValueEncoding<Data>, @unchecked Sendable {
  override func write(_ data: Data, key: (any CodingKey)?, to writer: DocumentWriter) throws {
    switch writer.options.data {
    case .base64: data.base64EncodedString().write(key: key, to: writer)
    case .custom(let encode): try writer.write(key: key) { try encode(data, $0) }
    case .deferredToData: try writer.write(key: key) { try data.encode(to: $0) }
    @unknown default: try writer.write(key: key) { try data.encode(to: $0) }
    }
  }
}

/// Writes URLs as strings.
final class URLEncoding: ValueEncoding<URL>, @unchecked Sendable {
  override func write(_ url: URL, key: (any CodingKey)?, to writer: DocumentWriter) throws {
    url.absoluteString.write(key: key, to: writer)
  }
}

/// Writes decimal numbers as numbers.
final class DecimalEncoding: ValueEncoding<Decimal>, @unchecked Sendable {
  override func write(_ decimal: Decimal, key: (any CodingKey)?, to writer: DocumentWriter) throws {
    guard decimal.isFinite else {
      let context = EncodingError.Context(
        codingPath: writer.codingPath(to: key),
        debugDescription: "Decimal.nan is no JSON number."
      )
      throw EncodingError.invalidValue(decimal, context)
    }
    writer.text.append(text: decimal.description)
  }
}
