import SharedState

struct RemoteCount: SharedReaderKey, Hashable {
  func load(context: LoadContext<Int>, continuation: LoadContinuation<Int>) {
    continuation.resume(returning: 42)
  }

  func subscribe(context: LoadContext<Int>, subscriber: SharedSubscriber<Int>) -> SharedSubscription {
    SharedSubscription {}
  }
}

func readOnlyKeys() {
  @SharedReader(RemoteCount()) var count = 0
  _ = count

  #if WRONG
    @Shared(RemoteCount()) var share = 0  // error: requires that 'RemoteCount' conform to 'SharedKey'
  #endif
}
