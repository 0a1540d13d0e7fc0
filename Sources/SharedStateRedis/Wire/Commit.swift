import Foundation

/// A change on its way into Redis.
struct Commit: Sendable {
  enum Content: Sendable {
    /// The document. A large one is not sent with the announcement of the change, but has to be read.
    case document(Data, isLarge: Bool)
    /// Leaves a tombstone.
    case deleted
    /// Adopts the stored document, which was written without a revision. A document of more bytes than the limit is
    /// announced by reference.
    case adopted(inlineLimit: Int)
    /// Adopts a deletion that was made without a revision. There must be no value.
    case adoptedDeletion
  }

  enum Condition: Hashable, Sendable {
    /// Writes in any case.
    case unconditional
    /// Writes only if the stored revision is this one (``Revision/none``: there is no meta).
    case revision(Revision)
    /// Writes only if the stored revision is this one, and replaces a key of another type.
    case replacing(Revision)

    /// The revision that is expected to be stored.
    var expected: Revision {
      switch self {
      case .unconditional: .none
      case .revision(let revision), .replacing(let revision): revision
      }
    }
  }

  /// Whether it adopts what is stored, and leaves the value as it is.
  var isAdoption: Bool {
    switch content {
    case .adopted, .adoptedDeletion: true
    case .document, .deleted: false
    }
  }

  var names: KeyNames
  var content: Content
  var condition: Condition
  /// The highest revision that the committing replica has ever seen.
  var floor: Revision
  var operation: Operation
  /// The writer: label, host, process and nonce, without spaces.
  var writer: String
  /// How long the value lives, in milliseconds; 0: forever, or as long as another writer has set.
  var timeToLive: UInt64 = 0
  /// The lineage of the expected version; `nil`: any.
  var seen: Lineage?
  /// The lineage of the new version; `nil`: it names no lines.
  var lineage: Lineage.Draft?
  /// The document that is expected, where there is no revision, or the revision does not identify it for certain.
  var basis: Data?
  /// The newest known secret of the namespace, which is stored if there is none; `nil`: none is known.
  var secret: Secret?
  /// The key that keeps the stored document, which this commit replaces; `nil`: the commit continues the line of its
  /// version. A commit with a basis keeps nothing.
  var base: String?
  /// What is kept of other versions, as the bases of later merges.
  var kept: [KeptBase] = []
  /// For how long the server reserves the value for the writer if the commit conflicts, in milliseconds; 0: it does
  /// not.
  var reservation: UInt64 = 0
}

/// The document of a version that only a service has, on its way to the key that keeps it.
struct KeptBase: Hashable, Sendable {
  /// How long a base is kept. A service whose connection is cut off for longer merges with what it remembers itself. A
  /// day covers a night in which nobody repairs a network, and limits the memory that many failovers take.
  static let lifetimeInMilliseconds = 86_400_000
  /// What is kept of a deleted value. No document is this.
  static let deletion = Data("-".utf8)

  /// ``KeyNames/base(of:)``
  var key: String
  /// `nil` if the value was deleted.
  var document: Data?

  /// What is stored at a key of this kind.
  static func content(_ stored: Data?, maximumBytes: Int) -> StoredValue.Content? {
    guard let stored, !stored.isEmpty, stored.count <= maximumBytes else { return nil }
    return stored == deletion ? .absent : .document(stored)
  }
}

extension Commit {
  /// The argument of ``CommitScript`` that says which version is expected.
  var conditionArgument: String {
    let wish = reservation > 0 ? "?\(reservation) " : ""
    return switch condition {
    case .unconditional: "\(wish)*"
    case .revision(let revision): "\(wish)\(revision)"
    case .replacing(let revision): "\(wish)!\(revision)"
    }
  }
}

/// What has become of a commit or a restore.
enum CommitReply: Hashable, Sendable {
  /// The commit took effect, now or in an earlier attempt; maybe a later step did not.
  case committed(revision: Revision, parent: Revision, CommitShortfall? = nil)
  /// The revision has moved on, and this value is stored now. `hasForgotten`: the operation may have been applied all
  /// the same, because so many others have committed since, or the list of remembered operations is gone.
  case conflict(StoredValue, hasForgotten: Bool = false)
  /// The value is reserved for another writer for so long, and nothing was written.
  case held(milliseconds: UInt64)
  /// The key holds another Redis type, and nothing was written.
  case wrongType(String)
}

/// A step that has failed after a commit had taken effect: recording its revision, or announcing it.
struct CommitShortfall: Hashable, Sendable {
  /// The Redis command that the server has refused.
  let command: String
  let error: RedisSharedStateError
}
