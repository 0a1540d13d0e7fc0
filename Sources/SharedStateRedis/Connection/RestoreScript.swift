/// The Lua script that puts back what a server has lost, with the revision that it had.
///
/// Keys: the value, its meta.
///
/// Arguments: the channel; the revision; its parent; the kind (`s`, `d`); when the value expires, in milliseconds since
/// 1970, or 0; the writer; the kind that is announced (`r` for a large document); the document.
///
/// Answers as ``CommitScript`` does. A conflict means that something as new is stored, or that somebody without revisions
/// has written meanwhile, or that the value would have expired by now.
package enum RestoreScript {
  package static let source = """
    local value, meta = KEYS[1], KEYS[2]
    local channel, revision, parent, kind, expiry, writer, announced, document = unpack(ARGV)
    local header = revision .. ' ' .. parent .. ' '
    local function announce()
      if announced == 'r' then document = '' end
      redis.call('PUBLISH', channel, '1 ' .. header .. announced .. ' ' .. writer .. '\\n' .. document)
      return 'ok ' .. revision .. ' ' .. parent
    end

    -- Most often nothing is left at all, and then one call is all that it takes.
    if kind == 's' and expiry == '0' then
      if redis.call('MSETNX', value, document, meta, header .. 's 0 ' .. writer) == 1 then return announce() end
    end
    local stored = redis.call('GET', meta)
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
      redis.call('SET', meta, header .. 'd 0 ' .. writer, 'EX', '\(CommitScript.tombstoneLifetimeInSeconds)')
    elseif expiry ~= '0' then
      redis.call('SET', value, document, 'PX', string.format('%.0f', left))
      local outlives = string.format('%.0f', left + \(CommitScript.tombstoneLifetimeInSeconds)000)
      redis.call('SET', meta, header .. 's ' .. expiry .. ' ' .. writer, 'PX', outlives)
    else
      redis.call('SET', value, document)
      redis.call('SET', meta, header .. 's 0 ' .. writer)
    end
    return announce()
    """
}
