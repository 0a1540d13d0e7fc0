import Foundation

/// A plot of lines, as an SVG image. Both axes are logarithmic or linear.
struct Plot {
  struct Series {
    let name: String
    let points: [(x: Double, y: Double)]
    /// Whether it is a floor, which is drawn dashed.
    var isFloor = false
  }

  struct Axis {
    let label: String
    let isLogarithmic: Bool
    /// The values with a line and a number.
    let ticks: [Double]

    /// The place of a value, from 0 at the first tick to 1 at the last.
    fileprivate func place(of value: Double) -> Double {
      guard let first = ticks.first, let last = ticks.last, first < last else { return 0 }
      if isLogarithmic { return (log(value) - log(first)) / (log(last) - log(first)) }
      return (value - first) / (last - first)
    }
  }

  let title: String
  let x: Axis
  let y: Axis
  let series: [Series]

  private static let (width, height) = (760.0, 420.0)
  private static let (left, right, top, bottom) = (70.0, 200.0, 40.0, 50.0)
  private static let colors = ["#0b6e99", "#c2410c", "#4d7c0f", "#7e22ce", "#be123c", "#475569"]

  var svg: String {
    var parts = [
      """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(text(Self.width)) \(text(Self.height))" \
      font-family="sans-serif" font-size="12">
      <rect width="100%" height="100%" fill="white"/>
      <text x="\(text(Self.left))" y="22" font-size="15">\(title)</text>
      """
    ]
    for tick in x.ticks {
      let (place, end) = (horizontal(tick), Self.height - Self.bottom)
      parts.append(line((place, Self.top), (place, end), "#e2e8f0"))
      parts.append(label(number(tick), at: (place, end + 16), anchor: "middle"))
    }
    for tick in y.ticks {
      let place = vertical(tick)
      parts.append(line((Self.left, place), (Self.width - Self.right, place), "#e2e8f0"))
      parts.append(label(number(tick), at: (Self.left - 6, place + 4), anchor: "end"))
    }
    let middle = (Self.left + Self.width - Self.right) / 2
    parts.append(label(x.label, at: (middle, Self.height - 12), anchor: "middle"))
    parts.append(label(y.label, at: (8, Self.top - 6), anchor: "start"))
    for (index, series) in series.enumerated() {
      let color = Self.colors[index % Self.colors.count]
      let dashes = series.isFloor ? #" stroke-dasharray="6 4""# : ""
      let path = series.points.map { "\(text(horizontal($0.x))),\(text(vertical($0.y)))" }.joined(separator: " ")
      parts.append(#"<polyline points="\#(path)" fill="none" stroke="\#(color)" stroke-width="2"\#(dashes)/>"#)
      let row = Self.top + 16 + Double(index) * 18
      let start = Self.width - Self.right + 14
      parts.append(
        #"<line x1="\#(text(start))" y1="\#(text(row - 4))" x2="\#(text(start + 24))" y2="\#(text(row - 4))" "#
          + #"stroke="\#(color)" stroke-width="2"\#(dashes)/>"#
      )
      parts.append(label(series.name, at: (start + 30, row), anchor: "start"))
    }
    return (parts + ["</svg>", ""]).joined(separator: "\n")
  }

  private func horizontal(_ value: Double) -> Double {
    Self.left + bounded(x.place(of: value)) * (Self.width - Self.left - Self.right)
  }

  private func vertical(_ value: Double) -> Double {
    Self.height - Self.bottom - bounded(y.place(of: value)) * (Self.height - Self.top - Self.bottom)
  }

  /// A value beyond the axis is drawn at its end.
  private func bounded(_ place: Double) -> Double { min(max(place, 0), 1) }

  private func line(_ from: (Double, Double), _ to: (Double, Double), _ color: String) -> String {
    #"<line x1="\#(text(from.0))" y1="\#(text(from.1))" x2="\#(text(to.0))" y2="\#(text(to.1))" stroke="\#(color)"/>"#
  }

  private func label(_ name: String, at place: (Double, Double), anchor: String) -> String {
    #"<text x="\#(text(place.0))" y="\#(text(place.1))" text-anchor="\#(anchor)">\#(name)</text>"#
  }

  private func text(_ value: Double) -> String { String(format: "%.1f", value) }

  private func number(_ value: Double) -> String {
    value >= 1_000 ? String(format: "%g k", value / 1_000) : String(format: "%g", value)
  }
}
