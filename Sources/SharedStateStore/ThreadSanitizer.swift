#if THREAD_SANITIZER
  public import SharedStateDependencies

  @usableFromInline
  typealias Mutex<Value> = ThreadSanitizerMutex<Value>
#endif
