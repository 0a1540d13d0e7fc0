/// The description of a stored value: one short string beside it in Redis.
///
/// The string is `<revision> <parent> <kind> <expiry> <writer>`, followed by the ``Lineage``.
struct Meta: Hashable, Sendable {
  enum Kind: Character, Sendable {
    case set = "s"
    /// A tombstone: the value was deleted, and nothing older may come back.
    case deleted = "d"
  }

  var revision: Revision
  /// The revision that this one was made from.
  var parent: Revision
  var kind: Kind
  /// When the value expires, in milliseconds since 1970; 0 if it never does.
  var expiry: UInt64
  /// The writer. For an external edit, ``foreignMark`` followed by the writer that adopted it.
  var writer: String
  /// The earlier versions that it includes.
  var lineage: Lineage

  /// Prefixes the writer of a value that was written or deleted by a client that knows no revisions. A label contains
  /// no slash, so no service can have such a name.
  static let foreignMark = "foreign/"

  /// Whether it describes an external edit.
  var isForeign: Bool { writer.hasPrefix(Self.foreignMark) }

  /// Whether a writer has made this version, or has adopted it.
  func isMade(by writer: String) -> Bool {
    self.writer == writer
      || isForeign && self.writer.utf8.dropFirst(Self.foreignMark.utf8.count).elementsEqual(writer.utf8)
  }

  /// - Parameter lineage: `nil` if the writer knows no lines.
  init(
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

  /// Identifies this version of the value.
  var version: Version { Version(line: lineage.own?.id, revision: revision) }

  /// Reads the string; `nil` if it does not begin with a revision. The value then counts as unversioned.
  init?(_ string: String) {
    var string = string
    guard let meta = string.withUTF8({ Meta(bytes: UnsafeRawBufferPointer($0)) }) else { return nil }
    self = meta
  }

  /// Reads the string's bytes.
  init?(bytes: UnsafeRawBufferPointer) {
    if let complete = Meta(complete: bytes) {
      self = complete
      return
    }
    var scanner = ByteScanner(bytes)
    guard let revision = scanner.revision(), scanner.skip(" ") else { return nil }
    self.init(revision: revision, parent: .none, kind: .set, writer: "?")
  }

  /// Reads the string's bytes; `nil` if any part of it is malformed.
  init?(complete bytes: UnsafeRawBufferPointer) {
    var scanner = ByteScanner(bytes)
    guard
      let revision = scanner.revision(), scanner.skip(" "),
      let parent = scanner.number(), scanner.skip(" "),
      let kind = scanner.byte().flatMap({ Kind(rawValue: Character(Unicode.Scalar($0))) }), scanner.skip(" "),
      let expiry = scanner.number(), expiry <= Int64.max, scanner.skip(" "),
      !scanner.rest.isEmpty
    else { return nil }
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

  var string: String {
    "\(revision) \(parent) \(kind.rawValue) \(expiry) \(writer)\(lineage.text)"
  }
}
