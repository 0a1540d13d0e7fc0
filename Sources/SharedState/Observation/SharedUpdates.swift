extension Shared where Value: Sendable {
  /// The present value, then each newest one, wherever the change is made.
  ///
  /// The sequence ends only when the task is cancelled. It follows the share when that is pointed to something else.
  public var updates: SharedUpdates<Value> { SharedUpdates(projection: projection) }
}

extension SharedReader where Value: Sendable {
  /// The present value, then each newest one, wherever the change is made.
  public var updates: SharedUpdates<Value> { SharedUpdates(projection: projection) }
}

/// The present value of a share, then each newest one.
///
/// Nothing is buffered: a slow reader misses values in between, but never the last one. Each iterator sees the whole
/// sequence, and may be used from any task, one at a time.
public struct SharedUpdates<Value: Sendable>: AsyncSequence, Sendable {
  let projection: Projection<Value>

  /// Starts with the present value.
  public func makeAsyncIterator() -> Iterator {
    Iterator(projection: projection)
  }

  /// Waits for the changes of a share.
  public struct Iterator: AsyncIteratorProtocol {
    let projection: Projection<Value>
    private var seen: (swaps: UInt64, version: UInt64)?

    init(projection: Projection<Value>) {
      self.projection = projection
    }

    /// The newest value, as soon as there is one that this iterator has not returned; `nil` when the task is cancelled.
    public mutating func next() async -> Value? {
      while !Task.isCancelled {
        let position = projection.position
        let (place, swaps, box) = (position.place, position.swaps, position.place.box)
        let version = box.version
        let isSame = seen.map { position.versionSeen(after: $0.swaps, $0.version) == version } ?? false
        if isSame { seen = (swaps, version) }
        guard let seen, seen == (swaps, version) else {
          let (value, version) = place.snapshot()
          self.seen = (swaps, version)
          return value
        }
        let waiter = ChangeWaiter()
        box.wait(for: waiter, after: version) { projection.position.swaps == swaps }
        await withTaskCancellationHandler {
          await waiter.wait()
        } onCancel: {
          waiter.resume()
        }
        box.remove(waiter)
      }
      return nil
    }
  }
}
