-- Writing into a space that may be full: each attempt is made again, in order, when there is room.

local function accepts(space, keys)
  local capacity = opened[space].capacity
  if capacity == NO_LIMIT then return true end
  local used = redis.call('HLEN', key('tuples', space)) + redis.call('HLEN', key('claims', space))
  return used < capacity or first_taker(space, queues_of(space, keys), keys) ~= nil
end

local find_space  -- below

-- The attempts ---------------------------------------------------------------------------------------

local attempt = {}  -- by operation: returns the answer, or nil where there is no room

function attempt.write(command)  -- goes on after the tuples that had room before
  command.done = command.done or 0
  while command.done < #command.tuples do
    local tuple = command.tuples[command.done + 1]
    if not accepts(command.space, tuple.keys) then return nil end
    emit(command.space, 'write', command.actor, tuple.payload)
    put(command.space, tuple, command.ttl)
    command.done = command.done + 1
  end
  return {'ok', command.done}
end

function attempt.replace(command)  -- of the oldest match, or of one that the client has chosen
  local space, new = command.space, command.tuples[1]
  local seq = command.seq or (command.shape and oldest(space, command.shape, command.keys))
  if seq and redis.call('HEXISTS', key('tuples', space), seq) == 1 then
    local old = remove(space, seq)
    emit(space, 'replace', command.actor, new.payload, {old = old.payload})
    put(space, new, command.ttl)
    return {'ok', old.payload}
  end
  if not command.insert or command.seq then return {'none'} end
  if not accepts(space, new.keys) then return nil end
  emit(space, 'write', command.actor, new.payload)
  put(space, new, command.ttl)
  return {'none'}
end

function attempt.complete(command)  -- the command waits in the space of the result
  local source = command.claimed
  local claim = find_space(source.space) and claim_of(source)
  if not claim then return {'stale'} end
  local new = command.tuples[1]
  local same = source.space == command.space
  if new and not same and not accepts(command.space, new.keys) then return nil end
  forget_claim(source.space, source.seq)
  emit(source.space, command.operation, claim.holder, claim.tuple.payload,
       {attempt = claim.attempt, token = claim.token, reason = command.reason})
  if new then
    emit(command.space, 'write', command.actor, new.payload)
    put(command.space, new)
  end
  return {'ok'}
end

attempt.write_many = attempt.write
attempt.bury = attempt.complete

-- When there is room, or something is over -----------------------------------------------------------

-- Let the waiting writers for whose tuples there is room now, or somebody who wants them, write.
local function call_writers(space)
  if not opened[space] or opened[space].capacity == NO_LIMIT then return end  -- removed, or never full
  for _, id in ipairs(redis.call('ZRANGE', key('writers', space), 0, -1)) do
    local writer = fetch('waiters', space, id)
    if writer and is_in_time(writer) then
      local before = writer.done
      local answer = attempt[writer.operation](writer)
      if answer then
        serve(writer, answer)
        if writer.claimed and writer.claimed.space ~= space then call_writers(writer.claimed.space) end
      else
        if writer.done ~= before then save('waiters', space, id, writer) end
        if tonumber(redis.call('HGET', key('space', space), 'takers') or 0) == 0 then return end
      end
    end
  end
end

local function end_what_is_over(space)
  local over = redis.call('ZRANGEBYSCORE', key('moments', space), '-inf', exact(now))
  for _, seq in ipairs(over) do
    local claim = fetch('claims', space, seq)
    if claim then
      end_claim(space, seq, claim, 'lapse', true)
    else
      local tuple = remove(space, seq)
      emit(space, 'expire', tuple.writer, tuple.payload)
    end
  end
  if #over > 0 then call_writers(space) end
end

-- Spaces ---------------------------------------------------------------------------------------------

-- Open a space for this batch, if there is one.
function find_space(space)
  if opened[space] then return opened[space] end
  local known = redis.call('HMGET', key('space', space), 'capacity', 'closed', 'birth', 'is_heir')
  if not known[1] then return nil end
  opened[space] = {capacity = tonumber(known[1]) or NO_LIMIT, asked = known[1], closed = known[2] == '1',
                   birth = tonumber(known[3]), is_heir = known[4] == '1'}
  end_what_is_over(space)
  return opened[space]
end

-- The first to name a space makes it, and decides on its capacity ('' for no limit).
local function make_space(space, capacity)
  -- Tuples and events are numbered from the time of day on: after a server lost its memory no number
  -- comes again, so a claim, a take or a watch from before cannot meet what is of today.
  local birth = exact(now)
  redis.call('HSET', key('space', space), 'capacity', capacity,
             'birth', birth, 'tuples', birth, 'events', birth,
             'is_heir', redis.call('HDEL', REMOVED, space))
  redis.call('SADD', 'tuplespace:spaces', space)
  return find_space(space)
end
