import SharedState

struct SharedCount: Equatable {
  @Shared var count: Int
}

#if WRONG
  extension SharedCount: Hashable {}  // error: type 'SharedCount' does not conform to protocol 'Hashable'
#endif
