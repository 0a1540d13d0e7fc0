#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The reducers that a thread is inside of, and its work for after them.
///
/// The record belongs to the thread and not to the task, because a reducer never suspends, and because a task-local
/// value costs several times as much.
@usableFromInline
struct ThreadRecord: @unchecked Sendable {
  // `@unchecked Sendable` is right because only the thread of a record ever accesses it.

  @usableFromInline
  struct Contents {
    /// How many reducers the thread is inside of.
    @usableFromInline
    var depth = 0
    /// How many of them belong to children that may be removed.
    @usableFromInline
    var presentedDepth = 0
    /// Changes of observed properties by its reducers.
    var changes: [(subject: ObservationSubject, property: StaticString)] = []
    @usableFromInline
    var hasChanges = false
    /// How often it has read something that is observed.
    @usableFromInline
    var readings: UInt64 = 0
    /// Whether there is mail to deliver once the thread has left all reducers.
    @usableFromInline
    var hasMail = false
    /// The owners of the mail.
    var recipients: [any MailRecipient] = []
    var isDelivering = false
  }

  @usableFromInline
  let contents: UnsafeMutablePointer<Contents>

  @usableFromInline
  init(contents: UnsafeMutablePointer<Contents>) {
    self.contents = contents
  }

  /// A number that no other living thread has; never zero.
  @inlinable
  var number: UInt { UInt(bitPattern: contents) }

  /// The record of the calling thread.
  @usableFromInline
  static var current: ThreadRecord {
    if let found = pthread_getspecific(key) {
      return ThreadRecord(contents: found.assumingMemoryBound(to: Contents.self))
    }
    return make()
  }

  /// Runs a child that may be removed.
  @inlinable
  static func presented<Result>(_ body: () -> Result) -> Result {
    let contents = current.contents
    contents.pointee.presentedDepth += 1
    defer { contents.pointee.presentedDepth -= 1 }
    return body()
  }

  /// Whether this thread is inside the reducer of a child that may be removed.
  static var isInsidePresented: Bool { current.contents.pointee.presentedDepth > 0 }

  /// Schedules a delivery of mail for when the thread has left all reducers.
  func remember(_ recipient: any MailRecipient) {
    contents.pointee.recipients.append(recipient)
    contents.pointee.hasMail = true
  }

  /// Delivers the mail that this thread has left while it was inside reducers, unless it still is inside one.
  @usableFromInline
  @inline(never)
  func deliverMail() {
    guard contents.pointee.depth == 0, !contents.pointee.isDelivering else { return }
    contents.pointee.isDelivering = true
    // One after the other instead of nested, because two stores may keep sending to each other.
    while !contents.pointee.recipients.isEmpty {
      let recipients = contents.pointee.recipients
      contents.pointee.recipients = []
      for recipient in recipients { recipient.deliverMail() }
    }
    contents.pointee.hasMail = false
    contents.pointee.isDelivering = false
  }

  /// Yields to other threads.
  static func letOthersRun() {
    sched_yield()
  }

  @inline(never)
  private static func make() -> ThreadRecord {
    let contents = UnsafeMutablePointer<Contents>.allocate(capacity: 1)
    contents.initialize(to: Contents())
    pthread_setspecific(key, contents)
    return ThreadRecord(contents: contents)
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let status = pthread_key_create(&key) { (contents: UnsafeMutableRawPointer?) in
      guard let contents = contents?.assumingMemoryBound(to: Contents.self) else { return }
      contents.deinitialize(count: 1)
      contents.deallocate()
    }
    precondition(status == 0, "This process has no thread-specific key left. Free some with 'pthread_key_delete'.")
    return key
  }()
}

/// An owner of a mailbox.
@usableFromInline
protocol MailRecipient: AnyObject {
  /// Reduces the letters in the mailbox, unless another thread does.
  func deliverMail()
}
