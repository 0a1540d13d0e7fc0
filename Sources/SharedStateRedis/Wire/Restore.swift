import Foundation

/// A state that the server has lost and that is restored, with its original revision, parent and writer.
///
/// It takes effect only where exactly the expected state is stored. It makes no new revision, so any number of services
/// may restore at the same time, in any order.
struct Restore: Hashable, Sendable {
  var names: KeyNames
  /// A document, or nothing.
  var content: StoredValue.Content
  var meta: Meta
  /// Whether the document is announced by reference.
  var isLarge: Bool
  /// The meta that is expected to be stored, usually none.
  var expected: Meta?
  /// The document that is expected where there is no meta.
  var basis: Data?
  /// The newest known secret of the namespace, which is stored if there is none; `nil`: none is known.
  var secret: Secret?

  /// Whether it restores a value that does not expire, where nothing is expected to be stored.
  var isLasting: Bool { meta.kind == .set && meta.expiry == 0 && expected == nil && basis == nil }

  /// The announcement.
  var message: ChangeMessage {
    let content: ChangeMessage.Content =
      switch self.content {
      case .document where isLarge: .reference
      case .document(let document): .document(document)
      case .absent, .oversized, .otherType: .deleted
      }
    return ChangeMessage(meta: meta, content: content)
  }
}
