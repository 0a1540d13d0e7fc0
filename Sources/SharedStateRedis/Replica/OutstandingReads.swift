/// The reads that a replica has sent, and the loads that wait for an answer.
struct OutstandingReads: Sendable {
  /// A read without an answer.
  struct Read: Equatable, Sendable {
    let number: UInt64
    /// How often the verified version had changed when it was sent.
    let verifiedChanges: UInt64
  }

  private(set) var sentReads: UInt64 = 0
  private(set) var answeredRead: UInt64 = 0
  /// For each explicit load, the read that has to be answered. An earlier one may have missed what the load asks for.
  private var loads: [UInt64: UInt64] = [:]

  /// The number of the next read.
  var nextRead: UInt64 { sentReads + 1 }

  /// Whether this explicit load waits for a read.
  func isLoading(_ waiter: UInt64) -> Bool { loads[waiter] != nil }

  /// Whether an explicit load waits for a read.
  var hasLoads: Bool { !loads.isEmpty }

  /// A read is about to be sent.
  mutating func askRead(verifiedChanges: UInt64) -> Read {
    sentReads += 1
    return Read(number: sentReads, verifiedChanges: verifiedChanges)
  }

  /// A read was answered, and so were the ones before it.
  mutating func answer(read number: UInt64) { answeredRead = max(answeredRead, number) }

  /// Lets an explicit load wait for the next read.
  mutating func load(_ waiter: UInt64) {
    loads[waiter] = nextRead
  }

  /// An explicit load has stopped waiting.
  mutating func forget(_ waiter: UInt64) {
    loads[waiter] = nil
  }

  /// Removes and returns the loads whose read was answered.
  mutating func takeAnsweredLoads() -> [UInt64] {
    let answered = loads.filter { $0.value <= answeredRead }.keys.sorted()
    for waiter in answered { loads[waiter] = nil }
    return answered
  }

  /// Removes and returns all loads.
  mutating func takeLoads() -> [UInt64] {
    defer { loads = [:] }
    return loads.keys.sorted()
  }
}
