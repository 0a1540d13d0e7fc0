/// A document, and what its type says about the values in it.
package struct FormedDocument: Sendable {
  package let document: JSONDocument
  /// The forms by the numbers of their nodes; `nil` when nothing is known of the type.
  package let forms: [Int: Form]?

  /// Takes a document, and what is known of it.
  package init(document: JSONDocument, forms: [Int: Form]?) {
    self.document = document
    self.forms = forms
  }

  /// Takes a stored document, which may have more in it than is known here, and what was made by encoding what was
  /// decoded from it.
  package init(_ document: JSONDocument, like own: FormedDocument) {
    self.document = document
    forms = own.forms.map { Self.forms(of: document, like: own.document, $0) }
  }

  /// Finds the values of a document of our own in a stored one.
  private static func forms(of stored: JSONDocument, like own: JSONDocument, _ ownForms: [Int: Form]) -> [Int: Form] {
    var forms: [Int: Form] = [:]
    // A list, because documents can be nested deeper than a stack is.
    var pending: [(stored: Int, own: Int)] = [(0, 0)]
    while let pair = pending.popLast() {
      guard stored.nodes[pair.stored].kind == own.nodes[pair.own].kind else { continue }
      var map: MapForm?
      switch ownForms[pair.own] {
      case .set(let form):
        forms[pair.stored] = form.isRead(in: own, pair.own) ? .set(form.unread) : .leaf
        continue
      case .list(let form):
        forms[pair.stored] = form.isRead(in: own, pair.own) ? .list(form.unread) : .leaf
      case .map(let form): (map, forms[pair.stored]) = (form, .map(form))
      case let form: forms[pair.stored] = form
      }
      switch own.nodes[pair.own].kind {
      case .object:
        let members = KeyedMembers(stored, of: pair.stored, form: map)
        for member in own.members(of: pair.own) {
          if let found = members.member(at: member.key, of: own) { pending.append((found.value, member.value)) }
        }
      case .array:
        let storedElements = JSONItems(stored, of: pair.stored).map(\.node)
        let elements = JSONItems(own, of: pair.own).map(\.node)
        guard storedElements.count == elements.count else { continue }
        pending += zip(storedElements, elements).map { ($0, $1) }
      default: break
      }
    }
    return forms
  }
}

extension ElementForm {
  /// The same for another array, whose identities are not read yet.
  fileprivate var unread: ElementForm { ElementForm(identities: [], read: read) }
}
