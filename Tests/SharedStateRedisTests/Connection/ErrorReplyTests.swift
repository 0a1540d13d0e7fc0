@testable import SharedStateRedis
import Testing

@Suite("An error reply", .timeLimit(.minutes(5)))
struct ErrorReplyTests {
  private static func denied(_ kind: DeniedSubject.Kind) -> RedisSharedStateError {
    RedisSharedStateError(.permissionDenied(operation: "MGET", subject: DeniedSubject(kind)))
  }

  @Test(
    "An error reply is mapped to an error without its free text",
    arguments: [
      ("NOPERM this user has no permissions", RedisSharedStateError.permissionDenied(operation: "MGET")),
      ("NOPERM this user has no permissions to run the 'keys' command", .permissionDenied(operation: "MGET")),
      ("NOPERM User key channel has no permissions to run the 'x' command", .permissionDenied(operation: "MGET")),
      ("NOPERM this user has no permissions to access one of the keys used as arguments", denied(.key)),
      ("NOPERM No permissions to access a key", denied(.key)),
      ("NOPERM this user has no permissions to access one of the channels used as arguments", denied(.channel)),
      ("NOPERM No permissions to access a channel", denied(.channel)),
      ("ERR The user executing the script can't publish to the channel mentioned in the command", denied(.channel)),
      (
        "ERR The user executing the script can't access at least one of the keys mentioned in the command", denied(.key)
      ),
      ("ERR ACL failure in script: No permissions to access a key", denied(.key)),
      (
        "ERR The user executing the script can't run this command or subcommand script: 37ae, on @user_script:1.",
        .permissionDenied(operation: "MGET, or one that its script calls")
      ),
      (
        "ERR ACL failure in script: User bob has no permissions to run the 'client|id' command",
        .permissionDenied(operation: "CLIENT ID")
      ),
      (
        "ERR ACL failure in script: User bob has no permissions to run the 'Secret' command",
        .permissionDenied(operation: "MGET, or one that its script calls")
      ),
      (
        "ERR Error running script (call to f_0123): @user_script:1: -NOPERM this user has no permissions to run the 'time' command",
        .permissionDenied(operation: "TIME")
      ),
      ("NOAUTH Authentication required.", .authenticationFailed),
      ("WRONGPASS invalid username-password pair", .authenticationFailed),
      ("READONLY You can't write against a read only replica.", .notPrimary),
      (
        "ERR Error running script (call to f_0123): @user_script:38: -READONLY You can't write against a replica.",
        .notPrimary
      ),
      ("ERR Error running script (call to f_0123): @user_script:1: unknown", .serverError(code: "ERR")),
      ("LOADING Redis is loading the dataset in memory", .serverError(code: "LOADING")),
      ("OOM command not allowed", .serverError(code: "OOM")),
      ("secret value in a message", .serverError(code: "ERR")),
      ("", .serverError(code: "ERR")),
    ]
  )
  func keepsOnlyTheCode(text: String, error: RedisSharedStateError) {
    #expect(RedisSharedStateError(errorReply: text, operation: "MGET") == error)
  }
}
