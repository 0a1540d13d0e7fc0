extension RedisSharedStateError {
  /// Reads a server's error reply; `operation` is the name of the command that was refused.
  ///
  /// Of the text nothing but the code is kept, because it may quote arguments.
  package init(errorReply: String, operation: String) {
    let code = Self.code(of: errorReply)
    switch code {
    case "NOPERM": self = .permissionDenied(operation: operation)
    case "NOAUTH", "WRONGPASS": self = .authenticationFailed
    case "READONLY": self = .notPrimary
    default: self = .serverError(code: code)
    }
  }

  /// A server that answers with such a revision would end all counting.
  static let unbelievableRevision = RedisSharedStateError.protocolViolation(
    reason: "a commit was answered with a revision beyond belief"
  )

  private static func code(of errorReply: String) -> String {
    let words = errorReply.split(separator: " ")
    // What a script may not do is told as an ordinary error, in other words by 7.0 than by later releases …
    if errorReply.contains("The user executing the script can't") || errorReply.contains("ACL failure in script") {
      return "NOPERM"
    }
    // … and until 6.2 every error within a script is: "ERR Error running script (call to f_…): @user_script:1: -CODE …".
    let isNested = errorReply.hasPrefix("ERR Error running script")
    let code = isNested ? words.first { $0.hasPrefix("-") }?.dropFirst() ?? "ERR" : words.first ?? "ERR"
    let isCode = code.utf8.allSatisfy {
      (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        || $0 == UInt8(ascii: "_")
    }
    return isCode && code.utf8.count <= 32 ? String(code) : "ERR"
  }
}
