/// The Lua script that puts back what a server has lost, with the revisions that it had.
///
/// Keys, for each value: the value, its meta. No value comes twice.
///
/// Arguments: `1` when every value is there for ever, so that one call can write them all; `1` when documents are
/// announced by reference; then for each value: the channel; its ``Meta`` as it is stored; the header of the message; the
/// document, which is empty for a tombstone. Whole strings, because each piece that Lua puts together costs as much as
/// writing it.
///
/// Answers an array, for each value 1, or a conflict as ``CommitScript`` tells of it, or 0, which is a conflict with the
/// very same value and meta. A conflict means that something as new is stored, or that somebody without revisions has
/// written meanwhile, or that the value would have expired by now.
package enum RestoreScript {
  /// How many values it is given at the most: Redis does nothing else meanwhile.
  package static let maximumValues = 64

  package static let source = """
    local areLasting, isReference = ARGV[1] == '1', ARGV[2] == '1'
    local count = #KEYS / 2

    local function announce(place)
      local first = 4 * place - 1
      local message = ARGV[first + 2]
      if not isReference then message = message .. ARGV[first + 3] end
      redis.call('PUBLISH', ARGV[first], message)
      return 1
    end

    local function restore(place)
      local value, meta = KEYS[2 * place - 1], KEYS[2 * place]
      local lost, document = ARGV[4 * place], ARGV[4 * place + 2]
      local revision, kind, expiry = string.match(lost, '^(%d+) %d+ (%a) (%d+) ')
      local stored = redis.call('MGET', meta)[1]
      local previous = stored and string.match(stored, '^(%d+) ') or '0'
      if string.byte(previous) == 48 or previous + 0 > 9007199254740992 then previous = '0' end

      local type = redis.call('TYPE', value).ok
      local left = 0
      if expiry ~= '0' then
        local time = redis.call('TIME')
        left = expiry - math.floor((time[1] * 1000000 + time[2]) / 1000)
      end
      local isNewer = previous + 0 < revision + 0 or previous == revision and type == 'none' and kind == 's'
      local isForeign = type ~= 'none' and (type ~= 'string' or previous == '0')
      if not isNewer or isForeign or expiry ~= '0' and left <= 0 then
        return {'conflict', stored, type == 'string' and redis.call('GET', value), type}
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

    -- Most often nothing is left at all, or another service was faster.
    local isEmpty, stored = false, {}
    if areLasting then
      local all = {}
      for place = 1, count do
        local first = 4 * place - 3
        all[first], all[first + 1] = KEYS[2 * place - 1], ARGV[4 * place + 2]
        all[first + 2], all[first + 3] = KEYS[2 * place], ARGV[4 * place]
      end
      isEmpty = redis.call('MSETNX', unpack(all)) == 1
      if not isEmpty then stored = redis.call('MGET', unpack(KEYS)) end
    end

    local answers = {}
    for place = 1, count do
      if isEmpty then
        answers[place] = announce(place)
      elseif stored[2 * place - 1] == ARGV[4 * place + 2] and stored[2 * place] == ARGV[4 * place] then
        answers[place] = 0
      else
        answers[place] = restore(place)
      end
    end
    return answers
    """
}
