import CFuzzer
import Foundation

// `fuzz TARGET …` runs a target with the arguments that libFuzzer takes; `fuzz` tells which targets there are.
guard CommandLine.arguments.count > 1 else {
  for target in FuzzTarget.all { print(target.name) }
  exit(0)
}
guard let target = FuzzTarget.all.first(where: { $0.name == CommandLine.arguments[1] }) else {
  print("usage: fuzz [TARGET [ARGUMENT OF LIBFUZZER …]]")
  exit(2)
}
// A function of C knows nothing of what is around it.
Running.target = target
var count = CommandLine.argc - 1
var arguments = CommandLine.unsafeArgv + 1
exit(
  LLVMFuzzerRunDriver(&count, &arguments) { bytes, count in
    Running.target?.run(Data(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
  }
)

/// What this program runs.
@MainActor private enum Running {
  static var target: FuzzTarget?
}
