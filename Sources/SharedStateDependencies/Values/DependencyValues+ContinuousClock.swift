extension DependencyValues {
  /// The clock that goes on while the machine sleeps.
  ///
  /// A test that uses it fails, unless it overrides it: with a ``TestClock``, which the test advances, or an
  /// ``ImmediateClock``.
  public var continuousClock: any Clock<Duration> {
    get { self[ContinuousClockKey.self] }
    set { self[ContinuousClockKey.self] = newValue }
  }

  private enum ContinuousClockKey: DependencyKey {
    static var liveValue: any Clock<Duration> { ContinuousClock() }

    // Not missing: asking for the clock, as a model does that hands it on, is no use of it.
    static var testValue: any Clock<Duration> {
      let name = "The dependency 'continuousClock'"
      guard let access = DependencyAccess.current else { return UnimplementedClock(ContinuousClock(), name: name) }
      return UnimplementedClock(ContinuousClock(), name: name, access: access)
    }
  }
}
