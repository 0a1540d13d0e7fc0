import Foundation

/// The report of a run: tables in Markdown, and plots beside them. It names the machine and the versions, but no host.
struct Report {
  let table: Table
  let plots: [(file: String, plot: Plot)]
  let server: String

  /// Writes `REPORT.md` and the plots into the present folder.
  func write() throws {
    for (file, plot) in plots { try plot.svg.write(toFile: file, atomically: true, encoding: .utf8) }
    try text.write(toFile: "REPORT.md", atomically: true, encoding: .utf8)
  }

  private var text: String {
    let images = plots.map { "![\($0.plot.title)](\($0.file))\n" }.joined(separator: "\n")
    return """
      # Benchmark report

      Made by `make bench`; see [README.md](README.md) for what each line means. Every figure has its floor beside it,
      from the same run.

      | | |
      | --- | --- |
      | date | \(Self.date) |
      | processor | \(Self.processor), \(ProcessInfo.processInfo.activeProcessorCount) cores |
      | memory | \(ProcessInfo.processInfo.physicalMemory >> 30) GiB |
      | kernel | \(Self.firstLine("/proc/sys/kernel/osrelease")) |
      | Swift | \(Self.swift) |
      | Redis | \(server), on 127.0.0.1, without persistence |

      \(images)
      \(table.markdown)
      """
  }

  private static var date: String {
    let style = Date.ISO8601FormatStyle().year().month().day()
    return Date.now.formatted(style)
  }

  private static var processor: String {
    let lines = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
    let model = lines.split(separator: "\n").first { $0.hasPrefix("model name") }
    return model?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown"
  }

  private static func firstLine(_ path: String) -> String {
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? "unknown"
    return text.split(separator: "\n").first.map(String.init) ?? "unknown"
  }

  private static var swift: String {
    #if swift(>=6.4)
      "6.4 or later"
    #elseif swift(>=6.3)
      "6.3"
    #else
      "6.2"
    #endif
  }
}
