/// The Lua script that puts back what a server has lost, with the revisions that it had.
///
/// Keys, for each value: the value, its meta. No value comes twice.
///
/// Arguments, for each value: the channel; the revision; its parent; the kind (`s`, `d`); when the value expires, in
/// milliseconds since 1970, or 0; the writer; the kind that is announced (`r` for a large document); the document.
///
/// Answers an array, for each value as ``CommitScript`` does. A conflict means that something as new is stored, or that
/// somebody without revisions has written meanwhile, or that the value would have expired by now.
package enum RestoreScript {
  /// How many values it is given at the most: Redis does nothing else meanwhile.
  package static let maximumValues = 64

  package static let source = """
    local function announce(place)
      local first = 8 * place - 7
      local revisions = ARGV[first + 1] .. ' ' .. ARGV[first + 2]
      local document = ARGV[first + 6] == 'r' and '' or ARGV[first + 7]
      local message = '1 ' .. revisions .. ' ' .. ARGV[first + 6] .. ' ' .. ARGV[first + 5] .. '\\n' .. document
      redis.call('PUBLISH', ARGV[first], message)
      return 'ok ' .. revisions
    end

    local function restore(place)
      local value, meta = KEYS[2 * place - 1], KEYS[2 * place]
      local _, revision, parent, kind, expiry, writer, _, document = unpack(ARGV, 8 * place - 7, 8 * place)
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

      local header = revision .. ' ' .. parent .. ' '
      if kind == 'd' then
        redis.call('UNLINK', value)
        redis.call('SET', meta, header .. 'd 0 ' .. writer, 'EX', '\(CommitScript.tombstoneLifetimeInSeconds)')
      elseif expiry ~= '0' then
        redis.call('SET', value, document, 'PX', string.format('%.0f', left))
        local outlives = string.format('%.0f', left + \(CommitScript.tombstoneLifetimeInSeconds)000)
        redis.call('SET', meta, header .. 's ' .. expiry .. ' ' .. writer, 'PX', outlives)
      else
        redis.call('SET', value, document)
        redis.call('SET', meta, header .. 's 0 ' .. writer)
      end
      return announce(place)
    end

    -- Most often nothing is left at all, and then one call puts back everything that does not expire.
    local count, isLasting, lasting, last = #KEYS / 2, {}, {}, 0
    for place = 1, count do
      local first = 8 * place - 7
      if ARGV[first + 3] == 's' and ARGV[first + 4] == '0' then
        lasting[last + 1], lasting[last + 2] = KEYS[2 * place - 1], ARGV[first + 7]
        lasting[last + 3] = KEYS[2 * place]
        lasting[last + 4] = ARGV[first + 1] .. ' ' .. ARGV[first + 2] .. ' s 0 ' .. ARGV[first + 5]
        isLasting[place], last = true, last + 4
      end
    end
    local isEmpty = last > 0 and redis.call('MSETNX', unpack(lasting)) == 1

    local answers = {}
    for place = 1, count do
      answers[place] = isEmpty and isLasting[place] and announce(place) or restore(place)
    end
    return answers
    """
}
