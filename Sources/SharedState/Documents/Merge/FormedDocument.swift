/// A document with the forms of its values.
package struct FormedDocument: Sendable {
  package let document: JSONDocument
  /// The forms by the numbers of their nodes; `nil` when the type is unknown.
  package let forms: [Int: Form]?

  /// Takes a document and its forms.
  package init(document: JSONDocument, forms: [Int: Form]?) {
    self.document = document
    self.forms = forms
  }

  /// Takes a stored document, which may contain more than its type knows, and the document that results from decoding
  /// and encoding it.
  package init(_ document: JSONDocument, like own: FormedDocument) {
    self.document = document
    forms = own.forms.map { Self.forms(of: document, like: own.document, $0) }
  }

  /// Finds the values of this service's document in the stored one, and their forms.
  private static func forms(of stored: JSONDocument, like own: JSONDocument, _ ownForms: [Int: Form]) -> [Int: Form] {
    var forms: [Int: Form] = [:]
    // A list instead of recursion, because deep documents could exhaust the stack.
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
  /// The same form for another array, whose identities are not read yet.
  fileprivate var unread: ElementForm { ElementForm(identities: [], read: read) }
}
