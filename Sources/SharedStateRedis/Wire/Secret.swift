import SharedState

/// The secret of a namespace: proves that its server has made an announcement.
///
/// A client that may read the values of the namespace may read the secret, and the scripts prove each announcement with
/// it. So a client that may do nothing but publish cannot make a service believe in a change. No log line, error or
/// description has the secret.
struct Secret: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  /// One block of the digest, so that the digest's state after it is as secret as the secret itself.
  static let length = 64

  /// For the commands that store it.
  let text: String

  /// `nil`: the text is no secret, and is replaced.
  init?(_ text: String) {
    guard text.utf8.count == Self.length else { return nil }
    self.text = text
  }

  /// Distinguishes it from others, without revealing it.
  var digest: String { String(SHA1.digest(of: Array(text.utf8)).prefix(16)) }

  /// Makes a secret of 64 hexadecimal digits.
  init(using random: inout some RandomNumberGenerator) {
    text = (0..<4).map { _ in UInt64.random(in: .min ... .max, using: &random).hexadecimal(digits: 16) }.joined()
  }

  /// Makes a secret that cannot be guessed.
  static func random() -> Secret {
    var generator = SystemRandomNumberGenerator()
    return Secret(using: &generator)
  }

  /// The code in front of an announcement: a digest of it between two copies of the secret, so that no client can
  /// extend the text behind the first one. ``CommitScript/prove`` computes the same.
  ///
  /// - Parameters:
  ///   - form: How the document is announced; see ``ChangeMessage``.
  ///   - digest: The digest of an announced document; empty if there is none.
  ///   - meta: One line of text, so that it cannot be confused with the channel.
  ///   - secret: Empty where none is stored, so that the code proves nothing.
  static func code(
    for form: UInt8,
    _ digest: String,
    _ meta: UnsafeRawBufferPointer,
    on channel: String,
    _ secret: String
  ) -> String {
    var code = SHA1()
    code.update(secret)
    withUnsafeBytes(of: form) { code.update($0) }
    code.update(digest)
    code.update(meta)
    code.update("\n")
    code.update(channel)
    code.update(secret)
    return code.finish()
  }

  var description: String { "a secret" }

  var customMirror: Mirror { Mirror(self, children: []) }
}
