/// The order of a list's elements when two sides have moved, added and removed some: both sides' moves count.
///
/// An element that stands in the longest increasing subsequence of what all three lists have was not moved. What
/// neither side has moved, and what both have put to the same place, are anchors; what I have placed goes in front of
/// the anchor that follows it in mine, behind what they have put there.
struct ElementOrder {
  private let base: [Int?]
  private let mine: [Int?]
  private let theirs: [Int?]
  private let myElements: [Int]
  private let theirElements: [Int]
  private let count: Int

  /// - Parameters:
  ///   - base: The elements by their numbers, none of them twice, as before both changes.
  ///   - mine: The elements as I have ordered them.
  ///   - theirs: The elements as they have.
  ///   - count: All numbers are below this one.
  init(base: [Int], mine: [Int], theirs: [Int], count: Int) {
    func positions(_ elements: [Int]) -> [Int?] {
      var positions = [Int?](repeating: nil, count: count)
      for (position, element) in elements.enumerated() { positions[element] = position }
      return positions
    }
    self.base = positions(base)
    self.mine = positions(mine)
    self.theirs = positions(theirs)
    myElements = mine
    theirElements = theirs
    self.count = count
  }

  /// Puts the elements that are left in order, those that are brought back among them.
  /// - Parameter isLeft: Whether the list has an element, by its number.
  func elements(isLeft: [Bool]) -> [Int] {
    let isInPlace = unmoved(in: myElements)
    let isAnchor = anchors(notMovedByMe: isInPlace)
    let isPlacedByMe = myElements.reduce(into: [Bool](repeating: false, count: count)) { isPlaced, element in
      isPlaced[element] =
        isLeft[element] && !isAnchor[element]
        && (theirs[element] == nil || base[element] == nil || !isInPlace[element])
    }
    // By the anchor that they stand in front of: those that I have placed.
    var runs: [Int: [Int]] = [:]
    var run: [Int] = []
    var front: [Int]?
    for element in myElements where isLeft[element] {
      if isPlacedByMe[element] {
        run.append(element)
      } else if isAnchor[element] {
        if front == nil { front = run } else if !run.isEmpty { runs[element] = run }
        run = []
      }
    }
    var result = front ?? []
    for element in theirElements where isLeft[element] && !isPlacedByMe[element] {
      result += runs[element] ?? []
      result.append(element)
    }
    return result + run
  }

  /// What neither side has moved, and what both have moved or added in agreement.
  private func anchors(notMovedByMe isInPlace: [Bool]) -> [Bool] {
    let isInTheirPlace = unmoved(in: theirElements)
    let isStill = (0..<count).map { isInPlace[$0] && isInTheirPlace[$0] }
    // How many of those stand in front of each element tells in which gap it is.
    func gaps(_ elements: [Int]) -> [Int] {
      var gap = 0
      return elements.reduce(into: [Int](repeating: 0, count: count)) { gaps, element in
        if isStill[element] { gap += 1 } else { gaps[element] = gap }
      }
    }
    let (gaps, theirGaps) = (gaps(myElements), gaps(theirElements))
    var isAnchor = isStill
    var group: [Int] = []
    func agree() {
      for index in Self.longestIncrease(in: group.map { theirs[$0] ?? 0 }) { isAnchor[group[index]] = true }
      group = []
    }
    for element in myElements {
      if isStill[element] {
        agree()
      } else if theirs[element] != nil, gaps[element] == theirGaps[element],
        base[element] == nil || (!isInPlace[element] && !isInTheirPlace[element])
      {
        group.append(element)
      }
    }
    agree()
    return isAnchor
  }

  /// Which of the elements that all three lists have stand in one list as they did in base.
  private func unmoved(in elements: [Int]) -> [Bool] {
    let common = elements.filter { base[$0] != nil && mine[$0] != nil && theirs[$0] != nil }
    var isUnmoved = [Bool](repeating: false, count: count)
    for index in Self.longestIncrease(in: common.map { base[$0] ?? 0 }) { isUnmoved[common[index]] = true }
    return isUnmoved
  }

  /// The indices of the longest subsequence that increases, from the last to the first; of several the one with the
  /// latest elements.
  ///
  /// Source: Schensted, "Longest Increasing and Decreasing Subsequences", Canadian Journal of Mathematics 13 (1961).
  static func longestIncrease(in numbers: [Int]) -> [Int] {
    // The smallest number that ends a subsequence of each length.
    var ends: [Int] = []
    let lengths = numbers.map { number in
      var (lower, upper) = (0, ends.count)
      while lower < upper {
        let middle = (lower + upper) / 2
        if ends[middle] < number { lower = middle + 1 } else { upper = middle }
      }
      if lower == ends.count { ends.append(number) } else { ends[lower] = number }
      return lower + 1
    }
    var needed = ends.count
    var following: Int?
    return numbers.indices.reversed().filter { index in
      guard needed > 0, lengths[index] == needed, following.map({ numbers[index] < $0 }) ?? true else { return false }
      following = numbers[index]
      needed -= 1
      return true
    }
  }
}
