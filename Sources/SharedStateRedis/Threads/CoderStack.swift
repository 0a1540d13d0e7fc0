internal import CHiredis

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The stack that the user's coders need, which recurse for each level of a document.
enum CoderStack {
  /// What the link's own thread has. Half a megabyte overflows before the decoder stops at a deeply nested document. In
  /// bytes.
  static let size = 2 << 20

  /// Where the end of a thread's stack is kept, because asking the system for it takes long on the main thread; `nil`:
  /// the process has no place left for it.
  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    return pthread_key_create(&key, nil) == 0 ? key : nil
  }()

  /// Whether at least ``size`` bytes of the present thread's stack are left.
  static var hasRoom: Bool {
    guard let key else { return false }
    let known = pthread_getspecific(key)
    guard let end = known.map({ UnsafeMutableRawPointer($0) }) ?? shared_state_stack_end() else { return false }
    if known == nil { pthread_setspecific(key, end) }
    // The stack grows towards lower addresses.
    var here: UInt8 = 0
    return withUnsafeMutablePointer(to: &here) { UnsafeMutableRawPointer($0) - end >= size }
  }
}
