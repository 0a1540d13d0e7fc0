/// A received value never overwrites a change that the server has not acknowledged, and a service is never notified of
/// its own change.
struct NoEchoValidator: Validator {
  private struct Content {
    var document: RedisHistory.Document
    let initial: RedisHistory.Document
    let opened: Int
    /// The newest revision of a received value; `nil`: none was received.
    var shown: UInt64?
    var newest = 0
    /// The changes that are acknowledged or given up.
    var settled = 0
    /// The event at which a change was given up last.
    var conceded = 0
  }

  private struct Author {
    let service: String
    let position: Int
  }

  /// The names of values whose acknowledgements are all recorded, so that unacknowledged changes are known.
  private var watched: Set<String> = []
  private var boxes: [RedisHistory.Box: Content] = [:]
  /// For each value, the services that made its revisions by changes of their own.
  private var authors: [String: [UInt64: Author]] = [:]
  /// The names under which something unreadable was stored. A value that a box shows after that is news, whoever wrote
  /// it.
  private var unreadable: Set<String> = []
  /// The documents that were stored without a revision, and the events that stored them. They are news to every
  /// service, and are shown under an earlier revision.
  private var unrevised: [String: [RedisHistory.Document: Int]] = [:]

  mutating func observe(_ event: RedisHistory.Event, at position: Int) -> [String] {
    switch event {
    case .declared(let name, let rules):
      if rules.isWatched { watched.insert(name) }
    case .opened(let box, let initial, _):
      boxes[box] = Content(document: initial, initial: initial, opened: position)
    case .changed(let box, let number, let fields):
      boxes[box]?.newest = number
      boxes[box]?.document.change(by: fields)
    case .acknowledged(let box, let number, _), .conceded(let box, let number), .notEncodable(let box, let number):
      guard let settled = boxes[box]?.settled else { break }
      boxes[box]?.settled = max(settled, number)
      if case .acknowledged = event { break }
      boxes[box]?.conceded = position
    case .committed(let commit):
      observe(commit, at: position)
    case .edited(let name, _, let stored?):
      note(stored, of: name, at: position)
    case .shown(let box, let document, let revision, isFromOutside: true):
      return show(document, revision, in: box)
    case .shown(let box, let document, _, isFromOutside: false):
      guard let initial = boxes[box]?.initial else { break }
      boxes[box]?.document = document ?? initial
    default: break
    }
    return []
  }

  private mutating func observe(_ commit: RedisHistory.Commit, at position: Int) {
    note(commit.after, of: commit.name, at: position)
    // A restored revision keeps its author.
    if commit.cause == .restoration { return }
    var author: Author?
    if case .change = commit.cause, let box = commit.box { author = Author(service: box.service, position: position) }
    // A server that has lost a revision may assign it a second time, to another service.
    authors[commit.name, default: [:]][commit.after.revision] = author
  }

  private mutating func note(_ stored: RedisHistory.Stored, of name: String, at position: Int) {
    switch stored.content {
    case .unreadable: unreadable.insert(name)
    case .document(let document) where stored.revision == 0: unrevised[name, default: [:]][document] = position
    case .document, .absent: break
    }
  }

  private mutating func show(_ document: RedisHistory.Document?, _ revision: UInt64?, in box: RedisHistory.Box)
    -> [String]
  {
    guard var content = boxes[box] else { return [] }
    let violation = echo(document, revision, in: box, content)
    content.document = document ?? content.initial
    content.shown = max(content.shown ?? 0, revision ?? 0)
    boxes[box] = content
    return violation.map { [$0] } ?? []
  }

  private func echo(
    _ document: RedisHistory.Document?,
    _ revision: UInt64?,
    in box: RedisHistory.Box,
    _ content: Content
  ) -> String? {
    if content.newest > content.settled, watched.contains(box.name) {
      return "\(box) lost its change \(content.newest); only changes through \(content.settled) are settled"
    }
    guard let revision, document == content.document, let author = authors[box.name]?[revision],
      author.service == box.service
    else { return nil }
    // A new share may find a value that an earlier share of the same service has written.
    if author.position < content.opened, content.shown == nil { return nil }
    if unreadable.contains(box.name) { return nil }
    // A service that has given up the change does not know that it took effect.
    if author.position < content.conceded { return nil }
    let isNews = unrevised[box.name]?.contains {
      $1 > author.position && content.document.shows($0, default: content.initial)
    }
    if isNews ?? false { return nil }
    // The server had lost the revision, and the box has shown another value instead.
    if let shown = content.shown, shown >= revision { return nil }
    return "\(box) was notified of its own \(revision) (event \(author.position)): \(content.document)"
  }
}
