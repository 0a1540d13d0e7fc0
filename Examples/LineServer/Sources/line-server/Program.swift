import Foundation
import LineServer

/// Serves on a port, by default 4711: `nc 127.0.0.1 4711`.
@main
struct Program {
  static func main() throws {
    DescriptorLimit.raise()
    let port = CommandLine.arguments.dropFirst().first.flatMap { UInt16($0) } ?? 4711
    let server = try RunningServer(port: port)
    FileHandle.standardOutput.write(Data("Listening on 127.0.0.1:\(server.port)\n".utf8))
    try server.run()
  }
}
