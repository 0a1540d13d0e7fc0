import Testing

extension Issue {
  /// The message.
  var text: String? { comments.first?.rawValue }
}
