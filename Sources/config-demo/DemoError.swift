/// Why the demonstration cannot continue, in a sentence for its user.
struct DemoError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
