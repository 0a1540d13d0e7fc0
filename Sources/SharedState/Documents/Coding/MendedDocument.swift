import Foundation

/// A document whose unreadable members are replaced by those of other documents, so that the rest can be read.
///
/// Each error of reading it names a place. The innermost member or entry there gets the value that the first substitute
/// with the same surroundings has. It is removed if that has none, as it is if no substitute has the surroundings: an
/// optional is `nil` then, and an entry is absent. If the document still cannot be read there, the value around it is
/// replaced in the same way. Nothing replaces the document as a whole.
///
/// An element of a list or a set has no substitute, because its identity cannot be read. It is left out by the decoding
/// of the list, if the elements have identities, and otherwise the list is replaced as a whole.
struct MendedDocument {
  /// After more failures than this, the document counts as unreadable.
  static let maximumFailures = 100

  private enum Step: Hashable { case name(String), index(Int) }
  private typealias Path = ArraySlice<Step>

  /// What is read instead of the original.
  private(set) var document: JSONDocument
  /// The places that could not be read, without those that the replacement of others has caused.
  private(set) var failures: [DecodingFailure] = []
  private let substitutes: [DocumentReader]
  private let options: DecodingOptions
  /// The places that were replaced, removed or left out. None is inside another.
  private var mendedPaths: [Path] = []
  private var count = 0

  init(_ document: JSONDocument, by substitutes: [JSONDocument], _ options: DecodingOptions) {
    self.document = document
    self.options = options
    self.substitutes = substitutes.map { DocumentReader($0, options) }
  }

  /// The elements that are left out, by the numbers of their nodes.
  var leftOut: Set<Int> {
    let elements = mendedPaths.filter { if case .index = $0.last { true } else { false } }
    guard !elements.isEmpty else { return [] }
    let reader = DocumentReader(document, options)
    return Set(elements.compactMap { Self.node(at: $0, in: reader) })
  }

  /// Mends the place that an error names.
  /// - Returns: Whether something has changed, so that it is worth to read the document again.
  mutating func mend(_ error: DecodingError) -> Bool {
    count += 1
    guard count <= Self.maximumFailures else { return false }
    let path = Self.path(of: error)
    if let earlier = mendedPaths.first(where: { path.starts(with: $0) }) { return replace(earlier.dropLast()) }
    let isConsequence = mendedPaths.contains { $0.starts(with: path) }
    if !isConsequence { failures.append(DecodingFailure(error, in: document)) }
    return replace(path)
  }

  /// Replaces the value at a path, or the innermost one around it that can be replaced.
  private mutating func replace(_ path: Path) -> Bool {
    var path = path
    while !path.isEmpty {
      // Whatever is inside an element, the merge of a list would not find that again.
      if let index = path.firstIndex(where: { if case .index = $0 { true } else { false } }) {
        let element = path[...index]
        if !mendedPaths.contains(element) {
          note(element)
          return true
        }
        path = element.dropLast()
      } else if let mended = replaced(path) {
        document = mended
        note(path)
        return true
      } else {
        path = path.dropLast()
      }
    }
    return false
  }

  private mutating func note(_ path: Path) {
    mendedPaths.removeAll { $0.starts(with: path) }
    mendedPaths.append(path)
  }

  /// The document with another value at a path of names, or without one; `nil` if nothing would change.
  private func replaced(_ path: Path) -> JSONDocument? {
    let reader = DocumentReader(document, options)
    guard let name = path.last, let object = Self.node(at: path.dropLast(), in: reader),
      document.nodes[object].kind == .object
    else { return nil }
    let value = Self.inner(name, of: object, in: reader)
    for substitute in substitutes {
      guard let other = Self.node(at: path.dropLast(), in: substitute), substitute.kind(other) == .object else {
        continue
      }
      guard let node = Self.inner(name, of: other, in: substitute) else { break }
      let text = substitute.document.text(of: node)
      guard let value else {
        return document.adding([substitute.document.text(of: node - 1), [UInt8(ascii: ":")], text], to: object)
      }
      return document.text(of: value) == text
        ? nil : document.replacing(document.nodes[value].range, with: Array(text))
    }
    return value.flatMap { document.removing(memberAt: $0, of: object) }
  }

  // MARK: Paths

  private static func path(of error: DecodingError) -> Path {
    let keys: [any CodingKey] =
      switch error {
      case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
        context.codingPath
      case .keyNotFound(let key, let context): context.codingPath + [key]
      @unknown default: []
      }
    return keys.map(step)[...]
  }

  private static func step(_ key: any CodingKey) -> Step {
    let name = key.stringValue
    if let key = key as? PathKey {
      if let index = key.index { return .index(index) }
    } else if let index = key.intValue, name == "Index \(index)" {
      return .index(index)
    }
    return .name(name)
  }

  private static func node(at path: Path, in reader: DocumentReader) -> Int? {
    var node = 0
    for step in path {
      guard let next = inner(step, of: node, in: reader) else { return nil }
      node = next
    }
    return node
  }

  private static func inner(_ step: Step, of node: Int, in reader: DocumentReader) -> Int? {
    switch (step, reader.kind(node)) {
    case (.name(let name), .object):
      // The keys of most dictionaries are not converted, the names of members may be.
      return reader.member(named: name, of: node)
        ?? (reader.options.usesPlainKeys ? nil : reader.converted(node)[name])
    case (.index(let index), .array):
      var element = node + 1
      let end = Int(reader.document.nodes[node].next)
      for _ in 0..<max(index, 0) where element < end { element = Int(reader.document.nodes[element].next) }
      return element < end && index >= 0 ? element : nil
    default: return nil
    }
  }
}

extension JSONDocument {
  /// The document with another text at a place; `nil` if that is no document.
  fileprivate func replacing(_ range: Range<Int>, with text: [UInt8]) -> JSONDocument? {
    var bytes = bytes
    bytes.replaceSubrange(range, with: text)
    return try? JSONDocument(parsing: Data(bytes))
  }

  /// The document with another member at the beginning of an object.
  fileprivate func adding(_ member: [ArraySlice<UInt8>], to object: Int) -> JSONDocument? {
    let start = Int(nodes[object].lower) + 1
    let isEmpty = Int(nodes[object].next) == object + 1
    return replacing(start..<start, with: member.flatMap { $0 } + (isEmpty ? [] : [UInt8(ascii: ",")]))
  }

  /// The document without a member. If that is repeated, the next repetition counts.
  fileprivate func removing(memberAt value: Int, of object: Int) -> JSONDocument? {
    let items = Array(JSONItems(self, of: object))
    guard let index = items.firstIndex(where: { $0.value == value }) else { return nil }
    var range = items[index].range
    if index > 0 {
      range = (range.lowerBound - 1)..<range.upperBound
    } else if items.count > 1 {
      range = range.lowerBound..<(range.upperBound + 1)
    }
    return replacing(range, with: [])
  }
}
