/// Where a share is declared.
struct ShareOrigin: Sendable {
  let fileID: StaticString
  let line: UInt
}
