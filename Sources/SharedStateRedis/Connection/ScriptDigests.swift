import Synchronization

/// What a server knows the scripts by; `nil`: the user may not load scripts, so the source is sent each time.
package struct ScriptDigests: Hashable, Sendable {
  package var commit: String?
  package var restore: String?

  package init(commit: String? = nil, restore: String? = nil) {
    self.commit = commit
    self.restore = restore
  }
}

/// What a server has said that it knows the scripts by, for the next connection to it.
final class KnownDigests: Sendable {
  private let digests = Mutex(ScriptDigests())

  var value: ScriptDigests {
    get { digests.withLock { $0 } }
    set { digests.withLock { $0 = newValue } }
  }
}
