/// A list whose elements have identities, and which is written as a plain array of its elements.
package protocol IdentityList: Encodable {
  associatedtype ListElement: Encodable
  associatedtype ListID: Hashable

  /// The elements in their order.
  var listElements: [ListElement] { get }

  /// What gives the identity of an element, of this list or of another one like it. It captures nothing that changes,
  /// because any thread may call it.
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

/// Tells which arrays are lists whose elements have identities.
class ListForms<Element>: @unchecked Sendable {
  // Subclasses have no properties.

  /// What is known of an array; `nil` when its elements cannot be read.
  func form(of elements: [Element], _ coders: FormCoders) -> Form? { nil }

  /// Finds what is known of arrays with such elements, if anything is.
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
  /// What is known of a list; `nil` when its elements cannot be read.
  func listForm<Element, ID: Hashable>(of elements: [Element], id: @escaping (Element) -> ID) -> Form? {
    guard let type = Element.self as? any Decodable.Type else { return nil }
    // The conformances are those that the elements were just written with. Nobody asks for their text.
    nonisolated(unsafe) let read = { [decoder] (document: JSONDocument, node: Int) in
      let element = try? decoder.decode(type, at: node, of: document) as? Element
      return element.map { Reading(identity: Identity(id($0))) }
    }
    return .list(ElementForm(identities: elements.map { Identity(id($0)) }) { read($0, $1) })
  }
}
