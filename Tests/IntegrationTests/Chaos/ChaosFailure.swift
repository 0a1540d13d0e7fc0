/// Why a run cannot go on, or which guarantee it has found broken.
struct ChaosFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
