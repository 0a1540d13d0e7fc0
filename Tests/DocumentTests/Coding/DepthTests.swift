import Foundation
import SharedStateTesting
import Testing

@testable import SharedState

@Suite("The depth of documents", .timeLimit(.minutes(5)))
struct DepthTests {
  final class Chain: Codable {
    var next: Chain?

    init(_ next: Chain? = nil) { self.next = next }

    static func of(_ count: Int) -> Chain {
      (1..<count).reduce(Chain()) { chain, _ in Chain(chain) }
    }

    /// Ends a chain link by link, because its own deinitializer would recurse as deep as the chain is long.
    static func end(_ chain: Chain) {
      var last: Chain? = chain
      while let current = last {
        last = current.next
        current.next = nil
      }
    }
  }

  /// Writes itself without a bracket.
  indirect enum Wrapped: Encodable {
    case more(Wrapped), end

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      if case .more(let wrapped) = self { try container.encode(wrapped) } else { try container.encodeNil() }
    }
  }

  /// A type of 30 members, so that reading and writing it takes much stack.
  struct Wide: Codable {
    /// Lets a structure contain another one of its type, with no bracket between them.
    indirect enum Box: Codable {
      case wide(Wide)

      init(from decoder: any Decoder) throws {
        self = .wide(try decoder.singleValueContainer().decode(Wide.self))
      }

      func encode(to encoder: any Encoder) throws {
        guard case .wide(let wide) = self else { return }
        var container = encoder.singleValueContainer()
        try container.encode(wide)
      }
    }

    var (a0, a1, a2, a3, a4): (Int?, String?, Double?, Bool?, Date?)
    var (b0, b1, b2, b3, b4): (Data?, URL?, UUID?, Decimal?, [String]?)
    var (c0, c1, c2, c3, c4) = (1, "one", 0.5, true, Date.distantPast)
    var (d0, d1, d2, d3, d4) = ([1], [true: 1], ["a": 1], Set<Int>(), [[String]]())
    var (e0, e1, e2, e3, e4): (Int8?, UInt64?, Int128?, Float?, [Int: Int]?)
    var (f0, f1, f2): (String?, String?, String?)
    var list: [Wide]?
    var box: Box?

    static func boxed(_ count: Int) -> Wide {
      (1..<count).reduce(Wide()) { inner, _ in
        var wide = Wide()
        wide.box = .wide(inner)
        return wide
      }
    }

    static func listed(_ count: Int) -> Wide {
      (1..<count).reduce(Wide()) { inner, _ in
        var wide = Wide()
        wide.list = [inner]
        return wide
      }
    }

    static let text = #""c0":1,"c1":"","c2":1,"c3":true,"c4":1,"d0":[],"d1":[],"d2":{},"d3":[],"d4":[]"#
  }

  /// How many values fit depends on the compiler. The test is that nothing crashes.
  @Test("Nested values of a wide type do not overflow the stack", arguments: [32, 100, 200, 255, 256, 511, 512])
  func wideValues(count: Int) async throws {
    let coders = try Coders()
    let isWritten = try await onThread(stackSize: 2 << 20) {
      [Wide.boxed(count), Wide.listed(count)].map { (try? coders.encoder.encode($0)) != nil }
    }
    let texts = [(#""box":{"#, "}"), (#""list":[{"#, "}]")].map { open, close in
      let inner = String(repeating: Wide.text + "," + open, count: count - 1)
      return "{" + inner + Wide.text + String(repeating: close, count: count - 1) + "}"
    }
    let isRead = try await onThread(stackSize: 2 << 20) { texts.map { (try? coders.value(Wide.self, $0)) != nil } }
    if count == 32 { #expect(isWritten + isRead == [true, true, true, true]) }
    if count == 512 { #expect(isWritten + [isRead[1]] == [false, false, false]) }
  }

  @Test(
    "Documents are nested at most 512 levels deep",
    arguments: [(512, true), (513, false), (2_000, false), (100_000, false)]
  )
  func depthIsLimited(count: Int, isFine: Bool) async throws {
    let coders = try Coders()
    let isWritten = try await onThread(stackSize: 2 << 20) {
      let chain = Chain.of(count)
      defer { Chain.end(chain) }
      return (try? coders.encoder.encode(chain)) != nil
    }
    #expect(isWritten == isFine)
    let pretty = try Coders { encoder, _ in encoder.outputFormatting = [.sortedKeys, .prettyPrinted] }
    let isFormatted = try await onThread(stackSize: 2 << 20) {
      let chain = Chain.of(count)
      defer { Chain.end(chain) }
      return (try? pretty.encoder.encode(chain)) != nil
    }
    #expect(isFormatted == isFine)
    let text = String(repeating: #"{"next":"#, count: count - 1) + "{}" + String(repeating: "}", count: count - 1)
    let isRead = try await onThread(stackSize: 2 << 20) { (try? coders.value(Chain.self, text)).map(Chain.end) != nil }
    #expect(isRead == isFine)
  }

  @Test("The number of nested calls of encode(to:) is limited", arguments: [(550, true), (2_000, false)])
  func callsAreLimited(count: Int, isFine: Bool) async throws {
    let coders = try Coders()
    let isWritten = try await onThread(stackSize: 2 << 20) {
      let value = (1..<count).reduce(Wrapped.end) { wrapped, _ in .more(wrapped) }
      return (try? coders.encoder.encode(value)) != nil
    }
    #expect(isWritten == isFine)
  }

  @Test("Nested containers count towards the limit of depth")
  func nestedContainersCount() async throws {
    struct Nested: Encodable {
      func encode(to encoder: any Encoder) throws {
        var containers = [encoder.unkeyedContainer()]
        for _ in 0..<2_000 { containers.append(containers[containers.count - 1].nestedUnkeyedContainer()) }
      }
    }
    let coders = try Coders()
    #expect(try await onThread(stackSize: 2 << 20) { (try? coders.encoder.encode(Nested())) == nil })
  }
}
