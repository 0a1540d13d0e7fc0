/// The reply to ACL GETUSER.
struct ACLUser {
  /// The patterns of the keys that the user may access, as the server writes them, such as `~shop:*`.
  let keys: String

  /// Parses the reply, which alternates names and values; `nil` for any other reply.
  ///
  /// It also contains digests of the user's passwords, which are ignored.
  init?(_ reply: RedisReplyView) {
    func value(of name: StaticString) -> RedisReplyView? {
      stride(from: 0, to: reply.count - 1, by: 2).first { reply[$0].isEqual(to: name) }.map { reply[$0 + 1] }
    }
    guard let patterns = value(of: "keys") else { return nil }
    // Before 7.0 it is an array of patterns.
    let texts = patterns.kind == .array ? (0..<patterns.count).map { "~" + patterns[$0].string } : [patterns.string]
    let known = texts.joined(separator: " ")
    let selectors = value(of: "selectors")?.count ?? 0
    keys =
      (known.isEmpty ? "no key" : RedisName.printable(known)) + (selectors > 0 ? ", and what its selectors permit" : "")
  }
}

/// The keys that a permission error may be about, by command.
extension KeyNames {
  /// STRLEN and TYPE.
  var valueKeys: [String] { [value] }
  /// MGET of metas.
  var metaKeys: [String] { [meta] }
  /// MGET of values, each with its meta.
  var readKeys: [String] { [value, meta] }
  /// The scripts.
  var scriptKeys: [String] { [value, meta, operations, secret] }
}

extension RedisSharedStateError {
  /// Adds the keys of a value to an error about keys; none if the command concerned several values.
  func concerning(_ values: [KeyNames], _ keys: (KeyNames) -> [String]) -> Self {
    guard values.count == 1, let names = values.first else { return self }
    // A script may lack the right for the channel, too.
    return concerning(names.name, deniedSubject?.kind == .key ? keys(names) : [names.channel])
  }
}
