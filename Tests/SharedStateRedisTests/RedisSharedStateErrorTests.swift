import Foundation
import SharedState
@testable import SharedStateRedis
import Testing

@Suite("An error of Redis", .timeLimit(.minutes(5)))
struct RedisSharedStateErrorTests {
  @Test("An error provides its code and the details that a caller can act on")
  func details() {
    let undecodable = RedisSharedStateError.undecodable(name: "limits", reason: "no JSON", writer: "api")
    #expect(undecodable.code == .undecodable)
    #expect(undecodable.name == "limits")
    #expect(undecodable.names == ["limits"])
    #expect(undecodable.writer == "api")
    let conflict = RedisSharedStateError.conflict(name: "limits", local: Data("1".utf8), stored: nil)
    #expect(conflict.conflictingDocuments == (Data("1".utf8), nil))
    #expect(conflict.writer == nil)
    let givenUp = RedisSharedStateError.changesGivenUp(names: ["a", "b"], further: 3)
    #expect(givenUp.name == nil)
    #expect(givenUp.names == ["a", "b"])
    #expect(RedisSharedStateError.serverError(code: "OOM").serverErrorCode == "OOM")
    #expect(RedisSharedStateError.stopped.serverErrorCode == nil)
    #expect(RedisSharedStateError.stopped.names == [])
  }

  @Test("The error for unreadable members has all paths, and describes the first ten")
  func unreadableMembers() throws {
    let text = "{" + (1...12).map { #""flag\#($0)":"a-secret""# }.joined(separator: ",") + "}"
    let coder = ValueCoder<[String: Bool]>(JSONEncoder(), JSONDecoder(), completedBy: [:])
    let failures = try coder.decode(Data(text.utf8), mendedBy: nil).failures
    let error = RedisSharedStateError.unreadableMembers(name: "flags", failures)
    #expect(error.code == .undecodable)
    #expect(error.names == ["flags"])
    #expect(error.unreadableMembers == (1...12).map { #"["flag\#($0)"]"# })
    #expect(error.description.contains(#"["flag10"]: expected Bool, found a string; and 2 more."#))
    #expect(!"\(String(reflecting: error))".contains("a-secret"))
    #expect(RedisSharedStateError.stopped.unreadableMembers == [])
  }

  @Test("The error for a value that is too large names the exceeded option")
  func option() {
    let error = RedisSharedStateError.valueTooLarge(name: "limits", bytes: 20, maximumBytes: 10)
    #expect(error.description.contains("'maximumBytes'"))
  }

  @Test("The error for undelivered values states how many there are")
  func undelivered() {
    #expect(RedisSharedStateError.undelivered(values: 3).code == .undelivered)
    #expect(RedisSharedStateError.undelivered(values: 3).description.contains("3 values"))
    #expect(RedisSharedStateError.undelivered(values: 1).description.contains("1 value "))
  }

  @Test("A TLS handshake that timed out without any answer asks about a plain port")
  func silentHandshake() {
    let silent = RedisSharedStateError.handshakeTimedOut(isSilent: true)
    #expect(silent.description == "The TLS handshake timed out; is this a plain port?")
    #expect(RedisSharedStateError.handshakeTimedOut(isSilent: false).description == "The TLS handshake timed out.")
    #expect(silent.code == .timedOut)
  }

  @Test("An error about a missing right names the user and the server, which make it no other error")
  func account() {
    let account = RedisSharedStateError.Account(user: "reader", server: "redis:6379")
    let command = RedisSharedStateError.permissionDenied(operation: "INFO")
    #expect(command.description == "The Redis user lacks permission for the command INFO. Grant it with ACL SETUSER.")
    #expect(
      command.denied(to: account).description
        == "User 'reader' lacks permission for the command INFO on redis:6379. Grant it with ACL SETUSER."
    )
    #expect(command.denied(to: account) == command)
    #expect(command.denied(to: account).hashValue == command.hashValue)

    let key = RedisSharedStateError(.permissionDenied(operation: "MGET", subject: DeniedSubject(.key)))
    let named = key.denied(to: account).concerning("flags", ["shop:flags"]).granting("~open")
    #expect(
      named.description == "User 'reader' lacks permission for the key 'shop:flags' (MGET) on redis:6379. "
        + "It may access ~open. Add a pattern with ACL SETUSER."
    )
    #expect(RedisSharedStateError.stopped.denied(to: account).description == RedisSharedStateError.stopped.description)
  }

  @Test("An error can be caught by its code")
  func pattern() {
    func caught(_ error: any Error) -> Bool {
      do { throw error } catch RedisSharedStateError.Code.conflict { return true } catch { return false }
    }
    #expect(caught(RedisSharedStateError.conflict(name: "limits", local: nil, stored: nil)))
    #expect(!caught(RedisSharedStateError.stopped))
    #expect(!caught(CancellationError()))
  }
}
