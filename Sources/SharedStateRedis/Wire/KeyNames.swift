import SharedState

/// The Redis keys and the channel of one shared value.
///
/// All of them have one hash tag, so that they live in one hash slot: that of the namespace, or else the value's key.
/// Names contain no braces, so none of these keys can collide with a value.
struct KeyNames: Sendable {
  /// The name of the value in the program.
  let name: String
  /// The value's own key, which holds the plain JSON document.
  let value: String
  /// The key of the ``Meta`` string.
  let meta: String
  /// The key that remembers the last commits that were applied, and their writers.
  let operations: String
  /// The key of the namespace's ``Secret``.
  let secret: String
  /// The channel on which every change is announced.
  let channel: String

  /// The channel on which the server sends invalidations of written keys.
  static let invalidationChannel: StaticString = "__redis__:invalidate"

  /// Pub/sub ignores SELECT, so the channel of every database but the first carries the database's number.
  init(namespace: String, name: String, database: Int) {
    let value = namespace + name
    self.name = name
    self.value = value
    self.meta = "\(namespace)meta:{\(value)}"
    self.operations = "\(namespace)ops:{\(value)}"
    self.secret = Self.secret(of: namespace)
    self.channel = Self.channel(namespace: namespace, value: value, database: database)
  }

  /// The key of a namespace's ``Secret``. Its hash tag is empty, which no value's is.
  static func secret(of namespace: String) -> String { "\(namespace)secret:{}" }

  /// The key of a mark that is written only to let a connection wait for replicas.
  static func mark(of namespace: String) -> String { "\(namespace)mark:{}" }

  /// The channel of the value with this key.
  static func channel(namespace: String, value: String, database: Int) -> String {
    "\(namespace)changes:{\(value)}" + (database == 0 ? "" : "@\(database)")
  }

  /// The key that keeps the document of a version at which a newer line was opened; `nil` if the version names no line.
  func base(of version: Version) -> String? {
    guard let line = version.line else { return nil }
    let namespace = String(decoding: value.utf8.dropLast(name.utf8.count), as: UTF8.self)
    return "\(namespace)base:{\(value)}:\(line)=\(version.revision)"
  }

  /// A temporary key, used by this operation only, for a document on its way to the value's key.
  func staging(for operation: Operation) -> String {
    // The operations key already ends with the hash tag.
    "\(operations):\(operation.writer):\(operation.number)"
  }
}

extension KeyNames: Hashable {
  static func == (lhs: KeyNames, rhs: KeyNames) -> Bool {
    // The other names follow from these.
    Name(lhs.meta) == Name(rhs.meta) && Name(lhs.channel) == Name(rhs.channel)
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(Name(channel))
  }
}
