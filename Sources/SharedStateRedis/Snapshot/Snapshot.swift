import Foundation
import SharedState

/// The newest state that the server has confirmed of each value, as a file keeps it.
struct Snapshot: Equatable, Sendable {
  /// A state of a value. Without a document it was deleted.
  struct State: Equatable, Sendable {
    var revision: Revision
    var document: Data?
    /// The version with that document; `nil`: it is not known, or nothing could restore it.
    var version: SavedVersion?
  }

  /// The store that a snapshot is of.
  struct Identity: Hashable, Codable, Sendable {
    let label: String
    let namespace: String
    let database: Int
  }

  /// Why the content of a file is not used.
  enum Refusal: Error, Equatable, Sendable {
    case damaged
    case tooNew
    case foreign
  }

  /// When it was made, by the clock of its maker.
  var date: Date
  var states: [Name: State] = [:]

  /// How many bytes of values that are not shared any more are kept.
  static let maximumUnsharedBytes = 64 << 20

  /// Takes the states of this store.
  ///
  /// - Parameters:
  ///   - states: What the server has of each value that the store shares.
  ///   - known: What the store has seen in the file. Where the file has something else, another process of the service
  ///     has written that, and the newer state wins.
  mutating func merge(_ states: [Name: State], known: [Name: State]) {
    for (name, state) in states {
      let stored = self.states[name]
      guard stored == known[name] || stored.map({ $0.revision <= state.revision }) ?? true else { continue }
      // Nothing was ever stored, or it is forgotten that there was something.
      self.states[name] = state.document == nil && state.revision == .none ? nil : state
    }
    discardOldest(but: states)
  }

  /// Discards values that are not shared, the oldest first, while there are too many.
  private mutating func discardOldest(but shared: [Name: State]) {
    let unshared = states.filter { shared[$0.key] == nil }
    var bytes = unshared.reduce(0) { $0 + Self.bytes(of: $1) }
    guard bytes > Self.maximumUnsharedBytes else { return }
    for entry in unshared.sorted(by: { $0.value.revision < $1.value.revision }) where bytes > Self.maximumUnsharedBytes
    {
      bytes -= Self.bytes(of: entry)
      states[entry.key] = nil
    }
  }

  private static func bytes(of entry: (key: Name, value: State)) -> Int {
    entry.key.text.utf8.count + (entry.value.document?.count ?? 0)
  }
}

/// The file: a line with the version of the format and the digest of everything behind it, and then JSON.
extension Snapshot {
  private static let title = "shared-state-snapshot"
  private static let version = 1

  private struct Content: Codable {
    struct Value: Codable {
      let name: String
      let revision: UInt64
      let document: String?
      let meta: String?
      let secret: String?
    }

    let store: Identity
    /// In milliseconds since 1970.
    let date: Int64
    let values: [Value]
  }

  /// The content of the file. A document that is no text, which no share can read, is left out.
  func encoded(for store: Identity) throws -> Data {
    let values = states.sorted { $0.key < $1.key }.compactMap { name, state -> Content.Value? in
      let document = state.document.map { String(validating: $0, as: UTF8.self) }
      if case .some(nil) = document { return nil }
      return Content.Value(
        name: name.text,
        revision: state.revision.rawValue,
        document: document ?? nil,
        meta: state.version?.meta.string,
        secret: state.version?.secret
      )
    }
    let milliseconds = Int64(clamping: Int((date.timeIntervalSince1970 * 1_000).rounded()))
    let body = try JSONEncoder().encode(Content(store: store, date: milliseconds, values: values))
    let digest = body.withUnsafeBytes { SHA1.digest(of: $0) }
    return Data("\(Self.title) \(Self.version) \(digest)\n".utf8) + body
  }

  /// Reads the content of a file.
  init(_ data: Data, of store: Identity) throws(Refusal) {
    guard let end = data.firstIndex(of: UInt8(ascii: "\n")) else { throw .damaged }
    let line = String(decoding: data[..<end], as: UTF8.self).split(separator: " ")
    guard line.count >= 2, line[0] == Self.title, let version = Int(line[1]) else { throw .damaged }
    guard version <= Self.version else { throw .tooNew }
    let body = data[data.index(after: end)...]
    guard version == Self.version, line.count == 3, body.withUnsafeBytes({ SHA1.digest(of: $0) }) == line[2],
      let content = try? JSONDecoder().decode(Content.self, from: body)
    else { throw .damaged }
    guard content.store == store else { throw .foreign }
    self.init(date: Date(timeIntervalSince1970: Double(content.date) / 1_000))
    for value in content.values {
      let document = value.document.map { Data($0.utf8) }
      let version = value.meta.flatMap { Meta($0) }.flatMap { meta in
        value.secret.map { SavedVersion(meta: meta, secret: $0) }
      }
      states[Name(value.name)] = State(revision: Revision(value.revision), document: document, version: version)
    }
  }
}
