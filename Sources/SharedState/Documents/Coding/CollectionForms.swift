/// The coders with which the forms of a document read and write.
struct FormCoders: Sendable {
  let encoder: DocumentEncoder
  let decoder: DocumentDecoder

  /// Makes a function that reads a value of a type from any node, with the text that this library's encoder writes for
  /// it.
  func reading<Value: Encodable & Hashable>(
    _ type: any Decodable.Type,
    as _: Value.Type
  ) -> @Sendable (JSONDocument, Int) -> Reading? {
    // The conformances are those that a value of the type was just written with.
    nonisolated(unsafe) let read = { (document: JSONDocument, node: Int) -> Reading? in
      guard let value = try? decoder.decode(type, at: node, of: document) as? Value,
        let text = try? encoder.text(of: value)
      else { return nil }
      return Reading(identity: Identity(value), text: text)
    }
    return { read($0, $1) }
  }
}

/// The forms of the values in a text, by the offsets of the values.
final class FormRecorder {
  let coders: FormCoders
  private(set) var entries: [(offset: Int, form: Form)] = []

  init(_ coders: FormCoders) {
    self.coders = coders
  }

  var count: Int { entries.count }

  func append(_ form: Form, at offset: Int) {
    entries.append((offset, form))
  }

  func append(_ other: FormRecorder?, at offset: Int) {
    entries += other?.entries.map { ($0.offset + offset, $0.form) } ?? []
  }

  /// Copies the forms of the values that begin in a part of the text to another recorder.
  func copy(from start: Int, through end: Int, to other: FormRecorder?, shiftedBy shift: Int) {
    for entry in entries where start < entry.offset && entry.offset <= end || entry.offset == 0 && start == 0 {
      other?.append(entry.form, at: entry.offset + shift)
    }
  }

  func truncate(to count: Int) {
    entries.removeLast(entries.count - count)
  }

  /// The forms for a text in which values have other offsets, or are missing.
  func moved(_ newOffset: (Int) -> Int?) -> FormRecorder {
    let moved = FormRecorder(coders)
    for entry in entries {
      if let offset = newOffset(entry.offset) { moved.append(entry.form, at: offset) }
    }
    return moved
  }
}

/// A list whose elements have identities, and which is written as a plain array of its elements.
protocol IdentityList: Encodable {
  associatedtype ListElement: Encodable
  associatedtype ListID: Hashable

  /// The elements in their order.
  var listElements: [ListElement] { get }

  /// Returns the identity of an element of this list or of a similar one. It captures nothing that changes, because any
  /// thread may call it.
  var listID: (ListElement) -> ListID { get }
}

extension IdentityList {
  static var listEncoding: TypeEncoding { IdentityListEncoding<Self>() }
}

private final class IdentityListEncoding<List: IdentityList>: ValueEncoding<List>, @unchecked Sendable {
  private let element = TypeEncoding.of(List.ListElement.self)

  override func write(_ list: List, key: (any CodingKey)?, to writer: DocumentWriter) throws {
    let elements = list.listElements
    if let forms = writer.forms, let form = forms.coders.listForm(of: elements, id: list.listID) {
      forms.append(form, at: writer.text.count)
    }
    try writer.write(elements, key: key, element)
  }
}

/// Makes the forms of lists whose elements have identities.
class ListForms<Element>: @unchecked Sendable {
  // `@unchecked Sendable` is right because subclasses have no properties.

  /// The form of an array; `nil` when its elements cannot be read.
  func form(of elements: [Element], _ coders: FormCoders) -> Form? { nil }

  /// Finds the forms of arrays with such elements; `nil` when these have no identities.
  static func of(_ type: Element.Type) -> ListForms<Element>? {
    (type as? any (Encodable & Identifiable).Type).flatMap { make($0) as? ListForms<Element> }
  }

  private static func make<Identified: Encodable & Identifiable>(_ type: Identified.Type) -> AnyObject {
    IdentifiableListForms<Identified>()
  }
}

private final class IdentifiableListForms<Element: Encodable & Identifiable>: ListForms<Element>, @unchecked Sendable {
  override func form(of elements: [Element], _ coders: FormCoders) -> Form? {
    coders.listForm(of: elements, id: \.id)
  }
}

extension FormCoders {
  /// The form of a list; `nil` when its elements cannot be read.
  func listForm<Element, ID: Hashable>(of elements: [Element], id: @escaping (Element) -> ID) -> Form? {
    guard let type = Element.self as? any Decodable.Type else { return nil }
    // The conformances are those that the elements were just written with. Their text is not needed.
    nonisolated(unsafe) let read = { [decoder] (document: JSONDocument, node: Int) in
      let element = try? decoder.decode(type, at: node, of: document) as? Element
      return element.map { Reading(identity: Identity(id($0))) }
    }
    return .list(ElementForm(identities: elements.map { Identity(id($0)) }) { read($0, $1) })
  }
}

/// Keys of dictionaries that are names of members.
extension FormRecorder {
  /// Notes that a value is a dictionary.
  func appendMap<Key: Encodable & Hashable>(of type: Key.Type, at offset: Int) {
    guard let form = coders.mapForm(of: type) else { return }
    append(.map(form), at: offset)
  }
}

extension FormCoders {
  fileprivate func mapForm<Key: Encodable & Hashable>(of type: Key.Type) -> MapForm? {
    guard let type = type as? any (Encodable & Decodable & Hashable).Type else { return nil }
    return mapForm(reading: type)
  }

  private func mapForm<Key: Codable & Hashable>(reading type: Key.Type) -> MapForm {
    let keys = DictionaryKeys<Key>()
    // The conformances are those that a dictionary was just written with.
    nonisolated(unsafe) let read = { [encoder, decoder] (document: JSONDocument, node: Int) -> Reading? in
      guard let key = try? decoder.key(keys, at: node, of: document) else { return nil }
      let text: [UInt8]?
      switch keys.kind {
      case .string, .integer, .encoded: text = try? encoder.text(of: key)
      case .representable:
        text = (key as? any CodingKeyRepresentable).flatMap { try? encoder.text(of: $0.codingKey.stringValue) }
      }
      return text.map { Reading(identity: Identity(key), text: $0) }
    }
    return MapForm { read($0, $1) }
  }
}
