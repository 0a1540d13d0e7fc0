import Foundation
import SwiftParser
import SwiftSyntax

// Compares the results of the macros' parser and of SwiftSyntax, for each declaration of a type in the files and
// folders that are the arguments: as it is, and with a comment wherever there is white space. Fails when they differ.

var known: Set<Int> = []
var counts: [String: Int] = [:]
var files = 0
var disagreements = 0

for path in CommandLine.arguments.dropFirst() {
  for file in swiftFiles(below: path) {
    guard let text = try? String(contentsOfFile: file, encoding: .utf8), known.insert(text.hashValue).inserted else {
      continue
    }
    files += 1
    let visitor = TypeVisitor(viewMode: .sourceAccurate)
    visitor.walk(SwiftParser.Parser.parse(source: text))
    for declaration in visitor.declarations {
      let text = declaration.description
      guard !declaration.hasError, known.insert(text.hashValue).inserted else { continue }
      let theirs = SyntaxSummary.lines(of: declaration)
      counts[theirs[0].split(separator: " ").first.map(String.init) ?? "", default: 0] += 1
      for text in [text, commented(declaration)] {
        let ours: [String]
        do {
          ours = ParserSummary.lines(of: try Parser.declaration(in: text))
        } catch {
          ours = ["not read: \(error)"]
        }
        if let difference = zip(theirs + [""], ours + [""]).first(where: { $0 != $1 }) {
          disagreements += 1
          print("\(file): \(theirs[0])\n  SwiftSyntax reads:  \(difference.0)\n  SharedStateStore's: \(difference.1)")
        }
      }
    }
  }
}

let total = counts.values.reduce(0, +)
let kinds = counts.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }.joined(separator: ", ")
print("\(total) declarations in \(files) files: \(kinds). SwiftSyntax reads \(disagreements) in another way.")
exit(total > 0 && disagreements == 0 ? 0 : 1)

/// The declaration with a comment, which looks like code, wherever there is white space between its tokens.
func commented(_ declaration: DeclSyntax) -> String {
  func commented(_ trivia: Trivia) -> String {
    trivia.contains(where: \.isWhitespace) ? trivia.description + "/* case x(\" { /* } */ */ " : trivia.description
  }
  return declaration.tokens(viewMode: .sourceAccurate).map { token in
    // The indentation of the lines of a string is not white space.
    if isInString(token) { return token.description }
    return commented(token.leadingTrivia) + token.text + commented(token.trailingTrivia)
  }.joined()
}

func isInString(_ token: TokenSyntax) -> Bool {
  sequence(first: Syntax(token), next: \.parent).contains {
    $0.is(StringLiteralExprSyntax.self) || $0.is(SimpleStringLiteralExprSyntax.self)
  }
}

/// The sources, and the interfaces of modules, in a folder.
func swiftFiles(below path: String) -> [String] {
  guard let enumerator = FileManager.default.enumerator(atPath: path) else { return [path] }
  let files = enumerator.compactMap { $0 as? String }
  return files.filter { $0.hasSuffix(".swift") || $0.hasSuffix(".swiftinterface") }.sorted().map { path + "/" + $0 }
}

/// Finds all types, at any depth.
final class TypeVisitor: SyntaxVisitor {
  var declarations: [DeclSyntax] = []

  override func visit(_ node: StructDeclSyntax) -> SyntaxVisitorContinueKind { add(node) }
  override func visit(_ node: EnumDeclSyntax) -> SyntaxVisitorContinueKind { add(node) }
  override func visit(_ node: ClassDeclSyntax) -> SyntaxVisitorContinueKind { add(node) }
  override func visit(_ node: ActorDeclSyntax) -> SyntaxVisitorContinueKind { add(node) }
  override func visit(_ node: ProtocolDeclSyntax) -> SyntaxVisitorContinueKind { add(node) }
  override func visit(_ node: ExtensionDeclSyntax) -> SyntaxVisitorContinueKind { add(node) }

  private func add(_ node: some DeclSyntaxProtocol) -> SyntaxVisitorContinueKind {
    declarations.append(DeclSyntax(node))
    return .visitChildren
  }
}
