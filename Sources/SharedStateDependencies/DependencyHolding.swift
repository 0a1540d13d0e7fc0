/// A ``Dependency`` of any value.
protocol DependencyHolding {
  /// The values in force when the wrapper was created.
  var initialValues: DependencyValues { get }
}
