/// One line of a table: a figure, and its floor from the same run.
struct Row {
  enum Target {
    /// The figure is at most this, in its unit.
    case atMost(Double)
    /// The ratio to the floor is at most this.
    case ratioAtMost(Double)
    case ratioAtLeast(Double)
    case atLeast(Double)
  }

  let name: String
  let figure: Double
  let floor: Double?
  let unit: String
  var target: Target?
  var note = ""

  var ratio: Double? { floor.map { figure / $0 } }

  var isMet: Bool? {
    switch target {
    case nil: nil
    case .atMost(let limit): figure <= limit
    case .atLeast(let limit): figure >= limit
    case .ratioAtMost(let limit): ratio.map { $0 <= limit }
    case .ratioAtLeast(let limit): ratio.map { $0 >= limit }
    }
  }

  var cells: [String] {
    let targetText =
      switch target {
      case nil: ""
      case .atMost(let limit): "≤ \(number(limit))"
      case .atLeast(let limit): "≥ \(number(limit))"
      case .ratioAtMost(let limit): "≤ \(number(limit))×"
      case .ratioAtLeast(let limit): "≥ \(number(limit))×"
      }
    return [
      name, number(figure), floor.map(number) ?? "", unit, ratio.map { fixed($0, 2) + "×" } ?? "", targetText,
      isMet.map { $0 ? "ok" : "over" } ?? "", note,
    ]
  }

  private func number(_ value: Double) -> String {
    if value >= 1_000 { return grouped(Int(value.rounded())) }
    return value == value.rounded() ? String(Int(value)) : fixed(value, value < 10 ? 2 : 1)
  }

  private func fixed(_ value: Double, _ digits: Int) -> String {
    let scale = digits == 1 ? 10 : 100
    let scaled = Int((value * Double(scale)).rounded())
    let fraction = String(scaled % scale)
    return "\(scaled / scale)." + String(repeating: "0", count: digits - fraction.count) + fraction
  }

  private func grouped(_ value: Int) -> String {
    var text = ""
    for (index, digit) in String(value).reversed().enumerated() {
      if index > 0, index % 3 == 0 { text.append(",") }
      text.append(digit)
    }
    return String(text.reversed())
  }
}

/// Prints rows in columns, under headings.
struct Table {
  private var sections: [(heading: String, rows: [Row])] = []

  mutating func append(_ heading: String, _ rows: [Row]) {
    sections.append((heading, rows))
  }

  func print() {
    let head = ["", "figure", "floor", "unit", "ratio", "target", "", ""]
    let lines = sections.flatMap { $0.rows.map(\.cells) }
    let widths = head.indices.map { column in ([head] + lines).map { $0[column].count }.max() ?? 0 }
    Swift.print(line(head, widths))
    for section in sections {
      Swift.print("\n\(section.heading)")
      for row in section.rows { Swift.print(line(row.cells, widths)) }
    }
  }

  /// The table in Markdown.
  var markdown: String {
    sections.map { section in
      let rows = section.rows.map { "| " + $0.cells.joined(separator: " | ") + " |" }
      let head = ["## \(section.heading)", "", "| | figure | floor | unit | ratio | target | | |"]
      return (head + ["| --- | ---: | ---: | --- | ---: | --- | --- | --- |"] + rows + [""]).joined(separator: "\n")
    }
    .joined(separator: "\n")
  }

  /// Prints heading, name and figure of each row, for programs.
  func printFigures() {
    for section in sections {
      for row in section.rows {
        Swift.print([section.heading, "\(row.name) \(row.note)", "\(row.figure)"].joined(separator: "\t"))
      }
    }
  }

  private func line(_ cells: [String], _ widths: [Int]) -> String {
    var text = ""
    for (column, cell) in cells.enumerated() {
      let padding = String(repeating: " ", count: widths[column] - cell.count)
      // Numbers are aligned to the right, words to the left.
      let isNumber = [1, 2, 4].contains(column)
      text += (column == 0 ? "  " : "   ") + (isNumber ? padding + cell : cell + padding)
    }
    while text.last == " " { text.removeLast() }
    return text
  }
}
