import Configuration
import Foundation
import SharedState
import SharedStateRedis

/// A document and its snapshot.
struct MappedDocument: Sendable {
  let snapshot: JSONSnapshot
  /// `nil`: nothing is stored.
  fileprivate let json: JSONDocument?

  var isStored: Bool { json != nil }

  /// Whether two documents differ at most in spaces, in the order of their members, or in how they write a value.
  func hasSameValues(as other: Self) -> Bool {
    switch (json, other.json) {
    case (let json?, let other?): json.hasSameValue(as: other)
    case (nil, nil): true
    case (nil, _?), (_?, nil): false
    }
  }
}

/// Makes snapshots of the documents of one name.
struct DocumentMapping: Sendable {
  let name: String
  let options: JSONSnapshot.ParsingOptions

  var providerName: String { "SharedStateProvider[\(name)]" }

  /// - Parameter document: `nil`: nothing is stored.
  /// - Throws: `RedisSharedStateError.Code.undecodable`.
  func map(_ document: Data?) throws(RedisSharedStateError) -> MappedDocument {
    do {
      let json = try document.map { try JSONDocument(parsing: $0) }
      return MappedDocument(snapshot: try snapshot(of: document ?? Data("{}".utf8)), json: json)
    } catch {
      throw .undecodable(name: name, reason: reason(of: error), writer: nil)
    }
  }

  private func snapshot(of document: Data) throws -> JSONSnapshot {
    try JSONSnapshot(data: document.bytes, providerName: providerName, parsingOptions: options)
  }

  private func reason(of error: any Error) -> String {
    if let error = error as? JSONParsingError { return DecodingFailure(error).description }
    // The errors of JSONSnapshot contain names and types. Those of Foundation may quote the document.
    let isOfSnapshot = String(reflecting: type(of: error)).hasPrefix("Configuration.")
    return isOfSnapshot ? "\(error)" : "\(type(of: error))"
  }
}
