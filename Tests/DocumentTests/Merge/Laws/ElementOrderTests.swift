@testable import SharedState
import Testing

/// Every arrangement of small lists.
@Suite("FieldsMerge: the order of lists", .timeLimit(.minutes(5)))
struct ElementOrderTests {
  private static let count = 6

  /// All orders of all subsets of some elements.
  private static func arrangements(of elements: [Int]) -> [[Int]] {
    [[]]
      + elements.flatMap { first in
        arrangements(of: elements.filter { $0 != first }).map { [first] + $0 }
      }
  }

  private struct Lists: CustomStringConvertible {
    var base: [Int]
    var mine: [Int]
    var theirs: [Int]

    /// Without a conflict, an element that one side removed is gone.
    var isLeft: [Bool] {
      (0..<count).map { element in
        base.contains(element)
          ? mine.contains(element) && theirs.contains(element)
          : mine.contains(element) || theirs.contains(element)
      }
    }

    var merged: [Int] { ElementOrder(base: base, mine: mine, theirs: theirs, count: count).elements(isLeft: isLeft) }
    var description: String { "\(base): \(mine) here, \(theirs) there" }

    /// The elements that a list has not moved: of all longest increasing subsequences of the common elements, the
    /// latest one.
    func unmoved(in list: [Int]) -> Set<Int> {
      let common = list.filter { base.contains($0) && mine.contains($0) && theirs.contains($0) }
      func position(_ element: Int) -> Int { base.firstIndex(of: element) ?? 0 }
      let increasing = (0..<(1 << common.count)).map { mask in common.indices.filter { mask >> $0 & 1 == 1 } }
        .filter { indices in
          zip(indices, indices.dropFirst()).allSatisfy { position(common[$0]) < position(common[$1]) }
        }
      let longest = increasing.map(\.count).max() ?? 0
      let latest = increasing.filter { $0.count == longest }.max {
        $0.reversed().lexicographicallyPrecedes($1.reversed())
      }
      return Set((latest ?? []).map { common[$0] })
    }
  }

  private func check(
    base: [Int],
    mine: [[Int]],
    theirs: [[Int]],
    _ law: (Lists, [Int]) -> Bool,
    at location: SourceLocation = #_sourceLocation
  ) {
    for mine in mine {
      for theirs in theirs {
        let lists = Lists(base: base, mine: mine, theirs: theirs)
        let merged = lists.merged
        #expect(law(lists, merged), "\(lists) gives \(merged)", sourceLocation: location)
      }
    }
  }

  private func checkAll(_ law: (Lists, [Int]) -> Bool, at location: SourceLocation = #_sourceLocation) {
    let (mine, theirs) = (Self.arrangements(of: [0, 1, 2, 4]), Self.arrangements(of: [0, 1, 2, 5]))
    check(base: [0, 1, 2], mine: mine, theirs: theirs, law, at: location)
    let both = Self.arrangements(of: [0, 1, 4])
    check(base: [0, 1], mine: both, theirs: both, law, at: location)
    let permutations = Self.arrangements(of: [0, 1, 2, 3]).filter { $0.count == 4 }
    check(base: [0, 1, 2, 3], mine: permutations, theirs: permutations, law, at: location)
  }

  @Test("A merged list contains each remaining element once")
  func permutation() {
    checkAll { lists, merged in
      merged.sorted() == (0..<Self.count).filter { lists.isLeft[$0] }
    }
  }

  @Test("A merged list has the order of the side that changed it, or the order that both sides share")
  func oneSide() {
    checkAll { lists, merged in
      if lists.mine == lists.base { return merged == lists.theirs }
      if lists.theirs == lists.base { return merged == lists.mine }
      return lists.mine != lists.theirs || merged == lists.mine
    }
  }

  @Test("Elements that one side has not moved have the other side's order in a merged list")
  func pairs() {
    func isOrdered(_ list: [Int], like other: [Int], _ elements: Set<Int>) -> Bool {
      list.filter(elements.contains) == other.filter(elements.contains)
    }
    checkAll { lists, merged in
      isOrdered(merged, like: lists.theirs, lists.unmoved(in: lists.mine))
        && isOrdered(merged, like: lists.mine, lists.unmoved(in: lists.theirs))
    }
  }

  @Test("Elements that were added next to each other stay adjacent in a merged list")
  func additions() {
    let mine = Self.arrangements(of: [0, 1, 3, 4]).filter { list in
      list.firstIndex(of: 3).map { list.dropFirst($0 + 1).first == 4 } ?? false
    }
    check(base: [0, 1], mine: mine, theirs: Self.arrangements(of: [0, 1, 2])) { _, merged in
      merged.firstIndex(of: 3).map { merged.dropFirst($0 + 1).first == 4 } ?? false
    }
  }
}
