/// The element of a collection that has an identity, or `nil`; writing adds it, replaces it or removes it.
final class IdentifiedElementAccessor<Whole: IdentifiedCollection>: Accessor<Whole.Element?>, @unchecked Sendable
where Whole.ID: Sendable {
  // `@unchecked Sendable` for the reason given at `Accessor`.

  private let whole: Place<Whole>
  private let id: Whole.ID

  init(whole: Place<Whole>, id: Whole.ID) {
    self.whole = whole
    self.id = id
  }

  override var text: String { whole.partText + "[id: \(String(reflecting: id))]" }

  override func isSame(as other: Accessor<Whole.Element?>) -> Bool {
    guard let other = other as? IdentifiedElementAccessor else { return false }
    return id == other.id && whole.isSame(as: other.whole)
  }

  override func snapshot() -> (value: Whole.Element?, version: UInt64) {
    let (whole, version) = whole.snapshot()
    return (whole[id: id], version)
  }

  override func modify(in memory: UnsafeMutableRawPointer, _ body: (inout Whole.Element?) -> Bool) -> Bool {
    whole.modify(in: memory) { whole in
      var element = whole[id: id]
      guard body(&element) else { return false }
      whole[id: id] = element
      return true
    }
  }

  override func project(_ snapshot: UnsafeRawPointer) -> Whole.Element? {
    whole.project(snapshot)[id: id]
  }

  override func moved(to reference: Reference) -> Accessor<Whole.Element?>? {
    whole.moved(to: reference).map { IdentifiedElementAccessor(whole: $0, id: id) }
  }
}
