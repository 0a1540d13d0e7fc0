import SharedState

/// The transformed newest documents, without repetitions.
///
/// Nothing is buffered: a slow reader misses documents in between, but never the last one.
struct DistinctUpdates<Element: Sendable>: AsyncSequence, Sendable {
  let documents: SharedUpdates<MappedDocument>
  let transform: @Sendable (MappedDocument) -> Element
  let areSame: @Sendable (Element, Element) -> Bool

  init(
    documents: SharedUpdates<MappedDocument>,
    transform: @escaping @Sendable (MappedDocument) -> Element,
    areSame: @escaping @Sendable (Element, Element) -> Bool
  ) {
    (self.documents, self.transform, self.areSame) = (documents, transform, areSame)
  }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let updates: DistinctUpdates
    fileprivate var documents: SharedUpdates<MappedDocument>.Iterator
    private var last: Element?

    fileprivate init(_ updates: DistinctUpdates) {
      (self.updates, documents) = (updates, updates.documents.makeAsyncIterator())
    }

    /// The next element that differs from the one before; `nil` when the task is cancelled.
    mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      while let document = await documents.next(isolation: actor) {
        let element = updates.transform(document)
        if let last, updates.areSame(last, element) { continue }
        last = element
        return element
      }
      return nil
    }
  }

  func makeAsyncIterator() -> Iterator { Iterator(self) }
}
