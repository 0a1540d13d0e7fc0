/// How the keys of dictionaries are read where they are names of members.
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
