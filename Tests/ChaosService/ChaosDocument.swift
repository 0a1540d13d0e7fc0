/// The document that the services of a chaos test share: one field for each service, and one that all of them write.
struct ChaosDocument: Codable, Hashable, Sendable {
  var first = 0
  var second = 0
  var third = 0
  var common = 0

  /// The fields that belong to one service each, in the order of the services. Their values only grow.
  static let fields: [any WritableKeyPath<ChaosDocument, Int> & Sendable] = [\.first, \.second, \.third]
  /// The names of these fields in JSON.
  static let fieldNames = ["first", "second", "third"]
  /// The name of the document in Redis.
  static let name = "document"
  /// The name of the number that only `updateAtomically` changes.
  static let countName = "count"
}
