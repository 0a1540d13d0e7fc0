/// What a server knows the scripts by; `nil`: the user may not load scripts, so the source is sent each time.
package struct ScriptDigests: Hashable, Sendable {
  package var commit: String?
  package var restore: String?

  package init(commit: String? = nil, restore: String? = nil) {
    self.commit = commit
    self.restore = restore
  }
}
