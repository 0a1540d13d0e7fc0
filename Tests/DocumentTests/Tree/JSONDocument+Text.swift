import Foundation
@testable import SharedState

extension JSONDocument {
  /// Reads the document in a string.
  init(_ text: String) throws(JSONParsingError) {
    try self.init(parsing: Data(text.utf8))
  }

  var string: String { String(decoding: bytes, as: UTF8.self) }
}

extension ThreeWayMerge {
  static func merge(base: String, mine: String, theirs: String) throws -> String {
    let outcome = try merge(base: Data(base.utf8), mine: Data(mine.utf8), theirs: Data(theirs.utf8))
    return String(decoding: outcome.document, as: UTF8.self)
  }
}
