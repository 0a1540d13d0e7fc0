import Foundation
import SharedState
import Testing

@Suite("Identified", .timeLimit(.minutes(5)))
struct IdentifiedTests {
  /// A type without an identity of its own.
  struct Point: Codable, Hashable, Sendable {
    var x: Int
    var y: Int
    var sum: Int { x + y }
  }

  @Test("An identified value has the given identity and the value's properties")
  func givenIdentity() {
    var point = Identified(Point(x: 1, y: 2), id: "origin")
    #expect(point.id == "origin")
    #expect(point.value == Point(x: 1, y: 2))
    #expect(point.x == 1)
    #expect(point.sum == 3)
    point.x = 5
    point.value.y += 1
    #expect(point.value == Point(x: 5, y: 3))
  }

  @Test("An identity taken from a property stays when the property changes")
  func identityFromProperty() {
    let path: KeyPath<Point, Int> = \.y
    var point = Identified(Point(x: 1, y: 2), id: \.x)
    point.x = 7
    #expect(point.id == 1)
    #expect(Identified(Point(x: 1, y: 2), id: path).id == 2)
    #expect(Identified(Point(x: 1, y: 2), id: \Point.sum).id == 3)
  }

  @Test("An identified value in an array is changed by its identity")
  func changeInArray() throws {
    let points = Shared(
      value: [Identified(Point(x: 1, y: 2), id: "a"), Identified(Point(x: 1, y: 2), id: "b")] as IdentifiedArrayOf
    )
    let element = try #require(Shared(points[id: "b"]))
    element.withLock { $0.x = 9 }
    #expect(points.wrappedValue[id: "b"]?.value == Point(x: 9, y: 2))
    #expect(points.wrappedValue[id: "a"]?.value == Point(x: 1, y: 2))
  }

  @Test("Equality, hashing and coding of an identified value include its identity")
  func equalityHashingCoding() throws {
    let (one, other) = (Identified(Point(x: 1, y: 2), id: 1), Identified(Point(x: 1, y: 2), id: 2))
    #expect(one != other)
    #expect(Set([one, one, other]).count == 2)
    let data = try JSONEncoder().encode(one)
    #expect(try JSONDecoder().decode(Identified<Int, Point>.self, from: data) == one)
    let object = try JSONSerialization.jsonObject(with: data) as? [String: Any]
    #expect(object?["id"] as? Int == 1)
    #expect(object?["value"] as? [String: Int] == ["x": 1, "y": 2])
    let isSendable: any Sendable = one
    #expect(isSendable is Identified<Int, Point>)
  }
}
