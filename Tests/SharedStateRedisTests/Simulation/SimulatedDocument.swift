import Foundation
@testable import SharedStateRedis

/// What the simulated services write: every mutation writes another number, some of them as large documents.
enum SimulatedDocument {
  /// What is longer counts as large.
  static let inlineLimit = 8

  static func encode(_ value: Int) -> Data {
    Data((value.isMultiple(of: 5) ? "\(value)           " : "\(value)").utf8)
  }

  /// `nil` for what does not decode.
  static func decode(_ document: Data) -> Int? {
    Int(String(decoding: document, as: UTF8.self).trimmingCharacters(in: .whitespaces))
  }

  /// Every now and then a value does not fit.
  static let coder = DocumentCoder<Int>(
    encode: { value in
      value.isMultiple(of: 11) && value > 0
        ? .failure(.valueTooLarge(name: "", bytes: 2, maximumBytes: 1)) : .success(encode(value))
    },
    decode: { document in
      decode(document).map { .success($0) } ?? .failure(.decodingFailed(name: "", reason: "simulated"))
    }
  )

  static let unreadable = Data("?".utf8)
}
