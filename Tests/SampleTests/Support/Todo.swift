import Foundation

/// The element of the identified arrays in the samples.
struct Todo: Codable, Equatable, Identifiable, Sendable {
  let id: Int
  var title: String
}

extension URL {
  static let todos = URL(filePath: "/samples/todos.json")
}
