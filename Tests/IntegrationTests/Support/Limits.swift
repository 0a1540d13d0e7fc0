/// The type of value that most tests share.
struct Limits: Codable, Hashable, Sendable {
  var maximum = 10
  var note = "default"
}
