/// The participants of a world: tasks, numbered in the order in which they first appear, which is the same in every
/// run.
struct Participants: Sendable {
  /// The participant whose job is running.
  var current = 0
  private(set) var names: [String] = ["the world"]
  private var numbers: [UInt64: Int] = [:]
  /// Participants that were announced and have not ended.
  private var open: Set<Int> = []
  /// The participant that was announced and has no task yet.
  private var expected: Int?

  /// The names of the participants that were announced and have not ended.
  var present: [String] { open.sorted().map { names[$0] } }

  /// Names the next task that begins.
  mutating func announce(_ name: String) -> Int {
    let namesakes = open.count { names[$0] == name || names[$0].hasPrefix("\(name) (") }
    names.append(namesakes == 0 ? name : "\(name) (\(namesakes + 1))")
    open.insert(names.count - 1)
    expected = names.count - 1
    return names.count - 1
  }

  mutating func end(_ participant: Int) {
    open.remove(participant)
    if expected == participant { expected = nil }
  }

  /// The participant of a job, by its task. A job without a task belongs to the running participant.
  mutating func participant(of task: UInt64) -> Int {
    guard task != 0 else { return current }
    if let known = numbers[task] { return known }
    if let expected {
      numbers[task] = expected
      self.expected = nil
      return expected
    }
    names.append("a task of \(names[current])")
    numbers[task] = names.count - 1
    return names.count - 1
  }
}
