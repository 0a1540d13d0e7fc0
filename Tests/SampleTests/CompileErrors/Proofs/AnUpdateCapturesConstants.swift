import SharedState

func sell() async throws {
  @Shared(.inMemory("stock")) var stock = 10
  @Shared(.inMemory("limit")) var limit = 3
  @Shared(.inMemory("sold")) var sold = 0

  try await $stock.updateAtomically { [limit, $sold] stock in
    guard $sold.wrappedValue < limit else { return }
    stock -= 1
  }

  #if WRONG
    try await $stock.updateAtomically { stock in
      // error: reference to captured var 'sold' in concurrently-executing code
      guard sold < 3 else { return }
      stock -= 1
    }
    try await $stock.updateAtomically { stock in
      // error: reference to captured var '$sold' in concurrently-executing code
      $sold.withLock { $0 += 1 }
      stock -= 1
    }
  #endif
}
