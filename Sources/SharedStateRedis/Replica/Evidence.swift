/// The version that the replies and the messages of the server prove, and the earlier ones.
struct Evidence: Sendable {
  /// The version with evidence. The confirmed state may be newer: an edit without a revision.
  private(set) var held = Held()
  /// Counts the changes of `held`: the answer to a question asked before the last one may be out of date.
  private(set) var changes: UInt64 = 0
  /// The metas that the held version may have instead: its commit was sent several times, with other lineages. A read
  /// decides.
  private(set) var alternatives: [Meta] = []
  /// The versions held lately. The link bounds its size.
  var memory = Memory()
  private var highest = Revision.none

  /// The highest revision with evidence. One close to the largest revision counts only while it is held.
  var floor: Revision { max(highest, held.revision) }

  /// Raises the floor to a revision with evidence.
  mutating func raiseFloor(to revision: Revision) {
    if revision <= .largestFloor { highest = max(highest, revision) }
  }

  /// Holds a version for which there is evidence.
  mutating func hold(_ meta: Meta?, _ content: StoredValue.Content, _ vitals: Vitals?) {
    if held.meta?.version != meta?.version || held.content != content { changes += 1 }
    held = Held(meta, content, seenWith: vitals)
    alternatives = []
    if let meta { memory.remember(meta, content) }
  }

  /// The held version may have one of these metas instead.
  mutating func hold(or alternatives: [Meta]) {
    self.alternatives = alternatives
  }

  /// A read shows which of its metas the held version has.
  mutating func decide(by stored: Meta?) {
    guard !alternatives.isEmpty else { return }
    let meta = alternatives.first { stored?.lineage.names($0.version) ?? false }
    if let meta { hold(meta, held.content, held.sighting) }
    alternatives = []
  }

  /// The held version was restored with this meta.
  mutating func restored(_ meta: Meta, _ vitals: Vitals?) {
    held = Held(meta, held.content, seenWith: vitals)
  }

  /// A question asked before now may be answered before the restoration that a message has announced.
  mutating func outdateQuestions() {
    changes += 1
  }
}
