/// Versions and revisions that messages have announced, and that no reply has confirmed.
struct Announcements: Sendable {
  /// A version that was stored when a message announced it.
  struct Told: Hashable, Sendable {
    let version: Version
    /// The server's vitals then, or earlier ones.
    let vitals: Vitals
  }

  /// An announced version that no read has confirmed. The box shows it, but it is never the source of a restoration.
  struct News: Hashable, Sendable {
    /// How many questions had been asked by then. The answer to a later one tells whether the news is true.
    let after: UInt64
    /// The server's vitals when it was announced, or earlier ones.
    let vitals: Vitals
    /// Whether our own commit made it. Only its revision is certain then.
    var isOwn = false
    /// Whether a local change yields to the news if it is true.
    var isDecisive = false
    /// Versions announced before and not confirmed when this one arrived, the newest last. One of them may be the true
    /// one.
    var earlier: [Told] = []

    static let maximumEarlier = 4
  }

  /// A revision that a message has announced, whether or not the message was true.
  struct Heard: Hashable, Sendable {
    let revision: Revision
    /// How many questions had been asked by then. The answer to a later one tells whether the revision exists.
    let after: UInt64
  }

  private(set) var news: News?
  /// The newest version that a message has announced correctly.
  private(set) var told: Told?
  /// The highest revision that a message has announced since the server was asked.
  private(set) var heard: Heard?
  /// The newest change that was announced without its document while our own commit was under way.
  private(set) var byReference = Revision.none

  /// A message has announced a revision that is higher than all known ones.
  mutating func hear(_ revision: Revision, asked: UInt64) {
    heard = Heard(revision: revision, after: asked)
  }

  /// A question was answered. A false message no longer hides a gap.
  mutating func answered(_ question: UInt64) {
    if let heard, question > heard.after { self.heard = nil }
  }

  /// A message has announced a version.
  ///
  /// - Parameter shown: The version shown until now, which is one of the earlier ones if it was news itself.
  mutating func announce(asked: UInt64, _ vitals: Vitals, after shown: Version?) {
    var earlier = news?.earlier ?? []
    if let news, let shown { earlier.append(Told(version: shown, vitals: news.vitals)) }
    news = News(after: asked, vitals: vitals, earlier: earlier.suffix(News.maximumEarlier))
  }

  /// Our own commit has made a version of which only the revision is certain.
  mutating func announceOwn(asked: UInt64, _ vitals: Vitals) {
    news = News(after: asked, vitals: vitals, isOwn: true)
  }

  /// A message has announced a change without its document.
  mutating func announce(byReference revision: Revision) {
    byReference = max(byReference, revision)
  }

  /// A local change yields to the news if it is true.
  mutating func makeDecisive() {
    news?.isDecisive = true
  }

  /// The news is confirmed, withdrawn, or outdated.
  mutating func clearNews() {
    news = nil
  }

  /// A message has announced this version correctly.
  mutating func confirm(_ told: Told) {
    self.told = told
  }

  /// The change without its document was read, or the next connection reads everything anyway.
  mutating func clearReference() {
    byReference = .none
  }
}
