extension History {
  // Indirect, because every validator looks at every event: copying one is then copying a reference.

  /// Something that a service or somebody else has done or seen.
  ///
  /// The changes of a box are numbered from 1; "through 3" means the first three.
  public indirect enum Event: Hashable, Codable, Sendable {
    // MARK: What is agreed

    /// From now on these rules hold for a value.
    case declared(name: String, Rules)
    /// Services may touch these keys and channels, where one that ends with `*` stands for all that begin like it;
    /// `others` are keys that have to be there at rest, untouched by services.
    case permitted([String], others: [String])

    // MARK: What a box does and shows

    /// A service has made a share, whose value is the default. It owns some fields: nobody else changes them, and it
    /// only makes them greater.
    case opened(Box, default: Document, owns: [String])
    /// The program has made a change of these fields.
    case changed(Box, number: Int, Document)
    /// The box has a new value, or the default when nothing is stored. It came from outside, or that is not known. The
    /// revision is the newest that the service knows.
    case shown(Box, Document?, revision: UInt64?, isFromOutside: Bool)
    /// What a message had told, and the box has shown, was not stored: the box goes back to what it knows to be.
    case withdrawn(Box)
    /// The service has the server's acknowledgement of these changes; a program cannot see that.
    case acknowledged(Box, through: Int, revision: UInt64)
    /// These changes yield to what somebody else has done, as `saveError` says.
    case conceded(Box, through: Int)
    /// These changes cannot be encoded, and stay in the box.
    case notEncodable(Box, through: Int)
    /// The program was told that these changes are saved.
    case saved(Box, through: Int)
    /// The program was told that everything which a service had changed so far is saved, but for what is being sent, or
    /// that a change was given up.
    case flushed(service: String, tellsGivenUp: Bool)

    // MARK: Atomic updates

    /// An atomic update has begun; its number is another one for each of a service. Not all change something.
    case updateBegan(Box, number: Int, changes: Bool)
    /// The program was told what came of it.
    case updateEnded(Box, number: Int, Outcome)

    // MARK: What happens at the server

    /// A commit took effect.
    case committed(Commit)
    /// Somebody who knows no revisions has written these fields, or deleted the value; what is stored now, if known.
    case edited(name: String, Document, Stored?)
    /// That was a deletion which has left the revision, and it is the server on which the services have seen the value,
    /// which has thrown nothing away since, so that they can tell.
    case deleted(name: String)
    /// Somebody has announced what was never stored. Who believes it for a moment is soon withdrawn.
    case forged(name: String, Stored)
    /// Somebody who knows no revisions lets the value expire: it may be gone any time, and its revision be left.
    case expires(name: String)
    /// The server has thrown a value away because it needs memory, and may have left its revision.
    case evicted(name: String)
    /// The server does not know any more which operations it has applied, and to what.
    case forgotten
    /// The server refuses commits for a while. Whoever sends one again is not told either what came of the first.
    case refused
    /// Another server has taken the place of the one there was, with its data or without.
    case replaced
    /// The server has lost what some service may not have seen.
    case lost

    // MARK: What a service costs

    /// A service has read or written these keys, or listened to these channels.
    case touched(service: String, [String])
    /// A service keeps so much.
    case kept(service: String, Load)

    // MARK: The end

    /// Writes have stopped, everyone is connected, and nothing is on its way.
    case rested(Rest)
  }

  /// What the program was told of an atomic update.
  public enum Outcome: Hashable, Codable, Sendable {
    /// It has taken effect, and has made the value this, if that is known.
    case succeeded(Document?)
    /// It has not taken effect, and never will.
    case failed
    /// Nobody can know: `outcomeUnknown`, long before the time was over.
    case unknown
    /// Nobody waited any longer: the time was over, or the task was cancelled.
    case abandoned
  }
}
