#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// What a thread knows of the reducers that it is inside of.
///
/// It is kept by the thread and not by the task, because a reducer never suspends, and because a task-local value costs
/// several times as much.
@usableFromInline
struct ThreadRecord: @unchecked Sendable {
  // `@unchecked Sendable` is right because only the thread that a record belongs to gets hold of it.

  @usableFromInline
  struct Contents {
    /// How many reducers the thread is inside of.
    @usableFromInline
    var depth = 0
    /// How many of their children that may go.
    @usableFromInline
    var presentedDepth = 0
    /// What its reducers have changed of what is observed.
    var changes: [(subject: ObservationSubject, property: StaticString)] = []
    @usableFromInline
    var hasChanges = false
    /// How often it has read something that it observes.
    @usableFromInline
    var readings: UInt64 = 0
    /// Whether there is mail to be delivered when the thread is inside no reducer any more.
    @usableFromInline
    var hasMail = false
    /// Where the mail is.
    var recipients: [any MailRecipient] = []
    var isDelivering = false
  }

  @usableFromInline
  let contents: UnsafeMutablePointer<Contents>

  @usableFromInline
  init(contents: UnsafeMutablePointer<Contents>) {
    self.contents = contents
  }

  /// A number that no other living thread has, and never zero.
  @inlinable
  var number: UInt { UInt(bitPattern: contents) }

  /// That of the calling thread.
  @usableFromInline
  static var current: ThreadRecord {
    if let found = pthread_getspecific(key) {
      return ThreadRecord(contents: found.assumingMemoryBound(to: Contents.self))
    }
    return make()
  }

  /// Runs a child that may go.
  @inlinable
  static func presented<Result>(_ body: () -> Result) -> Result {
    let contents = current.contents
    contents.pointee.presentedDepth += 1
    defer { contents.pointee.presentedDepth -= 1 }
    return body()
  }

  /// Whether this thread is inside the reducer of a child that may go.
  static var isInsidePresented: Bool { current.contents.pointee.presentedDepth > 0 }

  /// Lets mail be delivered when the thread is inside no reducer any more.
  func remember(_ recipient: any MailRecipient) {
    contents.pointee.recipients.append(recipient)
    contents.pointee.hasMail = true
  }

  /// Delivers the mail that this thread has left while it was inside reducers, unless it is inside one still.
  @usableFromInline
  @inline(never)
  func deliverMail() {
    guard contents.pointee.depth == 0, !contents.pointee.isDelivering else { return }
    contents.pointee.isDelivering = true
    // One after the other and not inside each other: two stores may go on sending to each other.
    while !contents.pointee.recipients.isEmpty {
      let recipients = contents.pointee.recipients
      contents.pointee.recipients = []
      for recipient in recipients { recipient.deliverMail() }
    }
    contents.pointee.hasMail = false
    contents.pointee.isDelivering = false
  }

  /// Lets another thread go first.
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
    precondition(status == 0, "This process has no key left for values of its threads. Free some.")
    return key
  }()
}

/// One who has a mailbox.
@usableFromInline
protocol MailRecipient: AnyObject {
  /// Reduces what is in the mailbox, unless somebody else does.
  func deliverMail()
}
