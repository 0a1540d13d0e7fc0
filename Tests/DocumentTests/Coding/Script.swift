import Foundation

/// A value that writes itself in every allowed way, however odd.
indirect enum Script: Encodable {
  case nothing
  case null
  case bool(Bool)
  case string(String)
  case double(Double)
  case float(Float)
  case int(Int)
  case byte(UInt8)
  case large(UInt64)
  case huge(Int128)
  case decimal(Decimal)
  case date(Date)
  case data(Data)
  case url(URL)
  case strings([String])
  case optionals([Int?])
  case map([String: Script])
  case numbers([Int: Script])
  case list([Script])
  case wrapped(Script)
  case size(CollectionPropertyTests.Size)
  case planets([CollectionPropertyTests.Planet: Script])
  case codes([CollectionPropertyTests.Code: Script])
  case dog(ContainerComparisonTests.Dog)
  case set(Set<Int>)
  /// The user info of the encoder.
  case userInfo
  /// Begins with a container, and has other containers that are written to in turns.
  case containers(isObject: Bool, [Step])

  struct Step {
    enum Kind: CaseIterable {
      case value, value2, value3, null, object, array, superEncoder, namedSuper, again, failing, sequence
    }

    let kind: Kind
    /// The container that is written to, by its number.
    let container: Int
    let name: String
    let value: Script

    /// An optional number.
    var index: Int? { container > 1 ? container : nil }
  }

  static func random(_ generator: inout Generator, depth: Int = 4) -> Script {
    switch generator.number(below: depth == 0 ? 18 : 28) {
    case 0: return .null
    case 1: return .bool(generator.isTrue())
    case 2, 3: return .string(generator.string())
    case 4: return .double(generator.double())
    case 5: return .float(Float(generator.double()))
    case 6: return .int(Int(truncatingIfNeeded: generator.next()) >> generator.number(below: 64))
    case 7: return .byte(UInt8(generator.number(below: 256)))
    case 8: return .large(generator.next())
    case 9: return .huge(Int128(truncatingIfNeeded: generator.next()) << generator.number(below: 64))
    case 10: return .decimal(Decimal(Int(truncatingIfNeeded: generator.next())) / 1000)
    case 11: return .date(Date(timeIntervalSince1970: Double(generator.number(below: 2_000_000_000))))
    case 12: return .data(Data((0..<generator.number(below: 6)).map { UInt8($0 * 37) }))
    case 13: return URL(string: "https://example.com/\(generator.number(below: 9))").map(Script.url) ?? .null
    case 14: return .size(CollectionPropertyTests.Size.allCases.randomElement(using: &generator) ?? .small)
    case 15: return .dog(.init(name: generator.string()))
    case 16: return .userInfo
    // With more elements the order would differ.
    case 17: return .set(Set((0..<generator.number(below: 2)).map { _ in generator.number(below: 100) }))
    case 18: return .strings((0..<generator.number(below: 4)).map { _ in generator.string() })
    case 19: return .optionals((0..<generator.number(below: 4)).map { $0 % 2 == 0 ? nil : $0 })
    case 20:
      return .map(
        .init((0..<generator.number(below: 4)).map { _ in (generator.name(), random(&generator, depth: depth - 1)) }) {
          $1
        }
      )
    case 21:
      return .numbers(
        .init((0..<generator.number(below: 4)).map { ($0 * 7 - 3, random(&generator, depth: depth - 1)) }) { $1 }
      )
    case 22: return .list((0..<generator.number(below: 4)).map { _ in random(&generator, depth: depth - 1) })
    case 23: return .wrapped(random(&generator, depth: depth - 1))
    case 24:
      let planets = CollectionPropertyTests.Planet.allCases.filter { _ in generator.isTrue() }
      return .planets(.init(planets.map { ($0, random(&generator, depth: depth - 1)) }) { $1 })
    case 25:
      let codes = (0..<generator.number(below: 4)).map { CollectionPropertyTests.Code(rawValue: $0 * 7 - 3) }
      return .codes(.init(codes.map { ($0, random(&generator, depth: depth - 1)) }) { $1 })
    default:
      let steps = (0..<generator.number(below: 9)).map { _ in
        Step(
          kind: Step.Kind.allCases.randomElement(using: &generator) ?? .value,
          container: generator.number(below: 4),
          name: generator.name(),
          value: random(&generator, depth: depth - 1)
        )
      }
      return .containers(isObject: generator.isTrue(), steps)
    }
  }

  func encode(to encoder: any Encoder) throws {
    if case .containers(let isObject, let steps) = self {
      var containers = [Container(encoder, isObject: isObject)]
      for step in steps { try Self.perform(step, &containers, encoder) }
      return
    }
    if case .nothing = self { return }
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .double(let value): try container.encode(value)
    case .float(let value): try container.encode(value)
    case .int(let value): try container.encode(value)
    case .byte(let value): try container.encode(value)
    case .large(let value): try container.encode(value)
    case .huge(let value): try container.encode(value)
    case .decimal(let value): try container.encode(value)
    case .date(let value): try container.encode(value)
    case .data(let value): try container.encode(value)
    case .url(let value): try container.encode(value)
    case .strings(let value): try container.encode(value)
    case .optionals(let value): try container.encode(value)
    case .map(let value): try container.encode(value)
    case .numbers(let value): try container.encode(value)
    case .list(let value): try container.encode(value)
    case .wrapped(let value): try container.encode(value)
    case .size(let value): try container.encode(value)
    case .planets(let value): try container.encode(value)
    case .codes(let value): try container.encode(value)
    case .dog(let value): try container.encode(value)
    case .set(let value): try container.encode(value)
    case .userInfo: try container.encode(encoder.userInfo.map { "\($0.key.rawValue)=\($0.value)" }.sorted())
    case .nothing, .containers: break
    }
  }

  private enum Container {
    case keyed(KeyedEncodingContainer<Name>)
    case unkeyed(any UnkeyedEncodingContainer)

    init(_ encoder: any Encoder, isObject: Bool) {
      self = isObject ? .keyed(encoder.container(keyedBy: Name.self)) : .unkeyed(encoder.unkeyedContainer())
    }

    var isObject: Bool { if case .keyed = self { true } else { false } }
  }

  private static func perform(_ step: Step, _ containers: inout [Container], _ encoder: any Encoder) throws {
    let index = step.container % containers.count
    // A name that was used before must not become a container: JSONEncoder would trap.
    let fresh = Name("\(step.name)\(containers.count)of\(index)")
    switch containers[index] {
    case .keyed(var container):
      let key = Name(step.name)
      switch step.kind {
      case .value, .value2, .value3: try container.encode(step.value, forKey: key)
      case .null: try container.encodeNil(forKey: key)
      case .object: containers.append(.keyed(container.nestedContainer(keyedBy: Name.self, forKey: fresh)))
      case .array: containers.append(.unkeyed(container.nestedUnkeyedContainer(forKey: fresh)))
      case .superEncoder: try step.value.encode(to: container.superEncoder())
      case .namedSuper: containers.append(Container(container.superEncoder(forKey: fresh), isObject: true))
      case .again where containers[0].isObject: containers.append(Container(encoder, isObject: true))
      case .again: try container.encode(step.name, forKey: key)
      // JSONEncoder goes on with a broken state when a value with members fails.
      case .failing: try? container.encode(Double.nan, forKey: Name("failing"))
      case .sequence: try container.encodeIfPresent(step.index, forKey: key)
      }
      containers[index] = .keyed(container)
    case .unkeyed(var container):
      switch step.kind {
      case .value, .value2, .value3: try container.encode(step.value)
      case .null: try container.encodeNil()
      case .object: containers.append(.keyed(container.nestedContainer(keyedBy: Name.self)))
      case .array: containers.append(.unkeyed(container.nestedUnkeyedContainer()))
      case .superEncoder: try step.value.encode(to: container.superEncoder())
      // JSONEncoder changes the order of elements while an encoder is held.
      case .namedSuper: _ = Container(container.superEncoder(), isObject: false)
      case .again: try container.encode(container.count)
      case .failing: try? container.encode(Double.nan)
      case .sequence: try container.encode(contentsOf: Array(repeating: step.name, count: index))
      }
      containers[index] = .unkeyed(container)
    }
  }
}
