/// What the services of a chaos test share: a field for each of them, and one that all of them write.
struct ChaosDocument: Codable, Hashable, Sendable {
  var first = 0
  var second = 0
  var third = 0
  var common = 0

  /// The fields that one service writes, in the order of the services. Their values only ever grow.
  static let fields: [any WritableKeyPath<ChaosDocument, Int> & Sendable] = [\.first, \.second, \.third]
  /// What they are called in JSON.
  static let fieldNames = ["first", "second", "third"]
  /// Its name in Redis.
  static let name = "document"
  /// The name of the number that is changed by `updateAtomically` only.
  static let countName = "count"
}
