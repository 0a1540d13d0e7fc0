import Testing

extension Issue {
  /// What it says, without what the test framework adds.
  var text: String? { comments.first?.rawValue }
}
