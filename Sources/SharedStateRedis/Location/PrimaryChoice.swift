/// Chooses the primary among the servers that Sentinels name.
///
/// A Sentinel may be out of date: it is cut off from the others, or was started with an old file. Each failover has a
/// configuration epoch, for which most Sentinels have voted, so the answer with the newest one counts. Where Sentinels
/// were set up again, an old one may have the newest epoch nevertheless, so what a server says of itself counts more.
struct PrimaryChoice: Sendable {
  /// What a Sentinel says.
  struct Answer: Equatable, Sendable {
    let sentinel: RedisEndpoint
    let primary: RedisEndpoint
    /// Of the failover that has made this server the primary; 0: there was none, or the user may not ask.
    let epoch: UInt64
    /// The replicas that are up and in step, if they were asked for.
    var replicas: [RedisEndpoint] = []
  }

  /// A server, and the answers that name it.
  struct Candidate: Equatable, Sendable {
    let primary: RedisEndpoint
    fileprivate(set) var answers: [Answer]

    var epoch: UInt64 { answers.map(\.epoch).max() ?? 0 }

    /// Whether most of so many Sentinels name it, with its epoch.
    func isAgreed(among sentinels: Int) -> Bool { answers.count { $0.epoch == epoch } * 2 > sentinels }
  }

  /// Why the last attempt to connect to a server has failed.
  private enum Doubt {
    /// It says that it is not a primary.
    case denied
    case failed
  }

  /// The choice, until another server takes over.
  private(set) var chosen: Candidate?
  /// Since the last success.
  private var doubts: [RedisEndpoint: Doubt] = [:]
  /// The former primary, until all Sentinels know that it is one.
  private var replaced: (endpoint: RedisEndpoint, until: Instant)?

  /// Sentinels inform each other of a switch every two seconds.
  private static let disagreement = Duration.seconds(10)

  /// Whether another server has just taken over from this one.
  func isReplaced(_ endpoint: RedisEndpoint, now: Instant) -> Bool {
    guard let replaced else { return false }
    return replaced.endpoint == endpoint && now < replaced.until
  }

  // MARK: Choosing

  /// Chooses the server to connect to; `nil`: no answer names one, or only the one that was replaced.
  mutating func choose(from answers: [Answer], now: Instant) -> Candidate? {
    guard let choice = best(of: answers, now: now) else { return nil }
    // All were tried.
    if doubts[choice.primary] != nil { doubts = [:] }
    chosen = choice
    return choice
  }

  /// Whether the other Sentinels need not be asked, because most of all have given the answer that counts.
  func isCertain(_ answers: [Answer], of sentinels: Int, now: Instant) -> Bool {
    guard let choice = best(of: answers, now: now) else { return false }
    return choice.isAgreed(among: sentinels) && doubts[choice.primary] == nil
  }

  private func best(of answers: [Answer], now: Instant) -> Candidate? {
    let candidates = candidates(in: answers, now: now)
    let undenied = candidates.filter { doubts[$0.primary] != .denied }
    guard let best = undenied.first ?? candidates.first else { return nil }
    guard doubts[best.primary] == .failed else { return best }
    // A former primary may act as one for as long as it is cut off. That the newer one does not answer makes it no
    // better, unless as many Sentinels name it.
    return undenied.first { doubts[$0.primary] == nil && $0.answers.count >= best.answers.count } ?? best
  }

  /// The servers that are named. The answers count by their epoch, then by their number, then in their order.
  private func candidates(in answers: [Answer], now: Instant) -> [Candidate] {
    var candidates: [Candidate] = []
    for answer in answers where !isReplaced(answer.primary, now: now) {
      if let index = candidates.firstIndex(where: { $0.primary == answer.primary }) {
        candidates[index].answers.append(answer)
      } else {
        candidates.append(Candidate(primary: answer.primary, answers: [answer]))
      }
    }
    return candidates.sorted { ($0.epoch, $0.answers.count) > ($1.epoch, $1.answers.count) }
  }

  /// A connection to this server was opened, or why it was not.
  mutating func tried(_ endpoint: RedisEndpoint, _ failure: RedisSharedStateError?) {
    guard let failure else { return doubts = [:] }
    doubts[endpoint] = failure == .notPrimary ? .denied : .failed
  }

  // MARK: Switching

  /// The servers that may have taken over from the chosen one, if they are primaries: they are named with a newer epoch,
  /// or by most Sentinels.
  func successors(in answers: [Answer], of sentinels: Int, now: Instant) -> [RedisEndpoint] {
    guard let chosen else { return [] }
    return candidates(in: answers, now: now).prefix { $0.primary != chosen.primary }
      .filter { $0.epoch > chosen.epoch || $0.isAgreed(among: sentinels) }.map(\.primary)
  }

  /// A server has taken over.
  ///
  /// - Returns: Whether another one was chosen before.
  mutating func switched(to primary: RedisEndpoint, now: Instant) -> Bool {
    doubts[primary] = nil
    if replaced?.endpoint == primary { replaced = nil }
    guard let former = chosen?.primary, former != primary else { return false }
    chosen = nil
    replaced = (former, now + Self.disagreement)
    return true
  }
}
