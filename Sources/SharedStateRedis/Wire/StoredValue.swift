import Foundation

/// What is known about a stored value without its document. Its parts are read one after the other.
struct StoredSummary: Hashable, Sendable {
  var meta: Meta?
  /// The size of the document in bytes, 0 where there is none; `nil`: the key holds another Redis type.
  var length: Int?
  /// How many connections listen to the channel of the value; `nil`: the server does not report it, or was not asked.
  var listeners: Int?

  /// Whether nothing is stored, and nothing is missing either. An empty document, which no encoder makes, counts as
  /// nothing where there is no meta.
  var isAbsent: Bool { length == 0 && meta?.kind != .set }
}

extension StoredSummary {
  /// The summary of a known value.
  init(of stored: StoredValue, listeners: Int? = nil) {
    let length: Int? =
      switch stored.content {
      case .absent: 0
      case .document(let document): document.count
      case .oversized(let bytes): bytes
      case .otherType: nil
      }
    self.init(meta: stored.meta, length: length, listeners: listeners)
  }
}

/// The value that is stored under a name, and its meta.
struct StoredValue: Hashable, Sendable {
  enum Content: Hashable, Sendable {
    case absent
    case document(Data)
    /// A document that is too large to be read, and its size in bytes.
    case oversized(Int)
    /// The key holds another Redis type, with this name.
    case otherType(String)

    var document: Data? { if case .document(let document) = self { document } else { nil } }

    /// The size of the document, in bytes.
    var size: Int { document?.count ?? 0 }
  }

  /// `nil` when this library has not written the value, or its meta is malformed.
  var meta: Meta?
  var content: Content

  /// ``Revision/none`` for a value that another program has written.
  var revision: Revision { meta?.revision ?? .none }

  var document: Data? { content.document }

  /// Whether the value is missing although its meta says that there is one.
  var isGone: Bool { content == .absent && meta?.kind == .set }
}
