import SharedStateRedis
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ErrorReplyTests {
  @Test(arguments: [
    ("NOPERM this user has no permissions", RedisSharedStateError.permissionDenied(operation: "MGET")),
    ("ERR The user executing the script can't publish to the channel", .permissionDenied(operation: "MGET")),
    ("ERR ACL failure in script: User bob has no permissions", .permissionDenied(operation: "MGET")),
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
  ])
  func keepsOnlyTheCode(text: String, error: RedisSharedStateError) {
    #expect(RedisSharedStateError(errorReply: text, operation: "MGET") == error)
  }
}
