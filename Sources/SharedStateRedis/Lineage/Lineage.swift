/// The earlier writes that a version of a value includes, on this server and on those that it has replaced.
///
/// A revision orders the writes on one server. Once a server has lost data, a revision does not show what a write was
/// based on: a clock that is ahead yields the larger number, not the later change. So a version names the *line* that
/// it belongs to, an unbroken history on one server, and for each earlier line the newest revision that it includes.
///
/// The lineage is stored behind the writer in ``Meta``, and is announced with it: `|1 <era>
/// <line>=<revision>[,<line>=<revision>…][,*=<revision>]`, with the version's own line first.
///
/// There is no digest of the document beside it, which would reveal an edit. Instead, a service compares the document
/// with the one that it remembers for the version. A service that remembers none takes the document as it is, like a
/// version that it has never seen. The model of the lines finds no violation without a digest, which would lengthen the
/// meta, and which a client that writes the value by hand would have to keep in step.
struct Lineage: Hashable, Sendable {
  /// An unbroken history on one server, opened by one commit and continued by every commit based on it.
  struct Line: Hashable, Sendable {
    let id: LineID
    /// The newest included revision of the line.
    var revision: Revision
  }

  /// The era of the server that it was written on; `nil` if the version was restored, so that no commit continues its
  /// line.
  private(set) var era: Era?
  /// The version's own line; `nil` if the writer knows no lines.
  private(set) var own: Line?
  /// The other lines. Most values have none, and then nothing is allocated.
  private var others: [Line] = []
  /// The newest revision presumed to be included of lines that are not named.
  private(set) var rest: Revision

  /// The largest number of lines in a lineage. Older lines are summed up in `rest`.
  static let maximumLines = 8

  /// The lineage of a version that names no lines. It includes every version with a smaller revision, and itself.
  init(unknownAt revision: Revision) {
    rest = revision
  }

  init(era: Era?, lines: [Line], rest: Revision = .none) {
    (self.era, self.rest) = (era, rest)
    own = lines.first
    others = Array(lines.dropFirst())
  }

  fileprivate init(era: Era?, own: Line?, others: [Line], rest: Revision) {
    (self.era, self.own, self.others, self.rest) = (era, own, others, rest)
  }

  /// The version's own line, then the others.
  var lines: [Line] { (own.map { [$0] } ?? []) + others }

  private func line(_ id: LineID?) -> Line? {
    own?.id == id ? own : others.first { $0.id == id }
  }

  /// The lineage of the same version after a restoration.
  var closed: Lineage {
    var closed = self
    closed.era = nil
    return closed
  }

  /// Whether a version is included, for certain or, if its line is not named, presumably.
  func covers(_ version: Version) -> Bool {
    guard let line = line(version.line) else { return version.revision <= rest }
    return line.revision >= version.revision
  }

  /// Whether a version is included for certain.
  func names(_ version: Version) -> Bool {
    line(version.line).map { $0.revision >= version.revision } ?? false
  }

  /// The newest common version of a line that both name; `nil` if they have no line in common.
  func commonVersion(with other: Lineage) -> Version? {
    let common = lines.compactMap { line in
      other.line(line.id).map { Version(line: line.id, revision: min(line.revision, $0.revision)) }
    }
    return common.max { $0.revision < $1.revision }
  }

  /// Whether a newer line was opened on this version, or has taken it in.
  func leaves(_ version: Version) -> Bool {
    others.contains { $0.id == version.line && $0.revision == version.revision }
  }

  /// The lineage of a commit that is about to be made.
  struct Draft: Hashable, Sendable {
    let era: Era
    let line: LineID
    /// The lines that it includes besides its own.
    private var others: [Line] = []
    private var rest = Revision.none

    /// Continues the parent's line if that was written in this era, and opens a new one otherwise. A new line is also
    /// opened after ``Revision/largest``, because revisions only grow within a line.
    ///
    /// - Parameter parent: The lineage of the version that the commit is based on; `nil` if there is none, so that the
    ///   commit claims to include nothing.
    init(continuing parent: Lineage?, era: Era, opening line: LineID) {
      let isContinued = parent?.era == era && parent?.own?.revision != .largest
      self.era = era
      self.line = isContinued ? parent?.own?.id ?? line : line
      if let parent { include(parent) }
    }

    /// Includes everything that another version includes.
    mutating func include(_ lineage: Lineage) {
      rest = max(rest, lineage.rest)
      if let own = lineage.own { include(own) }
      for line in lineage.others { include(line) }
      guard !others.isEmpty else { return }
      others.removeAll { $0.revision <= rest }
      guard others.count >= Lineage.maximumLines else { return }
      others.sort { $0.revision > $1.revision }
      rest = max(rest, others[Lineage.maximumLines - 1].revision)
      others.removeLast(others.count - Lineage.maximumLines + 1)
    }

    private mutating func include(_ line: Line) {
      guard line.id != self.line else { return }
      if let index = others.firstIndex(where: { $0.id == line.id }) {
        others[index].revision = max(others[index].revision, line.revision)
      } else if line.revision > rest {
        others.append(line)
      }
    }

    /// The lineage of the new version, once its revision is known.
    func made(_ revision: Revision) -> Lineage {
      Lineage(era: era, own: Line(id: line, revision: revision), others: others, rest: rest)
    }

    /// The text in front of the revision.
    var head: String { " |1 \(era)\u{20}\(line)=" }

    /// The text behind it.
    var tail: String { Lineage.text(of: others, rest) }
  }

  fileprivate static func text(of others: some Collection<Line>, _ rest: Revision) -> String {
    var text = ""
    for line in others { text += ",\(line.id)=\(line.revision)" }
    if rest != .none { text += ",*=\(rest)" }
    return text
  }
}

/// Identifies one version of a value. Revisions alone may repeat after a failover.
struct Version: Hashable, Sendable {
  /// `nil` if the writer knows no lines.
  let line: LineID?
  let revision: Revision
}

/// How the stored version is related to the verified one.
enum Kinship: Equatable, Sendable {
  case same
  /// The stored version includes the verified one.
  case descendant
  /// The verified version includes the stored one.
  case ancestor
  /// Neither includes the other: the server has lost data, and a client has written since.
  case fork

  init(of stored: Meta, to verified: Meta) {
    if stored.version == verified.version {
      self = .same
      return
    }
    switch (stored.lineage.covers(verified.version), verified.lineage.covers(stored.version)) {
    case (true, true):
      // At least one of the two is only presumed. The certain one counts, and if there is none, the stored version
      // counts.
      self = verified.lineage.names(stored.version) && !stored.lineage.names(verified.version) ? .ancestor : .descendant
    case (true, false): self = .descendant
    case (false, true): self = .ancestor
    case (false, false): self = .fork
    }
  }
}

// MARK: Text

extension Lineage {
  /// The text between the writer and the lineage.
  static let mark = " |1 "

  /// The text behind the writer; empty if there are no lines.
  var text: String {
    guard let own else { return "" }
    let text = "\(Self.mark)\(era.map(\.description) ?? "-") \(own.id)=\(own.revision)"
    return others.isEmpty && rest == .none ? text : text + Self.text(of: others, rest)
  }

  /// Reads the text; `nil` if it differs from what ``text`` writes.
  init?(_ bytes: UnsafeRawBufferPointer.SubSequence) {
    var scanner = ByteScanner(UnsafeRawBufferPointer(rebasing: bytes))
    for character in Self.mark.unicodeScalars { guard scanner.skip(character) else { return nil } }
    var era: Era?
    if !scanner.skip("-") {
      guard let number = scanner.hexadecimal(digits: 8) else { return nil }
      era = Era(UInt32(truncatingIfNeeded: number))
    }
    guard scanner.skip(" ") else { return nil }
    var own: Line?
    var others: [Line] = []
    var rest = Revision.none
    repeat {
      if own != nil, scanner.skip("*") {
        guard scanner.skip("="), let number = scanner.revision(), scanner.rest.isEmpty else { return nil }
        rest = number
      } else {
        guard let id = scanner.hexadecimal(digits: 16), scanner.skip("="), let number = scanner.revision() else {
          return nil
        }
        let line = Line(id: LineID(id), revision: number)
        if own == nil { own = line } else { others.append(line) }
      }
    } while scanner.skip(",")
    guard scanner.rest.isEmpty, others.count < Self.maximumLines else { return nil }
    self.init(era: era, own: own, others: others, rest: rest)
  }

  /// Splits the last part of a meta or a message into the writer and the lineage.
  ///
  /// - Returns: The writer, and the lineage of the version with this revision.
  static func split(
    _ bytes: UnsafeRawBufferPointer.SubSequence,
    revision: Revision
  ) -> (writer: String, lineage: Lineage) {
    // A writer contains no space.
    if let end = bytes.firstIndex(of: UInt8(ascii: " ")), end > bytes.startIndex, let lineage = Lineage(bytes[end...]),
      lineage.own?.revision == revision
    {
      return (String(decoding: bytes[..<end], as: UTF8.self), lineage)
    }
    return (String(decoding: bytes, as: UTF8.self), Lineage(unknownAt: revision))
  }
}
