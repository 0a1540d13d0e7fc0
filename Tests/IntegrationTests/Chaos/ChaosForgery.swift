import Foundation
@testable import SharedStateRedis
import SharedStateRedisTesting

/// The marks that distinguish a forgery from every value that a service or an edit of the test writes.
enum ChaosForgery {
  /// No service counts this far.
  private static let least = 1_000_000_000

  /// Returns the number that a forgery contains.
  static func mark(_ number: Int) -> Int { least + number }

  /// Whether a stored value contains anything forged.
  static func isForged(value: Data) -> Bool {
    if String(decoding: value, as: UTF8.self).contains("forged") { return true }
    return RedisHistory.Document(json: value)?.fields.values.contains(where: isMark) ?? false
  }

  /// Whether the metadata of a value is forged. Only the forger announces deletions.
  static func isForged(meta: Data) -> Bool {
    let text = String(decoding: meta, as: UTF8.self)
    return text.contains("forger") || Meta(text)?.kind == .deleted
  }

  private static func isMark(_ text: String) -> Bool { Int(text).map { $0 >= least } ?? false }
}
