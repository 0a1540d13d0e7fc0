/// Why the demonstration cannot go on, in a sentence for the person who runs it.
struct DemoError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
