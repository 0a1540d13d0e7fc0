import Foundation

extension ShopConfig {
  /// Reads the words of a service that says which config it has, as in its ``description``.
  init?(words: String) {
    guard let match = words.firstMatch(of: /(\d+) items, banner "(.*)"/), let items = Int(match.1) else { return nil }
    self.init(maximumItems: items, banner: String(match.2))
  }

  /// Reads the document as it is in Redis.
  init(document: String) throws {
    self = try JSONDecoder().decode(ShopConfig.self, from: Data(document.utf8))
  }
}
