import SharedState

final class Counter {
  var count = 0
}

func onAnyThread(_ work: @Sendable () -> Void) {
  work()
}

func shares(count: Shared<Int>, counter: Shared<Counter>) {
  onAnyThread { count.withLock { $0 += 1 } }
  counter.withLock { $0.count += 1 }

  #if WRONG
    onAnyThread { counter.withLock { $0.count += 1 } }  // error: non-Sendable type 'Shared<Counter>'
  #endif
}
