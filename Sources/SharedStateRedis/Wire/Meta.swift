/// What is known about the stored value: one short string beside it in Redis.
///
/// The string reads `<revision> <parent> <kind> <expiry> <writer>`, and then the ``Lineage``.
package struct Meta: Hashable, Sendable {
  package enum Kind: Character, Sendable {
    case set = "s"
    /// A tombstone: the value was deleted, and nothing older may come back.
    case deleted = "d"
  }

  package var revision: Revision
  /// The revision that this one was made from.
  package var parent: Revision
  package var kind: Kind
  /// When the value expires, in milliseconds since 1970; 0: never.
  package var expiry: UInt64
  /// Who wrote it; for a foreign edit ``foreignMark`` and who gave it a revision.
  package var writer: String
  /// What it includes of what was there before.
  package var lineage: Lineage

  /// Begins the writer of a value that was written, or deleted, by something that does not know revisions. A label
  /// has no slash, so no service is called that.
  package static let foreignMark = "foreign/"

  /// - Parameter lineage: `nil`: whoever wrote it knows no lines.
  package init(
    revision: Revision,
    parent: Revision,
    kind: Kind,
    expiry: UInt64 = 0,
    writer: String,
    lineage: Lineage? = nil
  ) {
    self.revision = revision
    self.parent = parent
    self.kind = kind
    self.expiry = expiry
    self.writer = writer
    self.lineage = lineage ?? Lineage(unknownAt: revision)
  }

  /// What it is told by from every other version.
  package var version: Version { Version(line: lineage.own?.id, revision: revision) }

  /// Reads the string; `nil` when it does not begin with a revision: the value then counts as unversioned.
  package init?(_ string: String) {
    var string = string
    guard let meta = string.withUTF8({ Meta(bytes: UnsafeRawBufferPointer($0)) }) else { return nil }
    self = meta
  }

  /// Reads the string's bytes.
  package init?(bytes: UnsafeRawBufferPointer) {
    var scanner = ByteScanner(bytes)
    guard let revision = scanner.revision(), scanner.skip(" ") else { return nil }
    guard
      let parent = scanner.number(), scanner.skip(" "),
      let kind = scanner.byte().flatMap({ Kind(rawValue: Character(Unicode.Scalar($0))) }), scanner.skip(" "),
      let expiry = scanner.number(), expiry <= Int64.max, scanner.skip(" "),
      !scanner.rest.isEmpty
    else {
      self.init(revision: revision, parent: .none, kind: .set, writer: "?")
      return
    }
    let (writer, lineage) = Lineage.split(scanner.rest, revision: revision)
    self.init(
      revision: revision,
      parent: Revision(parent),
      kind: kind,
      expiry: expiry,
      writer: writer,
      lineage: lineage
    )
  }

  package var string: String {
    "\(revision) \(parent) \(kind.rawValue) \(expiry) \(writer)\(lineage.text)"
  }
}
