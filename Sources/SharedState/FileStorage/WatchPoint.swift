import Foundation

/// A directory whose changes decide where a path leads.
struct WatchPoint: Equatable {
  /// The directory.
  var directory: Name
  /// The name in it that matters; `nil` when only changes of the directory itself do.
  var name: Name?

  /// All points on the way from the root to a path: each directory may be moved away, each symbolic link may be
  /// pointed elsewhere, and the first missing name may be created.
  static func points(on path: String) -> [WatchPoint] {
    var points: [WatchPoint] = []
    var rest = Array(path.split(separator: "/").map(String.init).reversed())
    var directory = "/"
    var links = 0
    while let name = rest.popLast() {
      if name == "." { continue }
      if name == ".." {
        directory = (directory as NSString).deletingLastPathComponent
        continue
      }
      let full = directory == "/" ? "/\(name)" : "\(directory)/\(name)"
      var status = stat()
      let exists = lstat(full, &status) == 0
      if exists, status.st_mode & S_IFMT == S_IFLNK, links < 40,
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: full)
      {
        links += 1
        points.append(WatchPoint(directory: Name(directory), name: Name(name)))
        if target.hasPrefix("/") { directory = "/" }
        rest += target.split(separator: "/").map(String.init).reversed()
      } else if exists, status.st_mode & S_IFMT == S_IFDIR, !rest.isEmpty {
        directory = full
        points.append(WatchPoint(directory: Name(full), name: nil))
      } else {
        points.append(WatchPoint(directory: Name(directory), name: Name(name)))
        break
      }
    }
    return points
  }
}
