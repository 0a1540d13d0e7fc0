@testable import SharedStateRedis

extension ChangeMessage {
  /// A message about a version that never expires.
  init(
    revision: Revision,
    parent: Revision,
    writer: String,
    lineage: Lineage? = nil,
    content: Content
  ) {
    let kind: Meta.Kind = content == .deleted ? .deleted : .set
    let meta = Meta(revision: revision, parent: parent, kind: kind, writer: writer, lineage: lineage)
    self.init(meta: meta, content: content)
  }
}

extension Secret {
  /// A secret for tests that need one.
  static let sample = Secret(repeating: "5")
  /// The secret of another namespace, or an outdated one.
  static let other = Secret(repeating: "7")

  private init(repeating digit: String) {
    guard let secret = Secret(String(repeating: digit, count: Secret.length)) else { fatalError("Use one digit.") }
    self = secret
  }
}
