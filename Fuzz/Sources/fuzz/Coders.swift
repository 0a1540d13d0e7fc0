import Foundation

@testable import SharedState

/// Coders with the usual settings.
enum Coders {
  static let encoder = made(DocumentEncoder(JSONEncoder()))
  static let decoder = made(DocumentDecoder(JSONDecoder()))

  private static func made<Coder>(_ coder: Coder?) -> Coder {
    guard let coder else { fatalError("Foundation's own coders must be taken.") }
    return coder
  }
}
