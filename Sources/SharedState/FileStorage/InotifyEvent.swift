import Glibc

/// One event that the kernel reports.
struct InotifyEvent: Equatable {
  /// The watched directory; -1 for the queue itself.
  var watch: Int32
  var mask: UInt32
  /// The name in the directory; `nil` for the directory itself.
  var name: Name?

  /// Whether events were lost.
  var isOverflow: Bool { mask & 0x4000 != 0 }
  /// Whether a file was created. Its content is not written yet.
  var isFileCreation: Bool { mask & 0x100 != 0 && mask & 0x4000_0000 == 0 }
  /// Whether the watch is gone.
  var isIgnored: Bool { mask & 0x8000 != 0 }

  /// The events in a buffer that the kernel has filled.
  static func parse(_ bytes: UnsafeRawBufferPointer) -> [InotifyEvent] {
    let headerSize = MemoryLayout<inotify_event>.size
    var events: [InotifyEvent] = []
    var offset = 0
    while offset + headerSize <= bytes.count {
      let header = bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
      let start = offset + headerSize
      let end = min(start + Int(header.len), bytes.count)
      let name = bytes[start..<end].prefix { $0 != 0 }
      events.append(
        InotifyEvent(
          watch: header.wd,
          mask: header.mask,
          name: name.isEmpty ? nil : Name(String(decoding: name, as: UTF8.self))
        )
      )
      offset = end
    }
    return events
  }
}
