#if THREAD_SANITIZER
  import SharedStateDependencies

  typealias Mutex<Value> = ThreadSanitizerMutex<Value>
#endif
