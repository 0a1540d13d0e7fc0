import Testing

extension Issue {
  /// The message, without the additions of the test framework.
  var text: String? { comments.first?.rawValue }
}
