package import Foundation

/// The announcement of one change on a value's channel.
///
/// The payload is a header line `1 <revision> <parent> <kind> <writer>` followed by the ``Lineage``, and then the JSON
/// document. The leading `1` is the version of the format.
package struct ChangeMessage: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    case document(Data)
    /// The document is too large for the message and has to be read.
    case reference
    case deleted
  }

  package var revision: Revision
  package var parent: Revision
  package var writer: String
  package var lineage: Lineage
  package var content: Content

  /// - Parameter lineage: `nil` if the writer knows no lines.
  package init(revision: Revision, parent: Revision, writer: String, lineage: Lineage? = nil, content: Content) {
    self.revision = revision
    self.parent = parent
    self.writer = writer
    self.lineage = lineage ?? Lineage(unknownAt: revision)
    self.content = content
  }

  /// Identifies the announced version.
  package var version: Version { Version(line: lineage.own?.id, revision: revision) }

  /// Reads a payload; `nil` for an unknown version or a malformed header. Such messages are counted and ignored.
  package init?(payload: Data) {
    let header:
      (revision: Revision, parent: Revision, kind: UInt8, signature: (writer: String, Lineage), length: Int)? =
        payload.withUnsafeBytes { bytes in
          var scanner = ByteScanner(bytes)
          guard
            scanner.skip("1"), scanner.skip(" "),
            let revision = scanner.revision(), scanner.skip(" "),
            let parent = scanner.number().map(Revision.init), revision.mayFollow(parent), scanner.skip(" "),
            let kind = scanner.byte(), scanner.skip(" "),
            let lineEnd = scanner.rest.firstIndex(of: UInt8(ascii: "\n")), lineEnd > scanner.rest.startIndex
          else { return nil }
          let signature = Lineage.split(scanner.rest[..<lineEnd], revision: revision)
          return (revision, parent, kind, signature, lineEnd + 1)
        }
    guard let header else { return nil }
    let content: Content
    switch header.kind {
    case UInt8(ascii: "s"): content = .document(payload.dropFirst(header.length))
    case UInt8(ascii: "r"): content = .reference
    case UInt8(ascii: "d"): content = .deleted
    default: return nil
    }
    self.init(
      revision: header.revision,
      parent: header.parent,
      writer: header.signature.writer,
      lineage: header.signature.1,
      content: content
    )
  }

  /// The header line, with its line feed.
  package var header: String {
    let kind =
      switch content {
      case .document: "s"
      case .reference: "r"
      case .deleted: "d"
      }
    return "1 \(revision) \(parent) \(kind) \(writer)\(lineage.text)\n"
  }

  package var payload: Data {
    var payload = Data(header.utf8)
    if case .document(let document) = content { payload.append(document) }
    return payload
  }
}
