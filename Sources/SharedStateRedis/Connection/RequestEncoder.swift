import Foundation

/// Turns requests into commands.
struct RequestEncoder {
  let formatter: RedisFormatter
  /// The digests of the scripts; `nil`: a digest is not known, and the source is sent each time.
  let digests: ScriptDigests
  let dialect: Dialect

  func ping() { formatter.add("PING") }

  func role() { formatter.add("ROLE") }

  func info(_ section: StaticString) { formatter.add("INFO", section) }

  /// Stores a secret where there is none.
  func store(_ secret: Secret, at key: String) {
    formatter.add("SET") { command in
      command.argument(key)
      command.argument(secret.text)
      command.argument("NX")
    }
  }

  /// Writes a mark that expires immediately.
  func mark(_ key: String) {
    formatter.add("SET") { command in
      command.argument(key)
      command.argument("")
      command.argument("PX")
      command.argument("1")
    }
  }

  /// Waits for replicas. It blocks the connection.
  func wait(for replicas: RedisReplicas) {
    let (count, timeout) = (UInt64(replicas.count), UInt64(ReplicaWait.timeout / .milliseconds(1)))
    if replicas.isOnDisk {
      formatter.add("WAITAOF", "1") { command in
        command.argument(count)
        command.argument(timeout)
      }
    } else {
      formatter.add("WAIT") { command in
        command.argument(count)
        command.argument(timeout)
      }
    }
  }

  func get(_ key: String) { formatter.add("GET") { $0.argument(key) } }

  /// Asks what a user may access.
  func rights(of user: String) { formatter.add("ACL", "GETUSER") { $0.argument(user) } }

  /// Turns on the tracking of keys.
  func track(redirect: Int64, prefix: String?) {
    formatter.add("CLIENT", "TRACKING", "ON", "REDIRECT") { command in
      command.argument(String(redirect))
      if let prefix {
        command.argument("BCAST")
        command.argument("PREFIX")
        command.argument(prefix)
      } else {
        // Otherwise keys that scripts read would be tracked as well.
        command.argument("OPTIN")
      }
    }
  }

  /// Tracks the keys of the next command.
  func trackNext() { formatter.add("CLIENT", "CACHING", "YES") }

  /// Reads all values, each followed by its meta.
  func read(_ keys: some Collection<KeyNames>) {
    formatter.add("MGET") { command in
      for key in keys {
        command.argument(key.value)
        command.argument(key.meta)
      }
    }
  }

  func readMetas(_ keys: [KeyNames]) {
    formatter.add("MGET") { for key in keys { $0.argument(key.meta) } }
  }

  /// Asks how many of the values exist, of any type.
  func exist(_ values: some Sequence<String>) {
    formatter.add("EXISTS") { for value in values { $0.argument(value) } }
  }

  func length(of key: KeyNames) { formatter.add("STRLEN") { $0.argument(key.value) } }

  /// Asks how many connections listen to each of the channels.
  func listeners(to keys: [KeyNames]) {
    formatter.add("PUBSUB", dialect.listeners) { for key in keys { $0.argument(key.channel) } }
  }

  func type(of key: KeyNames) { formatter.add("TYPE") { $0.argument(key.value) } }

  /// Stages a large document; does nothing for every other commit.
  ///
  /// - Returns: Whether there is anything to stage.
  func stage(_ commit: Commit) -> Bool {
    guard case .document(let document, isLarge: true) = commit.content else { return false }
    formatter.add("SET") { command in
      command.argument(commit.names.staging(for: commit.operation))
      command.argument(document)
      command.argument("EX")
      command.argument(UInt64(CommitScript.stagingLifetimeInSeconds))
    }
    return true
  }

  /// Keeps the document of a version.
  func keep(_ kept: KeptBase) {
    formatter.add("SET") { command in
      command.argument(kept.key)
      command.argument(kept.document ?? KeptBase.deletion)
      command.argument("PX")
      command.argument(UInt64(KeptBase.lifetimeInMilliseconds))
    }
  }

  /// Reads what a key keeps, and one byte more than its document may have.
  func read(_ key: String, maximumBytes: Int) {
    formatter.add("GETRANGE") { command in
      command.argument(key)
      command.argument("0")
      command.argument(UInt64(maximumBytes))
    }
  }

  /// Runs the commit script, by its digest or by its source.
  func commit(_ commit: Commit, bySource: Bool) {
    let digest = bySource ? nil : digests.commit
    formatter.add(digest == nil ? "EVAL" : "EVALSHA") { command in
      command.argument(digest ?? CommitScript.source(for: dialect))
      addKeys(of: commit, to: &command)
      command.argument(commit.names.channel)
      // Most commits need no string for this.
      if case .revision(let revision) = commit.condition, commit.reservation == 0 {
        command.argument(revision.rawValue)
      } else {
        command.argument(commit.conditionArgument)
      }
      command.argument(commit.floor.rawValue)
      command.argument(commit.writer)
      command.argument(commit.operation.writer)
      command.argument(commit.operation.number)
      addContent(of: commit, to: &command)
      command.argument(commit.timeToLive)
      command.argument(commit.seen?.text ?? "")
      command.argument(commit.lineage?.head ?? "")
      command.argument(commit.lineage?.tail ?? "")
      command.argument(commit.secret?.text ?? "")
      if case .document(let document, isLarge: false) = commit.content {
        command.argument(SHA1.digest(of: document))
      } else {
        command.argument("")
      }
      if let basis = commit.basis {
        command.argument(copying: basis)
      } else if let base = commit.base {
        command.argument("")
        command.argument(base)
      }
    }
  }

  /// Runs the restore script, by its digest or by its source.
  func restore(_ restores: [Restore], bySource: Bool) {
    let digest = bySource ? nil : digests.restore
    formatter.add(digest == nil ? "EVAL" : "EVALSHA") { command in
      command.argument(digest ?? RestoreScript.source(for: dialect))
      command.argument(UInt64(2 * restores.count + 1))
      for restore in restores {
        command.argument(restore.names.value)
        command.argument(restore.names.meta)
      }
      // All of them are of one namespace.
      command.argument(restores.first?.names.secret ?? "")
      command.argument(restores.allSatisfy(\.isLasting) ? "1" : "0")
      command.argument(restores.contains(where: \.isLarge) ? "1" : "0")
      command.argument(restores.first?.secret?.text ?? "")
      for restore in restores { addArguments(of: restore, to: &command) }
    }
  }

  func subscribe(_ channels: [String]) {
    add("SUBSCRIBE", channels.filter(isOnEveryNode))
    add(dialect.subscribe, channels.filter { !isOnEveryNode($0) })
  }

  func unsubscribe(_ channels: [String]) {
    add("UNSUBSCRIBE", channels.filter(isOnEveryNode))
    add(dialect.unsubscribe, channels.filter { !isOnEveryNode($0) })
  }

  /// The server itself sends invalidations, whatever the slot of their channel.
  private func isOnEveryNode(_ channel: String) -> Bool { channel == "\(KeyNames.invalidationChannel)" }

  private func add(_ name: StaticString, _ channels: [String]) {
    if !channels.isEmpty { formatter.add(name) { for channel in channels { $0.argument(channel) } } }
  }

  private func addKeys(of commit: Commit, to command: inout RedisCommand) {
    let staging: String? =
      if case .document(_, isLarge: true) = commit.content { commit.names.staging(for: commit.operation) } else { nil }
    command.argument(staging == nil ? "4" : "5")
    command.argument(commit.names.value)
    command.argument(commit.names.meta)
    command.argument(commit.names.operations)
    command.argument(commit.names.secret)
    if let staging { command.argument(staging) }
  }

  private func addArguments(of restore: Restore, to command: inout RedisCommand) {
    command.argument(restore.names.channel)
    command.argument(restore.meta.string)
    if case .document(let document) = restore.message.content {
      command.argument(SHA1.digest(of: document))
    } else {
      command.argument("")
    }
    switch restore.content {
    case .document(let document) where restore.isLarge: command.argument(document)
    case .document(let document): command.argument(copying: document)
    case .absent, .oversized, .otherType: command.argument("")
    }
    command.argument(restore.expected?.revision.rawValue ?? 0)
    command.argument(restore.expected?.lineage.text ?? "")
    command.argument(copying: restore.basis ?? Data())
  }

  private func addContent(of commit: Commit, to command: inout RedisCommand) {
    switch commit.content {
    case .document(let document, isLarge: false):
      command.argument("s")
      command.argument(document)
    case .document(_, isLarge: true):
      command.argument("r")
      command.argument("")
    case .deleted:
      command.argument("d")
      command.argument("")
    case .adopted(let inlineLimit):
      command.argument("a")
      command.argument(UInt64(inlineLimit))
    case .adoptedDeletion:
      command.argument("x")
      command.argument("")
    }
  }
}

/// Encodes commands, one after the other, into one buffer.
final class RedisFormatter {
  private var output = ByteBuffer()
  private var command = RedisCommand()

  /// The encoded commands that have not been sent; valid until something is added or removed.
  var bytes: UnsafeRawBufferPointer { output.bytes }
  /// Whether everything was sent.
  var isEmpty: Bool { output.isEmpty }
  /// How many bytes have not been sent.
  var count: Int { output.count }

  /// Encodes the command of these words and the arguments that the closure adds.
  func add(_ words: StaticString..., arguments: (inout RedisCommand) -> Void = { _ in }) {
    for word in words { command.argument(word) }
    arguments(&command)
    command.encode(into: &output)
  }

  /// Removes bytes that were sent.
  func removeFirst(_ count: Int) {
    output.removeFirst(count)
  }
}
