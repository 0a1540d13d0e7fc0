/// A job that has run, or something else that has happened.
struct WorldStep: Hashable, Sendable {
  let time: Duration
  /// Whose it was.
  let participant: Int
}

/// What has happened in a world.
struct WorldRecord: Sendable {
  let steps: [WorldStep]
  let names: [String]
  /// Who waits.
  let waiting: [String]
  let jobsFromOutside: Int

  /// A line for each time that somebody has gone on, with the steps that he has taken.
  ///
  /// - Parameter maximum: How many; the last ones are told.
  func text(last maximum: Int = .max) -> String {
    var lines: [(step: WorldStep, count: Int)] = []
    for step in steps {
      if lines.last?.step == step { lines[lines.count - 1].count += 1 } else { lines.append((step, 1)) }
    }
    let left = lines.count - min(lines.count, maximum)
    let told = lines[left...].map { line in
      "\(milliseconds(line.step.time))  \(names[line.step.participant])\(line.count > 1 ? " ×\(line.count)" : "")"
    }
    return ((left > 0 ? ["… after \(left) lines"] : []) + told).joined(separator: "\n")
  }

  private func milliseconds(_ time: Duration) -> String {
    let microseconds = Int64(time / .microseconds(1))
    let fraction = String(microseconds % 1_000)
    return "\(microseconds / 1_000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction) ms"
  }
}
