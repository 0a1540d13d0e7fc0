/// An error of the compiler in a file.
struct CompileError: Equatable {
  let line: Int
  let text: String
}
