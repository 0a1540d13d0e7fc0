import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Notices that this process is the child of a `fork`, which has the stores of its parent, but not their threads.
///
/// The child shares the connections of its parent, and a lock may be held forever, by a thread that the child does not
/// have. So no operation gets that far there.
enum ForkedChild {
  private static let flag = Atomic(false)
  private static let handler: Void = {
    // Runs in the child, before anything else.
    pthread_atfork(nil, nil) { ForkedChild.flag.store(true, ordering: .relaxed) }
  }()

  /// Whether this process is one.
  static var isCurrent: Bool { flag.load(ordering: .relaxed) }

  /// Notices children that are made from now on. Both globals exist then, which a child must not have to make.
  static func prepare() {
    _ = isCurrent
    _ = handler
  }

  /// - Throws: ``RedisSharedStateError/Code/forked``.
  static func refuse() throws(RedisSharedStateError) {
    if isCurrent { throw .forked }
  }
}
