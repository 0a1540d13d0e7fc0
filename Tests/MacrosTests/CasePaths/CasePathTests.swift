import IssueReporting
import SharedStateStore
import SharedStateStoreCasePaths
import Testing

@CasePathable
@dynamicMemberLookup
private enum Shape<Content: Sendable & Equatable>: Sendable, Equatable {
  case empty
  case circle(radius: Int)
  case box(width: Int, Int)
  case content(Content)
  indirect case group(Self)
  case `default`(String)
  case pair((Int))
  case here(Int)
  @available(*, deprecated) case old(Int)
}

@CasePathable private enum Only { case one(Int) }
@CasePathable private enum Nothing {}

@CasePathable private enum Words: Equatable {
  case never(Int)
  case path, embed(String), root
}

@CasePathable private enum Parent {
  case child(Child)
  case other
}

@CasePathable @dynamicMemberLookup private enum Child: Equatable {
  case name(String)
  case none
}

@Suite("Case paths", .timeLimit(.minutes(5)))
struct CasePathTests {
  private typealias Cases = Shape<Bool>.Cases

  @Test("A path embeds a value in its case, and extracts it again")
  func embedAndExtract() {
    let circle = AnyCasePath(\Cases.circle)
    #expect(circle.embed(3) == .circle(radius: 3))
    #expect(circle.extract(from: .circle(radius: 4)) == 4)
    #expect(circle.extract(from: .empty) == nil)
    let box = AnyCasePath(\Cases.box)
    #expect(box.embed((width: 1, 2)) == .box(width: 1, 2))
    #expect(box.extract(from: .box(width: 3, 4)).map { [$0.width, $0.1] } == [3, 4])
    #expect(AnyCasePath(\Cases.empty).embed() == .empty)
    #expect(AnyCasePath(\Cases.group).extract(from: .group(.empty)) == .empty)
    #expect(AnyCasePath(\Cases.default).embed("a") == .default("a"))
    #expect(AnyCasePath(\Cases.here).extract(from: .here(1)) == 1)
    #expect(AnyCasePath(\Only.Cases.one).extract(from: .one(1)) == 1)
  }

  @Test("A key path makes its case when it is called")
  func called() {
    let circle: Shape<Bool> = (\Cases.circle)(5)
    #expect(circle == .circle(radius: 5))
    let empty: Shape<Bool> = (\Cases.empty)()
    #expect(empty == .empty)
    let partial: PartialCaseKeyPath<Shape<Bool>> = \.content
    #expect(partial(true) == .content(true))
    #expect(partial(1) == nil)
  }

  @Test("The value of a case is an optional property")
  func members() {
    let shape = Shape<Bool>.content(true)
    #expect(shape.content == true)
    #expect(shape.circle == nil)
    #expect(shape[case: \.content] == true)
    #expect(shape.is(\.content))
    #expect(!shape.is(\.empty))
    #expect(Shape<Bool>.empty.is(\.empty))
  }

  @Test("A case is a pattern")
  func pattern() {
    switch Shape<Bool>.circle(radius: 1) {
    case \.box: Issue.record("a box")
    case \.circle: break
    default: Issue.record("something else")
    }
  }

  @Test("The value of a case is changed in place")
  func modify() {
    var shape = Shape<Bool>.circle(radius: 1)
    shape.modify(\.circle) { $0 += 1 }
    #expect(shape == .circle(radius: 2))
    shape[case: \.box] = (width: 1, 1)
    #expect(shape == .box(width: 1, 1))
    withKnownIssue {
      shape.modify(\.circle) { $0 += 1 }
    } matching: {
      $0.description.contains("Cannot modify") && $0.description.contains("box")
    }
    #expect(shape == .box(width: 1, 1))
  }

  @Test("A key path leads through several enums")
  func nested() {
    let name = AnyCasePath(\Parent.Cases.child.name)
    #expect(name.embed("a")[case: \.child] == .name("a"))
    #expect(name.extract(from: .child(.name("b"))) == "b")
    #expect(name.extract(from: .child(.none)) == nil)
    #expect(name.extract(from: .other) == nil)
    #expect(Parent.child(.name("c"))[case: \.child]?.name == "c")
    #expect(Parent.child(.name("d")).is(\.child.name))
    #expect(!Parent.other.is(\.child.name))
    let appended = AnyCasePath(\Parent.Cases.child).appending(path: AnyCasePath(\Child.Cases.name))
    #expect(appended.extract(from: appended.embed("e")) == "e")
    let optional = AnyCasePath(\Parent?.Cases.some.child.name)
    #expect(optional.extract(from: optional.embed("f")) == "f")
    #expect(optional.extract(from: nil) == nil)
  }

  @Test("The value itself has a path, too")
  func root() {
    let path = AnyCasePath(\Child.Cases.self)
    #expect(path.extract(from: path.embed(.none)) == Child.none)
    #expect(Child.none.is(\.self))
  }

  @Test("All cases that are always available are enumerated")
  func all() {
    #expect(Array(Shape<Bool>.allCasePaths).count == 8)
    #expect(Array(Nothing.allCasePaths).isEmpty)
    #expect(Shape<Bool>.allCasePaths[.box(width: 1, 2)] == \.box)
    #expect(Array(Parent.allCasePaths) == [\.child, \.other])
  }

  @Test("A case may have any name")
  func names() {
    #expect(AnyCasePath(\Words.Cases.never).embed(1) == .never(1))
    #expect(AnyCasePath(\Words.Cases.embed).extract(from: .embed("a")) == "a")
    #expect(Words.root.is(\.root))
    #expect(Words.allCasePaths[.path] == \.path)
  }

  @Test("A case has a path by its name")
  func reflection() {
    let name: AnyCasePath<Child, String> = /Child.name
    #expect(name.extract(from: .name("a")) == "a")
    #expect(name.extract(from: .none) == nil)
    #expect(name.embed("b") == .name("b"))
    #expect((/Child.name).extract(from: .name("c")) == "c")
    let none = /Child.none
    #expect(none.extract(from: .none) != nil)
    #expect(none.extract(from: .name("a")) == nil)
    #expect(none.embed() == .none)
  }

  @Test("Optionals and results have paths")
  func standardLibrary() {
    #expect(AnyCasePath(\Int?.Cases.none).embed() == nil)
    #expect(AnyCasePath(\Int?.Cases.none).extract(from: 1) == nil)
    let result = Result<Int, CancellationError>.success(1)
    #expect(result[case: \.success] == 1)
    #expect(!result.is(\.failure))
  }
}
