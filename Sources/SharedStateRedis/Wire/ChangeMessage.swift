import Foundation

/// The announcement of one change on a value's channel.
///
/// The payload is a header line `1 <code> <form> <meta>`, and then the JSON document. The leading `1` is the version of
/// the format. The code, of 40 hexadecimal digits, proves the rest: see ``Secret``. The form is `s` if the document
/// follows, `r` if it has to be read, `d` if the value was deleted. The ``Meta`` is the one that is stored.
struct ChangeMessage: Equatable, Sendable {
  enum Content: Hashable, Sendable {
    case document(Data)
    /// The document is too large for the message and has to be read.
    case reference
    case deleted
  }

  var meta: Meta
  var content: Content

  var revision: Revision { meta.revision }
}

extension ChangeMessage {
  /// Reads a payload; `nil` for an unknown version or a malformed header. Such messages are counted and ignored.
  init?(payload: Data) {
    let parsed: (meta: Meta, form: UInt8, length: Int)? = payload.withUnsafeBytes { bytes in
      guard let parts = Parts(bytes), let meta = Meta(complete: parts.meta), meta.revision.mayFollow(meta.parent) else {
        return nil
      }
      return (meta, parts.form, parts.length)
    }
    guard let parsed else { return nil }
    switch (parsed.form, parsed.meta.kind) {
    case (UInt8(ascii: "s"), .set): content = .document(payload.dropFirst(parsed.length))
    case (UInt8(ascii: "r"), .set): content = .reference
    case (UInt8(ascii: "d"), .deleted): content = .deleted
    default: return nil
    }
    meta = parsed.meta
  }

  /// The payload as the scripts publish it.
  func payload(on channel: String, provenBy secret: Secret?) -> Data {
    Self.payload(meta.string, content, on: channel, provenBy: secret)
  }

  /// - Parameter secret: `nil`: none is stored, and the payload proves nothing.
  static func payload(_ meta: String, _ content: Content, on channel: String, provenBy secret: Secret?) -> Data {
    let (form, document): (Character, Data?) =
      switch content {
      case .document(let document): ("s", document)
      case .reference: ("r", nil)
      case .deleted: ("d", nil)
      }
    let digest = document.map { SHA1.digest(of: $0) } ?? ""
    let code = Data(meta.utf8).withUnsafeBytes { bytes in
      Secret.code(for: form.asciiValue ?? 0, digest, bytes, on: channel, secret?.text ?? "")
    }
    return Data("1 \(code) \(form) \(meta)\n".utf8) + (document ?? Data())
  }

  /// Whether one of the secrets proves a payload on a channel. Takes as long for a code that is nearly right as for any
  /// other one.
  static func isProven(_ payload: Data, on channel: String, by secrets: [Secret]) -> Bool {
    payload.withUnsafeBytes { bytes in
      guard let parts = Parts(bytes) else { return false }
      var digest = ""
      if parts.form == UInt8(ascii: "s") {
        digest = UnsafeRawBufferPointer(rebasing: bytes[parts.length...]).withUnsafeBytes { SHA1.digest(of: $0) }
      }
      return secrets.contains { secret in
        var code = Secret.code(for: parts.form, digest, parts.meta, on: channel, secret.text)
        return code.withUTF8 { zip($0, parts.code).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0 }
      }
    }
  }

  /// The parts of a payload.
  private struct Parts {
    let code: UnsafeRawBufferPointer.SubSequence
    let form: UInt8
    let meta: UnsafeRawBufferPointer
    /// The length of the header line, with its line feed.
    let length: Int

    private static let codeLength = 40

    init?(_ bytes: UnsafeRawBufferPointer) {
      var scanner = ByteScanner(bytes)
      guard scanner.skip("1"), scanner.skip(" "), scanner.rest.count > Self.codeLength else { return nil }
      code = scanner.rest.prefix(Self.codeLength)
      scanner.skip(bytes: Self.codeLength)
      guard scanner.skip(" "), let form = scanner.byte(), scanner.skip(" "),
        let end = scanner.rest.firstIndex(of: UInt8(ascii: "\n"))
      else { return nil }
      self.form = form
      meta = UnsafeRawBufferPointer(rebasing: scanner.rest[..<end])
      length = end + 1
    }
  }
}
