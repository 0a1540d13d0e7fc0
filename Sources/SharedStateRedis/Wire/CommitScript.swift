/// The one Lua script that checks, numbers, writes and announces a change.
///
/// Keys: the value, its meta, its operations, the namespace's ``Secret``, and for a large document the staging key that
/// holds it.
///
/// Arguments:
/// - the channel;
/// - the expected revision, or `*` for any, or `!` and the expected revision to replace another type as well; in front
///   of it `?`, a time in milliseconds and a space, to reserve the value for the writer if the commit conflicts;
/// - the floor;
/// - the writer;
/// - the writer's nonce;
/// - the number of the operation;
/// - the kind: `s`, `r` for a large document, `d`, `a` to adopt the stored document, `x` to adopt its absence;
/// - the document, which is empty unless the kind is `s`; for `a` the largest document, in bytes, to announce inline;
/// - the time to live in milliseconds, or 0;
/// - the ``Lineage`` that the expected meta ends with, or an empty string;
/// - the text of the new lineage in front of the revision and the text behind it; both empty if no lineage is written;
/// - the secret to store if there is none; empty: the writer knows none;
/// - the digest of the document, which is empty unless the kind is `s`;
/// - optionally the expected document;
/// - or, behind an empty string, the key that keeps the stored document, if the commit opens a line over it.
///
/// That key is no key of the script: a server that refuses it, or COPY, still takes the commit. It has the hash tag of
/// the others.
///
/// The service makes the lineage, because it knows the version that it expects. Reading the lineage in the script would
/// cost more than the commit.
///
/// If no revision is expected, nothing may be stored, or only the expected document. A document that has lost its meta
/// still counts as a client's change.
///
/// A reservation is for a writer whose commits lose against faster ones. While it holds, the commits of all other
/// writers have no effect: changes and deletions, adoptions and merges. ``RestoreScript`` does not look at it, because a
/// restoration brings back what was acknowledged. It ends with the holder's next commit that takes effect, or when its
/// time is over. The writer asks for as much as twice the time of an attempt, and for no more than one reservation in ten
/// of its commits; the script bounds the time, whatever it is asked for. One that ends later than that counts as none:
/// the clock was set back.
///
/// The value is written first. From then on nothing ends the script, because a write stays even if a later command
/// fails, and an error would deny it.
///
/// Answers `ok <revision> <parent>`; or `held <milliseconds>` if the value is reserved for another writer for so long;
/// or one of these arrays:
/// - `ok`, the revision, the parent, a command, and its error, if that command failed after the value was written;
/// - `conflict`, the stored meta and document (nil if missing; the length of a large document), the type of the value,
///   and `forgotten` if the script may no longer remember an operation of the writer that was applied on top of the
///   expected revision;
/// - `type` and the name of the other type that the key holds;
/// - `staging` if the staging key does not exist.
///
/// The revision is above the floor and above the stored one, and at least the server's time. A bound that would exceed
/// ``Revision/largest`` is ignored.
///
/// The script never reads a staged document into Lua, computes no digest of a document except an adopted one, and
/// concatenates only small documents, because Redis copies and hashes every byte of every Lua string.
enum CommitScript {
  /// How many writers' last operations are remembered for each key, at most.
  static let rememberedOperations = 32
  /// The length of the shortest operation, in bytes. A record that is too short to hold too many operations, as for
  /// most keys, is not counted.
  static let shortestOperation = 20
  /// How long an operation is remembered after the last commit to its key.
  static let operationLifetimeInSeconds = 3_600
  /// How long meta outlives its value if a service may hold something older that never expires.
  static let tombstoneLifetimeInSeconds = 604_800
  /// How long meta outlives its value if everything older has expired as well, so that no service can bring it back:
  /// for as long as a retry is answered.
  static let expiryNoteLifetimeInSeconds = operationLifetimeInSeconds
  /// A conflict with a larger document contains its length in bytes instead.
  static let largestDocumentInConflict = 1 << 20
  /// How long a value is reserved for a writer at most.
  static let longestReservationInMilliseconds: UInt64 = 1_000
  /// How long a staged document waits for its commit.
  static let stagingLifetimeInSeconds = 60

  /// Reads the revision of the stored meta, `stored[1]`, as ``Meta`` reads it, and defines a check of the lineage that
  /// the meta ends with. Revisions are compared as text, because Lua rounds numbers. A meta with an implausible
  /// revision counts as none.
  static let readRevision = """
    local previous = stored[1] and string.match(stored[1], '^(%d+) ') or '0'
    if string.byte(previous) == 48 or #previous > 16 or #previous == 16 and previous > '\(Revision.largest)' then
      previous = '0'
    end
    local function isSeen(lineage)
      return lineage == '' or stored[1] and string.sub(stored[1], -#lineage) == lineage
    end
    """

  /// Defines how a conflict describes a value, and a comparison with an expected document. A document stored by hand
  /// may be larger than Lua should copy.
  static let readDocument = """
    local function reported(value, type)
      if type ~= 'string' then return false end
      local length = redis.call('STRLEN', value)
      if length > \(largestDocumentInConflict) then return length end
      return redis.call('GET', value)
    end
    local function isStored(value, document)
      return redis.call('STRLEN', value) == #document and redis.call('GET', value) == document
    end
    """

  /// Defines the header line of an announcement with its proof, as ``Secret`` computes it, if a `secret` is stored as
  /// the script reads it, or is `given`. The given one is stored where there is none.
  static let prove = """
    local function prove(place, secret, given, form, digest, text, channel)
      if not secret or #secret ~= \(Secret.length) then
        secret = given
        if given ~= '' then redis.pcall('SET', place, given) end
      end
      local code = redis.sha1hex(secret .. form .. digest .. text .. '\\n' .. channel .. secret)
      return '1 ' .. code .. ' ' .. form .. ' ' .. text .. '\\n'
    end
    """

  /// Servers of 7.0 and later have both the variable and the command.
  static let publishInCluster = "(redis.REDIS_VERSION_NUM and 'SPUBLISH' or 'PUBLISH')"

  /// The script for a single server.
  static let source = source(publishing: "'PUBLISH'")
  private static let clusterSource = source(publishing: CommitScript.publishInCluster)

  static func source(for dialect: Dialect) -> String { dialect.isCluster ? clusterSource : source }

  /// - Parameter command: A Lua expression.
  private static func source(publishing command: String) -> String {
    """
    local value, meta, operations, place, staging = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
    local channel, expected, floor, writer, nonce, number, kind, document, lifetime, seen, head, tail, given, digest, basis, base = unpack(ARGV)
    local stored = redis.call('MGET', meta, operations, place)
    \(prove)
    \(readRevision)
    \(readDocument)

    local failed, failure
    local function follow(command, ...)
      local reply = redis.pcall(command, ...)
      if not failed and type(reply) == 'table' and reply.err then failed, failure = command, reply.err end
    end

    -- Newest first: 'nonce number revision parent;nonce number revision parent;…'. While nothing was dropped, the last
    -- entry is '- 0 revision revision', and every operation after that revision is listed. If there was no revision at
    -- first, or no longer one, it is '- 0 revision 0' with the first new revision. In front of all, '+until nonce;' is a
    -- reservation. Scripts of older releases do not find it: no space follows the nonce.
    local wish
    if string.byte(expected) == 63 then wish, expected = string.match(expected, '^.(%d+) (.*)$') end
    local remembered = stored[2] or previous ~= '0' and '- 0 ' .. previous .. ' ' .. previous .. ';' or ''
    local left = 0
    if string.byte(remembered) == 43 then
      local reserved, holder, rest = string.match(remembered, '^.(%d+) ([^ ;]+);(.*)$')
      if reserved then
        remembered = rest
        if holder ~= nonce then
          local time = redis.call('TIME')
          left = reserved - (time[1] * 1000000 + time[2])
        end
      end
    end
    local record = remembered
    local first, last = string.find(remembered, nonce .. ' ', 1, true)
    local overtaken = false
    if first then
      local close = string.find(remembered, ';', last, true)
      local applied, revision, parent = string.match(string.sub(remembered, last + 1, close - 1), '^(%d+) (%d+) (%d+)$')
      if applied == number then
        if staging then redis.call('UNLINK', staging) end
        return 'ok ' .. revision .. ' ' .. parent
      end
      -- The writer has sent a later operation since, so an older connection delivers this one too late.
      overtaken = applied and applied + 0 > number + 0
      remembered = string.sub(remembered, 1, first - 1) .. string.sub(remembered, close + 1)
    end
    if left > 0 and left <= \(longestReservationInMilliseconds)000 then
      if staging then redis.call('UNLINK', staging) end
      return 'held ' .. math.ceil(left / 1000)
    end

    local replaces = string.byte(expected) == 33
    if replaces then expected = string.sub(expected, 2) end
    local type = redis.call('TYPE', value).ok
    local conflicts = overtaken or expected ~= '*' and (expected ~= previous or not isSeen(seen))
    if not conflicts then
      if kind == 'a' then
        conflicts = type == 'none'
      elseif kind == 'x' then
        conflicts = type ~= 'none'
      elseif basis and not base and expected ~= '*' then
        conflicts = type ~= 'string' or not isStored(value, basis)
      elseif expected == '0' then
        conflicts = not replaces and type == 'string'
      end
    end
    if conflicts then
      if staging then redis.call('UNLINK', staging) end
      local since, before = string.match(remembered, '%- 0 (%d+) (%d+);')
      local isGone
      if since then
        isGone = expected ~= '*' and since + 0 > expected + 0 and (before ~= '0' or expected ~= '0')
      else
        -- While a writer's last operation is remembered, none of its later ones was dropped.
        local _, count = string.gsub(remembered, ';', '')
        isGone = not first and count >= \(rememberedOperations)
      end
      local forgotten = isGone and 'forgotten' or nil
      -- A record that begins with a reservation would not say since when it is whole.
      if wish and record ~= '' then
        local time = redis.call('TIME')
        local reserved = time[1] * 1000000 + time[2] + math.min(wish, \(longestReservationInMilliseconds)) * 1000
        record = '+' .. string.format('%.0f', reserved) .. ' ' .. nonce .. ';' .. record
        redis.pcall('SET', operations, record, 'EX', '\(operationLifetimeInSeconds)')
      end
      return {'conflict', stored[1], reported(value, type), type, forgotten}
    end
    if type ~= 'string' and type ~= 'none' and not replaces then
      if staging then redis.call('UNLINK', staging) end
      return {'type', type}
    end
    -- Nothing is written before it is certain that the staged document exists.
    if kind == 'r' and redis.call('EXISTS', staging) == 0 then return {'staging'} end

    -- A fork of the histories begins with this version. COPY never passes it through Lua.
    if base then
      redis.pcall('COPY', value, base)
      redis.pcall('PEXPIRE', base, '\(KeptBase.lifetimeInMilliseconds)')
    end

    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    local least = math.max(previous + 1, floor + 1)
    -- No service would believe a revision above the largest one.
    if least > \(Revision.largest) then least = math.min(previous + 1, floor + 1) end
    if least > \(Revision.largest) then least = 0 end
    local revision = least > now and string.format('%.0f', least) or string.format('%s%06d', time[1], time[2])

    local write = follow
    if kind == 'a' then
      write = redis.call
      local limit, left = document + 0, redis.call('PTTL', value)
      kind, digest, document = 'r', '', ''
      if redis.call('STRLEN', value) <= limit then
        kind, document = 's', redis.call('GET', value)
        digest = redis.sha1hex(document)
      end
      -- An edit keeps an expiry that came with it.
      if left > 0 then
        lifetime = string.format('%.0f', left)
      elseif lifetime ~= '0' then
        redis.call('PEXPIRE', value, lifetime)
      end
    elseif kind == 's' then
      if lifetime ~= '0' then
        redis.call('SET', value, document, 'PX', lifetime)
      elseif type == 'string' then
        redis.call('SET', value, document, 'KEEPTTL')
      else
        redis.call('SET', value, document)
      end
    elseif kind == 'r' then
      local left = type == 'string' and redis.call('PTTL', value) or -1
      if lifetime ~= '0' then left = lifetime + 0 end
      -- RENAME carries the expiry over.
      if left > 0 then redis.call('PEXPIRE', staging, string.format('%.0f', left)) else redis.call('PERSIST', staging) end
      local renamed = redis.pcall('RENAME', staging, value)
      if renamed.err then
        redis.pcall('EXPIRE', staging, '\(stagingLifetimeInSeconds)')
        return renamed
      end
    else
      kind = 'd'
      if type == 'none' then write = redis.call else redis.call('UNLINK', value) end
    end
    if head ~= '' then writer = writer .. head .. revision .. tail end
    local text
    if kind == 'd' or lifetime ~= '0' then
      if kind == 'd' then lifetime = '0' end
      -- Meta with an expiry outlives everything that its value was made from.
      local outlives = redis.call('PTTL', meta)
      if outlives == -1 or outlives == -2 and kind == 'd' then
        outlives = lifetime + \(tombstoneLifetimeInSeconds)000
      else
        outlives = math.max(outlives, lifetime + \(expiryNoteLifetimeInSeconds)000)
      end
      local expiry = lifetime == '0' and '0' or string.format('%.0f', math.floor(now / 1000) + lifetime)
      text = revision .. ' ' .. previous .. ' ' .. (kind == 'd' and 'd' or 's') .. ' ' .. expiry .. ' ' .. writer
      write('SET', meta, text, 'PX', string.format('%.0f', outlives))
    else
      text = revision .. ' ' .. previous .. ' s 0 ' .. writer
      write('SET', meta, text)
    end

    if not stored[2] and previous == '0' then remembered = '- 0 ' .. revision .. ' 0;' end
    remembered = nonce .. ' ' .. number .. ' ' .. revision .. ' ' .. previous .. ';' .. remembered
    if #remembered > \(rememberedOperations * shortestOperation) then
      local _, count = string.gsub(remembered, ';', '')
      if count > \(rememberedOperations) then
        remembered = string.match(remembered, '^(.*;)[^;]*;$') or string.match(remembered, '^(.*;)')
      end
    end
    follow('SET', operations, remembered, 'EX', '\(operationLifetimeInSeconds)')

    follow(\(command), channel, prove(place, stored[3], given, kind, digest, text, channel) .. document)
    if failed then return {'ok', revision, previous, failed, failure} end
    return 'ok ' .. revision .. ' ' .. previous
    """
  }
}
