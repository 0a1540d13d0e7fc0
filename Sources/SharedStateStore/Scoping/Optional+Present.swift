extension Optional {
  /// The value, in its place. To be used where it is known to be there.
  @inlinable
  var present: Wrapped {
    get {
      guard let self else { preconditionFailure(Self.absence) }
      return self
    }
    _modify {
      guard var value = self else { preconditionFailure(Self.absence) }
      // Taken out meanwhile, so that it is not copied.
      self = nil
      defer { self = value }
      yield &value
    }
  }

  @usableFromInline
  static var absence: String { "A child's state went while it was reduced. This is a bug in SharedStateStore." }
}
