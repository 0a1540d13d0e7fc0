import Foundation
@testable import RedisConnectionContract
@testable import SharedStateRedis

extension Commit {
  /// Makes a commit of one fixed writer. The number distinguishes its operations.
  static func sample(
    _ names: KeyNames,
    _ content: Content = .document(Data("1".utf8), isLarge: false),
    if condition: Condition = .unconditional,
    floor: Revision = .none,
    by nonce: String = "nonce",
    number: UInt64 = 1
  ) -> Commit {
    Commit(
      names: names,
      content: content,
      condition: condition,
      floor: floor,
      operation: Operation(writer: nonce, number: number),
      writer: "shop@host/1/\(nonce)",
      secret: .sample
    )
  }
}

extension Commit.Content {
  static func text(_ text: String, isLarge: Bool = false) -> Self {
    .document(Data(text.utf8), isLarge: isLarge)
  }
}

extension KeyNames {
  static let sample = KeyNames(namespace: "test:", name: "key", database: 0)
}
