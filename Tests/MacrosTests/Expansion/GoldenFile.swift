import Foundation
import Testing

@testable import SharedStateMacroExpansion

/// A request to a macro, and its expansion in each of the macro's roles.
///
/// The header lines say what the compiler adds to the declaration. Each part begins with a line of `===`.
struct GoldenFile: CustomTestStringConvertible, Sendable {
  let url: URL
  private var request = ExpansionRequest()
  private(set) var parts: [(role: String, text: String)] = []

  var testDescription: String { url.deletingPathExtension().lastPathComponent }

  static let all: [GoldenFile] = {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden")
    let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
    return files.filter { $0.pathExtension == "txt" }.sorted { $0.path < $1.path }.map(GoldenFile.init)
  }()

  private init(_ url: URL) {
    self.url = url
    let text = (try? String(contentsOf: url, encoding: .utf8)) ?? ""
    var name = ""
    var lines: [Substring] = []
    func finish() {
      let text = lines.joined(separator: "\n").trimmingCharacters(in: .newlines)
      if name == "declaration" { request.declaration = text } else if !name.isEmpty { parts.append((name, text)) }
    }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("=== ") {
        finish()
        (name, lines) = (String(line.dropFirst(4)), [])
      } else if name.isEmpty, let colon = line.firstIndex(of: ":") {
        set(line[..<colon], to: line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces))
      } else {
        lines.append(line)
      }
    }
    finish()
  }

  private mutating func set(_ name: Substring, to value: String) {
    switch name {
    case "macro": request.macro = value
    case "attribute": request.attribute = value
    case "type": request.type = value
    case "conforms": request.conformances = "struct Placeholder: \(value) {}"
    default: request.context.append(value)
    }
  }

  var declaration: String { request.declaration }

  /// The expansion in a role; for member attributes, the attributes of each member.
  func expansion(_ role: String) -> String {
    guard role == "memberAttribute" else { return text(of: request, in: role) }
    let source = Array(request.declaration.utf8)
    let members = (try? Parser.declaration(in: request.declaration).allDeclarations) ?? []
    return members.map { member in
      var request = request
      request.parent = request.declaration
      request.declaration = String(decoding: source[member.range], as: UTF8.self)
      let name = member.bindings.first?.pattern.text ?? member.cases.first?.name ?? member.name
      let attributes = text(of: request, in: role).replacing("\n", with: " ")
      return "\(member.keyword) \(name): \(attributes)".trimmingCharacters(in: .whitespaces)
    }.joined(separator: "\n")
  }

  private func text(of request: ExpansionRequest, in role: String) -> String {
    var request = request
    request.role = role
    let expansion = request.run()
    let diagnostics = expansion.diagnostics.map { diagnostic -> String in
      let place =
        switch diagnostic.place {
        case .attribute: "the attribute"
        case .declaration(let offset): Self.place(offset, in: request.declaration)
        }
      return "\(diagnostic.severity) at \(place): \(diagnostic.message)"
    }
    return ((expansion.source.map { [$0] } ?? []) + diagnostics).joined(separator: "\n")
      .trimmingCharacters(in: .newlines)
  }

  private static func place(_ offset: Int, in text: String) -> String {
    let lines = Array(text.utf8.prefix(offset)).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return "\(lines.count):\((lines.last?.count ?? 0) + 1)"
  }

  /// Writes the present expansions into the file.
  func update() throws {
    var text = try String(contentsOf: url, encoding: .utf8)
    if let end = text.range(
      of: "\n=== ",
      range: (text.range(of: "=== declaration\n")?.upperBound ?? text.startIndex)..<text.endIndex
    ) {
      text = String(text[..<end.lowerBound]) + "\n"
    }
    text = text.trimmingCharacters(in: .newlines) + "\n"
    for part in parts { text += "=== \(part.role)\n\(expansion(part.role))\n" }
    try text.write(to: url, atomically: true, encoding: .utf8)
  }
}
