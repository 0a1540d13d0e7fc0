import Testing

extension Issue {
  /// What it says.
  var text: String? { comments.first?.rawValue }
}
