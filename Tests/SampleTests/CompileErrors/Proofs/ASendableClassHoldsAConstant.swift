import SharedState

final class Gate: Sendable {
  let limit: Shared<Int>

  init(limit: Shared<Int>) {
    self.limit = limit
  }
}

struct Door: Sendable {
  @Shared(.inMemory("limit")) var limit = 3
}

actor Counter {
  @Shared(.inMemory("limit")) var limit = 3
}

#if WRONG
  final class WrongGate: Sendable {
    // error: stored property '_limit' of 'Sendable'-conforming class 'WrongGate' is mutable
    @Shared(.inMemory("limit")) var limit = 3
  }
#endif
