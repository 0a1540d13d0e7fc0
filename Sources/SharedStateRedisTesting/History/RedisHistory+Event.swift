extension RedisHistory {
  // Indirect, because every validator looks at every event: copying an event then only copies a reference.

  /// Something that a service, the server or another program has done, or that a service has seen.
  ///
  /// The changes of a box are numbered from 1; "through 3" means the first three.
  public indirect enum Event: Hashable, Codable, Sendable {
    // MARK: Rules

    /// These rules hold for a value from now on.
    case declared(name: String, Rules)
    /// Services may touch these keys and channels. A name that ends with `*` permits all names with that prefix. The
    /// keys in `others` have to exist at rest, and services may not touch them.
    case permitted([String], others: [String])

    // MARK: Boxes

    /// A service has made a share, whose value is the default. The share owns some fields: only it changes them, and it
    /// only makes them greater.
    case opened(Box, default: Document, owns: [String])
    /// The program has changed these fields.
    case changed(Box, number: Int, Document)
    /// The box has a new value, or the default when nothing is stored. `isFromOutside` is `false` if the origin is not
    /// known. The revision is the newest that the service knows.
    case shown(Box, Document?, revision: UInt64?, isFromOutside: Bool)
    /// The service has received the server's acknowledgement of these changes. A program cannot see this.
    case acknowledged(Box, through: Int, revision: UInt64)
    /// These changes yield to a change by another writer, as `saveError` reports.
    case conceded(Box, through: Int)
    /// These changes cannot be encoded, and are discarded.
    case notEncodable(Box, through: Int)
    /// The program was informed that these changes are saved.
    case saved(Box, through: Int)
    /// A save by the program has found its value stored. A change that was given up before it is outdated.
    case stored(Box)
    /// The program was informed either that every change of a service so far is saved, apart from those still being
    /// sent, or that a change was given up.
    case flushed(service: String, reportsGivenUp: Bool)

    // MARK: Atomic updates

    /// An atomic update has begun. Its number is unique within the service. `changes` is `false` if the update changes
    /// nothing.
    case updateBegan(Box, number: Int, changes: Bool)
    /// The program was informed of the outcome of an atomic update.
    case updateEnded(Box, number: Int, Outcome)

    // MARK: The server

    /// A commit took effect.
    case committed(Commit)
    /// A commit of this box had no effect, because another writer was faster.
    case conflicted(Box)
    /// A program that knows no revisions has written these fields, or deleted the value. The last argument is the
    /// resulting stored version, if known.
    case edited(name: String, Document, Stored?)
    /// The last edit was a deletion that the services can recognise: it left the revision in place, the services have
    /// seen the value on this server, and the server has evicted nothing since.
    case deleted(name: String)
    /// A program that knows no revisions lets the value expire. The value may vanish at any time, and its revision may
    /// remain.
    case expires(name: String)
    /// The server has evicted a value because it needs memory. The revision of the value may remain.
    case evicted(name: String)
    /// The server no longer knows which operations it has applied, and on top of which revisions.
    case forgotten
    /// The server refuses commits for a while. A service that repeats a commit does not learn the outcome of the first
    /// attempt either.
    case refused
    /// Another server has taken over from the previous one, with or without its data, for one service or for all.
    case replaced
    /// The server has lost data that some service may not have seen.
    case lost

    // MARK: Use of resources

    /// A service has read or written these keys, or listened to these channels.
    case touched(service: String, [String])
    /// The amount of data that a service keeps.
    case kept(service: String, Load)

    // MARK: The end

    /// Writes have stopped, every service is connected, and no request, reply or message is on its way.
    case rested(Rest)
  }

  /// The outcome of an atomic update, as it was reported to the program.
  public enum Outcome: Hashable, Codable, Sendable {
    /// The update has taken effect. The document is the resulting value, if known.
    case succeeded(Document?)
    /// The update has not taken effect, and never will.
    case failed
    /// The service cannot know the outcome: `outcomeUnknown`, well before the timeout.
    case unknown
    /// The program no longer waited, because of the timeout or because the task was cancelled.
    case abandoned
  }
}
