import CustomDump
package import SharedState

/// Shows values, and how they differ, as swift-custom-dump does.
///
/// Found at run time by its name: linking a testing module is all it takes. Package access keeps the optimiser from removing
/// what seems unused.
package final class CustomDumpDifferences: DifferenceProvider {
  package static func difference<Value>(_ first: Value, _ second: Value, _ marks: DifferenceMarks) -> String? {
    diff(first, second, format: DiffFormat(first: marks.first, second: marks.second, both: marks.both))
  }

  package static func dump<Value>(_ value: Value) -> String {
    String(customDumping: value)
  }
}
