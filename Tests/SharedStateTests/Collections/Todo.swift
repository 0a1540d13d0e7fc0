/// What the tests of collections and derived shares share.
struct Todo: Codable, Hashable, Identifiable, Sendable {
  let id: Int
  var title: String
  var tags: [String] = []

  init(_ id: Int, _ title: String = "") {
    self.id = id
    self.title = title
  }
}
