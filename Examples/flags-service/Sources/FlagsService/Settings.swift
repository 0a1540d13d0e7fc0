import Hummingbird

/// The document that all instances share. In Redis it is plain JSON.
struct Settings: Codable, Sendable {
  var flags: [String: Bool] = [:]
  var limits = Limits()
}

/// What clients may do, at whichever instance.
struct Limits: Codable, Equatable, ResponseEncodable, Sendable {
  var maximumFlags = 100
  var maximumNameLength = 64
}
