/// The Lua script that restores versions that a server has lost, with their revisions.
///
/// Keys, for each value: the value, its meta. No value is listed twice. Then the namespace's ``Secret``.
///
/// Arguments: `1` if nothing is expected and no value expires, so that one call can write them all; `1` if documents
/// are announced by reference; the secret to store if there is none, or an empty string; then, for each value:
/// - the channel;
/// - its ``Meta`` as it is stored;
/// - the digest of an announced document, or an empty string;
/// - the document, which is empty for a tombstone;
/// - the expected revision;
/// - the ``Lineage`` that the expected meta ends with, or an empty string;
/// - the document that is expected where there is no meta, or an empty string.
///
/// Answers an array with one element for each value: 1; or `ok` and an error, if the restored version could not be
/// announced; or a conflict as ``CommitScript`` describes it, or 0, which is a conflict with the same value and meta. A
/// conflict means that something else is stored than was expected, or that the value would have expired by now.
enum RestoreScript {
  /// How many values one call restores at most. Redis does nothing else meanwhile.
  static let maximumValues = 64

  /// The script for a single server.
  static let source = source(publishing: "'PUBLISH'")
  private static let clusterSource = source(publishing: CommitScript.publishInCluster)

  static func source(for dialect: Dialect) -> String { dialect.isCluster ? clusterSource : source }

  /// - Parameter command: A Lua expression.
  private static func source(publishing command: String) -> String {
    """
    local areLasting, isReference, given = ARGV[1] == '1', ARGV[2] == '1', ARGV[3]
    local count = (#KEYS - 1) / 2
    local secret = redis.call('MGET', KEYS[#KEYS])[1]
    \(CommitScript.prove)

    local function announce(place)
      local first = 7 * place - 3
      local text, form = ARGV[first + 1], 's'
      if string.match(text, '^%d+ %d+ (%a)') == 'd' then form = 'd' elseif isReference then form = 'r' end
      local message = prove(KEYS[#KEYS], secret, given, form, ARGV[first + 2], text, ARGV[first])
      if form == 's' then message = message .. ARGV[first + 3] end
      -- The value is restored, whether or not it can be announced.
      local reply = redis.pcall(\(command), ARGV[first], message)
      if type(reply) == 'table' then return {'ok', reply.err} end
      return 1
    end

    local function restore(place)
      local value, meta = KEYS[2 * place - 1], KEYS[2 * place]
      local first = 7 * place - 3
      local lost, document, expected, seen, basis = ARGV[first + 1], ARGV[first + 3], ARGV[first + 4], ARGV[first + 5], ARGV[first + 6]
      local kind, expiry = string.match(lost, '^%d+ %d+ (%a) (%d+) ')
      local stored = redis.call('MGET', meta)
      \(CommitScript.readRevision)
      \(CommitScript.readDocument)

      local type = redis.call('TYPE', value).ok
      local left = 0
      if expiry ~= '0' then
        local time = redis.call('TIME')
        left = expiry - math.floor((time[1] * 1000000 + time[2]) / 1000)
      end
      local conflicts = expected ~= previous or not isSeen(seen)
      if not conflicts and type ~= 'none' then
        if type ~= 'string' or stored[1] == lost then
          conflicts = true
        elseif expected == '0' then
          conflicts = basis == '' or not isStored(value, basis)
        end
      end
      if conflicts or expiry ~= '0' and left <= 0 then
        return {'conflict', stored[1], reported(value, type), type}
      end

      if kind == 'd' then
        redis.call('UNLINK', value)
        redis.call('SET', meta, lost, 'EX', '\(CommitScript.tombstoneLifetimeInSeconds)')
      elseif expiry ~= '0' then
        local outlives = string.format('%.0f', left + \(CommitScript.tombstoneLifetimeInSeconds)000)
        redis.call('SET', value, document, 'PX', string.format('%.0f', left))
        redis.call('SET', meta, lost, 'PX', outlives)
      else
        redis.call('SET', value, document)
        redis.call('SET', meta, lost)
      end
      return announce(place)
    end

    -- In most cases nothing is left at all, or another service was faster.
    local isEmpty, stored = false, {}
    if areLasting then
      local all = {}
      for place = 1, count do
        local first = 4 * place - 3
        all[first], all[first + 1] = KEYS[2 * place - 1], ARGV[7 * place]
        all[first + 2], all[first + 3] = KEYS[2 * place], ARGV[7 * place - 2]
      end
      isEmpty = redis.call('MSETNX', unpack(all)) == 1
      if not isEmpty then stored = redis.call('MGET', unpack(KEYS)) end
    end

    local answers = {}
    for place = 1, count do
      if isEmpty then
        answers[place] = announce(place)
      elseif stored[2 * place - 1] == ARGV[7 * place] and stored[2 * place] == ARGV[7 * place - 2] then
        answers[place] = 0
      else
        answers[place] = restore(place)
      end
    end
    return answers
    """
  }
}
