import Foundation

/// The config that the services share. In Redis it is a JSON document of the same shape.
struct ShopConfig: Codable, Hashable, Sendable {
  /// How many items fit into one order.
  var maximumItems: Int
  /// The text at the top of every page.
  var banner: String
  /// Absent in the file, and in a document that a program other than a service wrote.
  var lastChange: Change?

  /// The author and time of a change, so that the demonstration can measure how long the change took to arrive.
  struct Change: Codable, Hashable, Sendable {
    /// The name of a service.
    var service: String
    /// Microseconds since 1970.
    var time: Int

    static func now(by service: String) -> Change {
      Change(service: service, time: Int(Date().timeIntervalSince1970 * 1_000_000))
    }
  }
}

extension ShopConfig {
  /// Reads the config that a service starts with when nothing is stored yet.
  init(contentsOf file: URL) throws {
    self = try JSONDecoder().decode(ShopConfig.self, from: Data(contentsOf: file))
  }
}

extension ShopConfig: CustomStringConvertible {
  var description: String { "\(maximumItems) items, banner \"\(banner)\"" }
}

extension ShopConfig {
  /// Parses the output of a service that prints its config, as in its ``description``.
  init?(words: String) {
    guard let match = words.firstMatch(of: /(\d+) items, banner "(.*)"/), let items = Int(match.1) else { return nil }
    self.init(maximumItems: items, banner: String(match.2))
  }

  /// Reads the document as it is in Redis.
  init(document: String) throws {
    self = try JSONDecoder().decode(ShopConfig.self, from: Data(document.utf8))
  }
}
