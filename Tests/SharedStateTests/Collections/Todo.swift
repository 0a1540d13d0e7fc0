/// An element for the tests of collections and derived shares.
struct Todo: Codable, Hashable, Identifiable, Sendable {
  let id: Int
  var title: String
  var tags: [String] = []

  init(_ id: Int, _ title: String = "") {
    self.id = id
    self.title = title
  }
}
