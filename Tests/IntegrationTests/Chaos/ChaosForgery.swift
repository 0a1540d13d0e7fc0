import Foundation
import SharedStateRedis
import SharedStateTesting

/// What tells a forgery from everything that a service, or an edit of a test, makes.
enum ChaosForgery {
  /// No service counts so far.
  private static let least = 1_000_000_000

  /// What a forgery has for a number.
  static func mark(_ number: Int) -> Int { least + number }

  /// Whether a value that is stored, or a part of it, is a forger's.
  static func isForged(value: Data) -> Bool {
    if String(decoding: value, as: UTF8.self).contains("forged") { return true }
    return History.Document(json: value)?.fields.values.contains(where: isMark) ?? false
  }

  /// Whether what stands beside a value is a forger's. Nobody deletes anything.
  static func isForged(meta: Data) -> Bool {
    let text = String(decoding: meta, as: UTF8.self)
    return text.contains("forger") || Meta(text)?.kind == .deleted
  }

  /// What a box shows, without what it may show of a forgery for a moment: a mark, or the default in place of what was
  /// called deleted.
  static func claims(of shown: History.Document) -> History.Document {
    History.Document(shown.fields.filter { $0.value != "0" && !isMark($0.value) })
  }

  private static func isMark(_ text: String) -> Bool { Int(text).map { $0 >= least } ?? false }
}
