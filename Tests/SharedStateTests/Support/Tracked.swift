/// A value whose release a test can see.
final class Tracked: Sendable {
  private let onRelease: @Sendable () -> Void

  init(onRelease: @escaping @Sendable () -> Void = {}) {
    self.onRelease = onRelease
  }

  deinit { onRelease() }
}

/// Points to an object without retaining it.
struct Weak<Object: AnyObject> {
  weak var object: Object?
}
