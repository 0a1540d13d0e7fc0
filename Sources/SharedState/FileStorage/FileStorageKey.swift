public import Foundation
import SharedStateDependencies

extension SharedReaderKey {
  /// Keeps a value in a file, as JSON or in the format of another encoder.
  ///
  /// ```swift
  /// @Shared(.fileStorage(.documentsDirectory.appending(component: "users.json"))) var users: [User] = []
  /// ```
  ///
  /// See ``FileStorage`` for when and how it is written. In a test the file exists in memory only. A required member
  /// that the file lacks has the value that it has in the default.
  /// - Parameters:
  ///   - url: The file. A missing directory is made.
  ///   - decoder: Reads the file. Only its settings are used, except that a subclass is used as it is.
  ///   - encoder: Makes the file, likewise.
  public static func fileStorage<Value: Codable>(
    _ url: URL,
    decoder: JSONDecoder = JSONDecoder(),
    encoder: JSONEncoder = JSONEncoder()
  ) -> Self where Self == FileStorageKey<Value> {
    FileStorageKey(
      url: url,
      decode: { try ValueCoder(encoder, decoder, completedBy: $1).decode($0).value },
      encode: { try ValueCoder(encoder, decoder).encode($0) }
    )
  }

  /// Keeps a value in a file of any format.
  ///
  /// After a leading dot, Swift 6.3 does not infer that a closure is `@Sendable`, and reports an error. Name the type,
  /// or mark the closure:
  ///
  /// ```swift
  /// @Shared(FileStorageKey.fileStorage(url, decode: { $0 }, encode: { $0 })) var file = Data()
  /// @Shared(.fileStorage(url, decode: { @Sendable in $0 }, encode: { @Sendable in $0 })) var same = Data()
  /// ```
  /// - Parameters:
  ///   - url: The file. A missing directory is made.
  ///   - decode: Reads the file. Called on any thread.
  ///   - encode: Makes the file. Called on any thread.
  public static func fileStorage<Value>(
    _ url: URL,
    decode: @escaping @Sendable (Data) throws -> Value,
    encode: @escaping @Sendable (Value) throws -> Data
  ) -> Self where Self == FileStorageKey<Value> {
    FileStorageKey(url: url, decode: { data, _ in try decode(data) }, encode: encode)
  }
}

/// Keeps a value in a file; made with ``SharedReaderKey/fileStorage(_:decoder:encoder:)``.
///
/// All shares of one file and one type of value are one value. Shares of one file with different types of value see
/// each other's changes when they can read them. An empty file counts as missing when it is loaded, unless its format
/// has a value for it; a file that becomes empty is about to be written. A share replaces content that it cannot read
/// only on request, by `save(replacingUnreadable: true)`.
public struct FileStorageKey<Value: Sendable>: SharedKey {
  private let document: FileDocument
  /// Takes the content of the file, and the value that supplies missing members.
  private let decode: @Sendable (Data, Value?) throws -> Value
  private let encode: @Sendable (Value) throws -> Data
  private var defaultValue: Value?
  private let author = KeyAuthor()

  init(
    url: URL,
    decode: @escaping @Sendable (Data, Value?) throws -> Value,
    encode: @escaping @Sendable (Value) throws -> Data
  ) {
    document = DependencyValues.current.defaultFileStorage.document(at: url)
    self.decode = decode
    self.encode = encode
  }

  /// The file, and the storage that it is in.
  public var id: FileStorageKeyID {
    FileStorageKeyID(document: ObjectIdentifier(document))
  }

  /// Loads the content of the file, after writing the pending change.
  public func load(context: LoadContext<Value>, continuation: LoadContinuation<Value>) {
    document.load { result, edition in
      pass(value(from: result, edition), edition) { continuation.resume(with: $0) }
    }
  }

  /// Yields the changes that other programs make to the file.
  public func subscribe(context: LoadContext<Value>, subscriber: SharedSubscriber<Value>) -> SharedSubscription {
    document.observe(by: author) { result, edition in
      let value = value(from: result, edition)
      // The file is about to be written: the present value stays until then.
      if case .success(nil) = value, case .success(_?) = result {
        author.see(edition)
        return
      }
      pass(value, edition) { subscriber.yield(with: $0) }
    } onWatchError: { error in
      subscriber.yield(watchError: error)
    }
  }

  /// Writes the value: the first one and an explicitly saved one immediately, others when their turn comes.
  public func save(_ value: Value, context: SaveContext, continuation: SaveContinuation) {
    document.save(
      as: ObjectIdentifier(Value.self),
      by: author,
      context: context,
      continuation: continuation
    ) {
      do {
        return try encode(value)
      } catch let error as EncodingError {
        throw FileStorageError.unencodable(path: document.path, reason: CodingErrorSummary.text(of: error))
      }
    }
  }

  /// Deletes the file.
  public func reset(to initialValue: Value, continuation: SaveContinuation) {
    document.save(
      as: ObjectIdentifier(Value.self),
      by: author,
      context: .replacingUnreadable,
      continuation: continuation
    ) { nil }
  }

  /// Passes an edition of the file on.
  private func pass(
    _ value: Result<Value?, any Error>,
    _ edition: UInt64,
    to receiver: (Result<Value?, any Error>) -> Void
  ) {
    // What cannot be read is replaced only on request anyway.
    if case .failure = value { author.see(edition) }
    author.pass(edition) { receiver(value) }
  }

  private func value(from result: Result<Data?, any Error>, _ edition: UInt64) -> Result<Value?, any Error> {
    result.flatMap { data in
      let type = ObjectIdentifier(Value.self)
      do {
        let value = try data.map { try decode($0, defaultValue) }
        document.didDecode(as: type, edition, isReadable: true)
        return .success(value)
      } catch {
        // Other programs create a file before they write it.
        let isEmpty = data?.isEmpty ?? false
        document.didDecode(as: type, edition, isReadable: isEmpty)
        if isEmpty { return .success(nil) }
        guard let error = error as? DecodingError else { return .failure(error) }
        let reason = DecodingFailure(error, in: data).description
        return .failure(FileStorageError.undecodable(path: document.path, reason: reason))
      }
    }
  }
}

extension FileStorageKey: StorageFindingKey {
  package var findsStorage: Bool { true }

  private var url: URL { URL(fileURLWithPath: document.path) }

  package var maker: @Sendable () -> Self {
    { [url, decode, encode] in Self(url: url, decode: decode, encode: encode) }
  }
}

extension FileStorageKey: CustomStringConvertible {
  /// How the key is made.
  public var description: String { ".fileStorage(\(url.absoluteString))" }
}

extension FileStorageKey: SynchronousKey {
  func storedValue() throws -> Value? {
    let (content, edition) = document.read()
    let value = try value(from: content, edition).get()
    author.see(edition)
    return value
  }

  package func completed(by defaultValue: Value) -> Self {
    var key = self
    key.defaultValue = defaultValue
    return key
  }
}

extension FileStorageKey: RetryingKey {
  /// What the system refuses now, it may allow later.
  func isWorthRetrying(_ error: any Error) -> Bool {
    (error as? FileStorageError)?.code == .system
  }
}

/// Distinguishes one stored file from another.
public struct FileStorageKeyID: Hashable, Sendable {
  let document: ObjectIdentifier
}
