/// The version that the replies and the messages of the server have verified, and the earlier ones.
struct VerifiedVersions: Sendable {
  /// The verified version. The confirmed state may be newer: an edit without a revision.
  private(set) var last = VerifiedVersion()
  /// Counts the changes of `last`: the answer to a question asked before the newest change may be out of date.
  private(set) var changes: UInt64 = 0
  /// The metas that the verified version may have instead: its commit was sent several times, with other lineages. A
  /// read decides.
  private(set) var alternatives: [Meta] = []
  /// The versions that were verified lately. The link bounds its size.
  var memory = Memory()
  private var highest = Revision.none

  /// The highest verified revision. One close to the largest revision counts only while its version is the last one.
  var floor: Revision { max(highest, last.revision) }

  /// Raises the floor to a verified revision.
  mutating func raiseFloor(to revision: Revision) {
    if revision <= .largestFloor { highest = max(highest, revision) }
  }

  /// Adds a version, which is the verified one from now on.
  ///
  /// - Parameter isOnlyAnnounced: Whether only a message has shown it.
  mutating func add(_ meta: Meta?, _ content: StoredValue.Content, _ vitals: Vitals?, isOnlyAnnounced: Bool = false) {
    if last.meta?.version != meta?.version || last.content != content { changes += 1 }
    last = VerifiedVersion(meta, content, seenWith: vitals, isOnlyAnnounced: isOnlyAnnounced)
    alternatives = []
    if let meta { memory.remember(meta, content) }
  }

  /// The server may be another replica, which lags behind the one that has announced the version.
  mutating func believe() { last.believe() }

  /// The verified version may have one of these metas instead.
  mutating func note(alternatives: [Meta]) {
    self.alternatives = alternatives
  }

  /// A read shows which of its metas the verified version has.
  mutating func decideMeta(by stored: Meta?) {
    guard !alternatives.isEmpty else { return }
    let meta = alternatives.first { stored?.lineage.names($0.version) ?? false }
    if let meta { add(meta, last.content, last.sighting) }
    alternatives = []
  }

  /// The verified version was restored with this meta.
  mutating func restored(_ meta: Meta, _ vitals: Vitals?) {
    last = VerifiedVersion(meta, last.content, seenWith: vitals)
  }

  /// A question asked before now may be answered before the restoration that a message has announced.
  mutating func outdateQuestions() {
    changes += 1
  }
}
