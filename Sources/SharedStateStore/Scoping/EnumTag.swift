/// Tells which case an enum is in.
@usableFromInline
enum EnumTag {
  /// Whether a type is an enum.
  @usableFromInline
  static func isEnum<Value>(_ type: Value.Type) -> Bool {
    unsafeBitCast(type as Any.Type, to: UnsafePointer<UInt>.self).pointee == enumKind
  }

  /// The number of the case; `nil` for what is no enum.
  @usableFromInline
  static func of<Value>(_ value: Value) -> UInt32? {
    // The layout of type metadata is part of Swift's stable binary interface: the kind is the first word, and the one
    // before points to the value witnesses, of which the eleventh and following belong to enums. The kind is compared
    // first, so no other type is read as an enum.
    let metadata = unsafeBitCast(Value.self as Any.Type, to: UnsafePointer<UInt>.self)
    guard metadata.pointee == enumKind else { return nil }
    let witnesses = UnsafeRawPointer(bitPattern: metadata[-1])
    guard let witnesses else { return nil }
    typealias GetTag = @convention(c) (UnsafeRawPointer, UnsafeRawPointer) -> UInt32
    let getTag = (witnesses + getEnumTagOffset).loadUnaligned(as: GetTag.self)
    return withUnsafePointer(to: value) { getTag($0, metadata) }
  }

  private static var enumKind: UInt { 0x201 }

  /// Eight functions, then size and stride as words, flags and the count of extra inhabitants as half words.
  private static var getEnumTagOffset: Int { 10 * MemoryLayout<UInt>.size + 2 * MemoryLayout<UInt32>.size }
}
