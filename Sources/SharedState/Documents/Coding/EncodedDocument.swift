package import Foundation

/// What a ``DocumentEncoder`` has written, with what the types know of it.
package struct EncodedDocument: Sendable {
  /// The document.
  package let text: Data
  /// The forms, by where the values begin in the text. Of two for one value the first counts.
  private let forms: [(offset: Int, form: Form)]

  init(text: Data, forms: [(offset: Int, form: Form)]) {
    self.text = text
    self.forms = forms
  }

  /// The parsed document, and the forms by the numbers of its nodes.
  /// - Throws: When the document is too large.
  package func formed() throws(JSONParsingError) -> FormedDocument {
    let document = try JSONDocument(parsing: text)
    var numbered: [Int: Form] = [:]
    for (offset, form) in forms {
      guard let node = document.node(at: offset), numbered[node] == nil else { continue }
      numbered[node] = form
    }
    return FormedDocument(document: document, forms: numbered)
  }
}

extension JSONDocument {
  /// The number of the node that begins at a byte.
  fileprivate func node(at offset: Int) -> Int? {
    var (lower, upper) = (0, nodes.count)
    while lower < upper {
      let middle = (lower + upper) / 2
      if nodes[middle].lower < offset { lower = middle + 1 } else { upper = middle }
    }
    return lower < nodes.count && nodes[lower].lower == offset ? lower : nil
  }
}
