import CFuzzer
import Foundation

// `fuzz TARGET …` runs a target with the arguments of libFuzzer; `fuzz` lists the targets.
guard CommandLine.arguments.count > 1 else {
  for target in FuzzTarget.all { print(target.name) }
  exit(0)
}
guard let target = FuzzTarget.all.first(where: { $0.name == CommandLine.arguments[1] }) else {
  print("usage: fuzz [TARGET [ARGUMENT OF LIBFUZZER …]]")
  exit(2)
}
// A C function cannot capture the target, so it is global.
Running.target = target
var count = CommandLine.argc - 1
var arguments = CommandLine.unsafeArgv + 1
exit(
  LLVMFuzzerRunDriver(&count, &arguments) { bytes, count in
    Running.target?.run(Data(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
  }
)

/// The target that this program runs.
@MainActor private enum Running {
  static var target: FuzzTarget?
}
