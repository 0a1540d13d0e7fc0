import SharedState

struct Counter {
  @Shared(.inMemory("count")) var count = 0
}

#if WRONG
  // Another library may have these names.
  func read(_ values: DependencyValues) {}  // error: cannot find type 'DependencyValues' in scope
#endif
