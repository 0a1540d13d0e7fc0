/// Finds the keys of an object by their hashes.
struct JSONIndex: Sendable {
  /// Whether two keys have the same hash, as equal keys do.
  private(set) var hasRepetitions = false
  /// The numbers of the keys, each at its hash or in one of the following places; 0 marks a free place.
  private var places: ContiguousArray<UInt32>

  /// Takes the nodes of a document, and the number of an object's node.
  init(_ nodes: [JSONNode], of object: Int) {
    // At least half of the places are free, so that a search soon ends.
    let members = JSONMembers(nodes, of: object)
    let count = members.reduce(0) { count, _ in count + 1 }
    var size = 32
    while size < 2 * count { size *= 2 }
    places = ContiguousArray(repeating: 0, count: size)
    for member in members {
      let hash = nodes[member.key].hash
      var place = Int(hash) & (size - 1)
      while places[place] != 0 {
        if nodes[Int(places[place])].hash == hash { hasRepetitions = true }
        place = (place + 1) & (size - 1)
      }
      places[place] = UInt32(member.key)
    }
  }

  /// All keys with a hash, and maybe others; of equal keys the first one comes first.
  func keys(withHash hash: UInt32) -> some Sequence<Int> {
    sequence(state: Int(hash) & (places.count - 1)) { [places] place -> Int? in
      guard places[place] != 0 else { return nil }
      defer { place = (place + 1) & (places.count - 1) }
      return Int(places[place])
    }
  }
}

/// Hashes of the names of members.
///
/// They depend on numbers that are new in each process, so that no author of a document can choose names that all have
/// the same hash. Use them only in tables that compare the names themselves, too.
enum NameHash {
  private static let seeds = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max) | 1)

  /// The hash of a name's bytes, without escapes.
  static func hash(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt64 {
    let (seed, factor) = seeds
    var hash = seed &+ UInt64(bytes.count)
    var rest = UnsafeRawBufferPointer(bytes)
    while rest.count >= 8 {
      hash = mix(hash ^ rest.loadUnaligned(as: UInt64.self), factor)
      rest = UnsafeRawBufferPointer(rebasing: rest[8...])
    }
    if rest.count >= 4 {
      // With fewer than eight bytes the two halves overlap.
      let low = UInt64(rest.loadUnaligned(as: UInt32.self))
      let high = UInt64(rest.loadUnaligned(fromByteOffset: rest.count - 4, as: UInt32.self))
      return mix(hash ^ (low | high << 32), factor)
    }
    var last: UInt64 = 0
    for byte in rest { last = last << 8 | UInt64(byte) }
    return mix(hash ^ last, factor)
  }

  /// Every bit of the result depends on every bit of both.
  @inline(__always)
  private static func mix(_ one: UInt64, _ other: UInt64) -> UInt64 {
    let (high, low) = one.multipliedFullWidth(by: other)
    return high ^ low
  }
}
