import Foundation

/// What the samples keep in identified arrays.
struct Todo: Codable, Equatable, Identifiable, Sendable {
  let id: Int
  var title: String
}

extension URL {
  static let todos = URL(filePath: "/samples/todos.json")
}
