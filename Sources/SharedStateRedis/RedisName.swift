/// Decides which names, namespaces and labels are allowed.
enum RedisName {
  /// The length of the longest namespace in UTF-8.
  static let maximumNamespaceBytes = 256
  /// The length of the longest label.
  static let maximumLabelBytes = 64

  /// Throws when a namespace is too long, or has a control character, or braces that are no hash tag; it may be empty.
  ///
  /// - Throws: ``RedisSharedStateError/Code/invalidName``.
  static func validate(namespace: String) throws(RedisSharedStateError) {
    guard namespace.utf8.count <= maximumNamespaceBytes else {
      throw .invalidName(reason: "the namespace has more than \(maximumNamespaceBytes) bytes")
    }
    let plain = hashTag(of: namespace) == nil ? namespace : namespace.filter { $0 != "{" && $0 != "}" }
    if let fault = fault(of: plain) { throw .invalidName(reason: "the namespace has \(fault)") }
  }

  /// What a namespace has in its one pair of braces; `nil`: it has no such pair, or something else in braces.
  static func hashTag(of namespace: String) -> String? {
    let parts = namespace.split(separator: "{", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let ends = parts[1].split(separator: "}", omittingEmptySubsequences: false)
    guard ends.count == 2, !ends[0].isEmpty, !parts[0].contains("}") else { return nil }
    return String(ends[0])
  }

  /// Throws when a label is empty, too long, or has a character that ``label(_:)`` would replace.
  ///
  /// - Throws: ``RedisSharedStateError/Code/invalidName``.
  static func validate(label: String) throws(RedisSharedStateError) {
    guard !label.isEmpty else { throw .invalidName(reason: "the label is empty") }
    guard label.utf8.count <= maximumLabelBytes else {
      throw .invalidName(reason: "the label has more than \(maximumLabelBytes) bytes")
    }
    guard label.utf8.allSatisfy(isAllowedInLabel) else {
      throw .invalidName(reason: "the label may only have printable ASCII characters, and no space, '@' or '/'")
    }
  }

  /// Makes a label of any text: characters that are not allowed become dashes, and a long text is cut.
  static func label(_ text: String) -> String {
    let allowed = text.unicodeScalars.prefix(maximumLabelBytes).map { scalar in
      scalar.isASCII && isAllowedInLabel(UInt8(scalar.value)) ? Character(scalar) : "-"
    }
    return allowed.isEmpty ? "unnamed" : String(allowed)
  }

  static let maximumNameBytes = 512

  /// Throws unless the text can be the name of a shared value.
  ///
  /// - Throws: ``RedisSharedStateError/Code/invalidName``, which contains the name.
  static func validate(name: String) throws(RedisSharedStateError) {
    guard !name.isEmpty else { throw .invalidName(name, reason: "it is empty") }
    guard name.utf8.count <= maximumNameBytes else {
      throw .invalidName(name, reason: "it is longer than \(maximumNameBytes) bytes")
    }
    if let fault = fault(of: name) { throw .invalidName(name, reason: "it has \(fault)") }
  }

  /// A brace, which would break hash tags, or a control character; `nil` if a text has neither.
  private static func fault(of text: String) -> String? {
    if text.utf8.contains(where: { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }) { return "a brace" }
    let hasControl = text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    return hasControl ? "a control character" : nil
  }

  /// Makes any name, usable or not, fit for a line of text.
  static func printable(_ name: String) -> String {
    guard (try? validate(name: name)) == nil else { return name }
    let scalars = name.unicodeScalars
    let isCut = scalars.count > maximumNameBytes
    return scalars.prefix(maximumNameBytes).reduce(into: "") { text, scalar in
      let isControl = scalar.properties.generalCategory == .control
      text += isControl ? scalar.escaped(asASCII: true) : String(scalar)
    } + (isCut ? "…" : "")
  }

  /// Allows what CLIENT SETNAME allows, except for the two characters that separate the parts of a writer's name.
  private static func isAllowedInLabel(_ byte: UInt8) -> Bool {
    (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "@") && byte != UInt8(ascii: "/")
  }
}
