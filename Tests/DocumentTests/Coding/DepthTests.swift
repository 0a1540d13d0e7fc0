import Foundation
import Testing

@testable import SharedState

@Suite(.timeLimit(.minutes(2))) struct DepthTests {
  final class Chain: Codable {
    var next: Chain?

    init(_ next: Chain? = nil) { self.next = next }

    static func of(_ count: Int) -> Chain {
      (1..<count).reduce(Chain()) { chain, _ in Chain(chain) }
    }

    /// Ends a chain link by link, for its own deinitializer would go as deep as it is long.
    static func end(_ chain: Chain) {
      var last: Chain? = chain
      while let current = last {
        last = current.next
        current.next = nil
      }
    }
  }

  /// Writes itself without any bracket.
  indirect enum Wrapped: Encodable {
    case more(Wrapped), end

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      if case .more(let wrapped) = self { try container.encode(wrapped) } else { try container.encodeNil() }
    }
  }

  /// Runs something on a thread with a small stack.
  private func onSmallStack<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      let thread = Thread { continuation.resume(returning: body()) }
      thread.stackSize = 2 << 20
      thread.start()
    }
  }

  @Test(arguments: [(512, true), (513, false), (2_000, false), (100_000, false)])
  func depthIsLimited(count: Int, isFine: Bool) async throws {
    let coders = try Coders()
    let isWritten = await onSmallStack {
      let chain = Chain.of(count)
      defer { Chain.end(chain) }
      return (try? coders.encoder.encode(chain)) != nil
    }
    #expect(isWritten == isFine)
    let text = String(repeating: #"{"next":"#, count: count - 1) + "{}" + String(repeating: "}", count: count - 1)
    let isRead = await onSmallStack { (try? coders.value(Chain.self, text)).map(Chain.end) != nil }
    #expect(isRead == isFine)
  }

  @Test(arguments: [(550, true), (2_000, false)])
  func callsAreLimited(count: Int, isFine: Bool) async throws {
    let coders = try Coders()
    let isWritten = await onSmallStack {
      let value = (1..<count).reduce(Wrapped.end) { wrapped, _ in .more(wrapped) }
      return (try? coders.encoder.encode(value)) != nil
    }
    #expect(isWritten == isFine)
  }

  @Test func nestedContainersCount() async throws {
    struct Nested: Encodable {
      func encode(to encoder: any Encoder) throws {
        var containers = [encoder.unkeyedContainer()]
        for _ in 0..<2_000 { containers.append(containers[containers.count - 1].nestedUnkeyedContainer()) }
      }
    }
    let coders = try Coders()
    #expect(await onSmallStack { (try? coders.encoder.encode(Nested())) == nil })
  }
}
