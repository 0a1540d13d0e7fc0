#if THREAD_SANITIZER
  typealias Mutex<Value> = ThreadSanitizerMutex<Value>
#endif
