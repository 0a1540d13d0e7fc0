import SharedState

func requests() {
  @Shared(.inMemory("requests")) var requests = 0
  $requests.withLock { $0 += 1 }

  #if WRONG
    // error: A change that is made between reading and writing is lost, as in 'shared += 1'.
    requests += 1
  #endif
}
