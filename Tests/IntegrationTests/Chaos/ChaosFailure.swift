/// The reason why a run cannot go on, or the guarantee that it found broken.
struct ChaosFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
