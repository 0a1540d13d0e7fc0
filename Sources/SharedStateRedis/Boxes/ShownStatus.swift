import SharedState

/// Shows the changes of a status in a box, and ignores each that comes after a newer one of the same kind.
struct ShownStatus: ~Copyable, Sendable {
  // They advance while the status is updated.
  private let loading = NewestNumber()
  private let loadError = NewestNumber()
  private let saveError = NewestNumber()

  func show(_ change: Replica.StatusChange, number: UInt64, in box: Box) {
    switch change {
    case .loading(let isLoading): update(box, loading, number) { $0.isLoading = isLoading }
    case .loadError(let error): update(box, loadError, number) { $0.loadError = error }
    case .saveError(let error): update(box, saveError, number) { $0.saveError = error }
    }
  }

  private func update(
    _ box: Box,
    _ newest: borrowing NewestNumber,
    _ number: UInt64,
    _ change: (inout BoxStatus) -> Void
  ) {
    box.updateStatus { status in
      if newest.advance(to: number) { change(&status) }
    }
  }
}
