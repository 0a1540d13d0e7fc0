import Foundation

/// The value that the samples keep in files.
struct User: Codable, Equatable, Identifiable, Sendable {
  let id: Int
  var name: String
}

extension URL {
  static let users = URL(filePath: "/samples/users.json")
  static let currentUser = URL(filePath: "/samples/current-user.json")
}
