-- What a client can ask for. Every answer is a list that begins with one of
--   ok · none (no such tuple, or no room, in time) · page (of candidates) · wait (the bell will ring)
--   closed · stale (the lease is over) · capacity (the space exists with another one)

local PAGE = 100               -- candidates for a where() that are sent at a time
local SILENCE = 5 * 1000000    -- a client that is silent for longer has gone
local TICK = 500 * 1000        -- more often than this nobody needs to look for what is over
local ANSWER_KEPT = 3600       -- seconds for which a client may ask for a lost answer
local REMOVED_KEPT = 3600      -- seconds for which it is known that a space was removed
local NEAR_MISSES = 100        -- tuples that are shown to whoever gives up
local NEAR_MISSES_SIZE = 100000  -- bytes that these may take
local EVENTS_AT_A_TIME = 1000  -- sent to a watch

local commands = {}

-- One tuple, or one change ---------------------------------------------------------------------------

-- For the error of whoever gives up: the oldest tuples, or any hundred where there are more.
local function near_misses(space)
  local payloads, size = {}, 0
  for _, seq in ipairs(oldest_first(redis.call('HRANDFIELD', key('tuples', space), NEAR_MISSES))) do
    local payload = fetch('tuples', space, seq).payload
    size = size + #payload
    if size > NEAR_MISSES_SIZE then break end
    payloads[#payloads + 1] = payload
  end
  return payloads
end

local function give(c, seq)  -- as the answer to c
  local tuple = c.operation == 'read' and fetch('tuples', c.space, seq) or remove(c.space, seq)
  local answer = deliver(c.space, seq, tuple, c)
  call_writers(c.space)
  return answer
end

-- take, read, claim
function commands.obtain(c)
  local waiter = c.id and fetch('waiters', c.space, c.id)
  if waiter then return reply_to(waiter) end
  local seq = oldest(c.space, c.shape, c.keys)
  if seq then return give(c, seq) end
  if not c.waits then return {'none'} end
  if opened[c.space].closed then return {'closed'} end
  if c.timeout == 0 then return {'none', 0, {}} end  -- quickly: whoever polls asks often
  enqueue(c)
  call_writers(c.space)  -- one of them may have what this one waits for
  return reply_to(fetch('waiters', c.space, c.id))
end

-- write, write_many, replace, complete, bury
function commands.change(c)
  local waiter = fetch('waiters', c.space, c.id)
  if waiter then return reply_to(waiter) end
  if opened[c.space].closed and #c.tuples > 0 then
    local stale = c.claimed and not claim_of(c.claimed)
    return {stale and 'stale' or 'closed', 0}
  end
  local answer = attempt[c.operation](c)
  if answer then
    if c.claimed then call_writers(c.claimed.space) end
    call_writers(c.space)
    return answer
  end
  if c.timeout == 0 then return {'none', c.done or 0, {}} end
  enqueue(c)
  return {'wait'}
end

-- Wait no longer. Whoever was served meanwhile gets the answer all the same.
function commands.leave(c)
  local waiter = fetch('waiters', c.space, c.id)
  if waiter and waiter.answer then return reply_to(waiter) end
  if waiter then
    dequeue(waiter, c.why)
    forget(waiter)
    call_writers(c.space)
  end
  local asks_why = c.queue and c.why == 'timeout'
  return {'none', waiter and waiter.done or 0, asks_why and near_misses(c.space) or {}}
end

-- The receiver of an answer is gone: undo what it got.
function commands.give_back(c)
  give_back_answer(c.space, c.operation, c.answer, c.actor)
  call_writers(c.space)
  return {'ok'}
end

-- For patterns with a where() ------------------------------------------------------------------------
-- The client tests candidates, and then grabs the one that passes.

local function candidates(space, numbers)
  local found = {}
  for _, seq in ipairs(numbers) do
    local tuple = fetch('tuples', space, seq)
    if tuple then found[#found + 1] = {seq, tuple.payload} end
  end
  return found
end

-- The next page of candidates after a number. With an id, also wait for offers from now on.
function commands.look(c)
  local closed = opened[c.space].closed
  if c.id and not closed and not fetch('waiters', c.space, c.id) then enqueue(c) end
  local index = index_for(c.space, c.shape, c.keys)
  local page = redis.call('ZRANGEBYSCORE', index, '(' .. exact(c.after), '+inf', 'LIMIT', 0, PAGE)
  return {'page', candidates(c.space, page), closed}
end

-- The candidates that came since the last time.
function commands.offers(c)
  local waiter = fetch('waiters', c.space, c.id)
  if not waiter then return {'none'} end
  if waiter.answer then return reply_to(waiter) end
  local offers = key('offers:' .. c.id, c.space)
  local numbers = redis.call('LRANGE', offers, 0, -1)
  redis.call('DEL', offers)
  return {'page', candidates(c.space, numbers)}
end

-- This tuple, if nobody else has it by now.
function commands.grab(c)
  if redis.call('HEXISTS', key('tuples', c.space), c.seq) == 0 then return {'none'} end
  local waiter = c.id and fetch('waiters', c.space, c.id)
  if waiter then
    if not waiter.answer then dequeue(waiter, 'served') end
    forget(waiter)
  end
  return give(c, c.seq)
end

-- Many at once ---------------------------------------------------------------------------------------

-- All that match, oldest first; without a shape, everything.
function commands.read_all(c)
  return {'ok', candidates(c.space, all(c.space, c.shape, c.keys))}
end

-- The same, and remove them. With numbers, those of them that are still there.
function commands.take_all(c)
  local taker = {operation = 'take', actor = c.actor}
  local taken = {}
  for _, seq in ipairs(c.numbers or all(c.space, c.shape, c.keys)) do
    if c.limit and #taken >= c.limit then break end
    if redis.call('HEXISTS', key('tuples', c.space), seq) == 1 then
      taken[#taken + 1] = deliver(c.space, seq, remove(c.space, seq), taker)
    end
  end
  call_writers(c.space)
  return {'ok', taken}
end

-- How many match.
function commands.count(c)
  if not c.shape then return {'ok', redis.call('HLEN', key('tuples', c.space))} end
  return {'ok', redis.call('ZCARD', index_for(c.space, c.shape, c.keys))}
end

-- Claims ---------------------------------------------------------------------------------------------

-- Hold the tuple for c.lease from now.
function commands.renew(c)
  local claim = claim_of(c)
  if not claim then return {'stale'} end
  claim.deadline = now + c.lease
  save('claims', c.space, c.seq, claim)
  redis.call('ZADD', key('moments', c.space), exact(claim.deadline), c.seq)
  emit(c.space, 'renew', claim.holder, claim.tuple.payload, {token = claim.token, deadline = claim.deadline})
  return {'ok'}
end

-- Give the tuple back; c.failed tells whether this counts as an attempt.
function commands.release(c)
  local claim = claim_of(c)
  if not claim then return {'stale'} end
  end_claim(c.space, c.seq, claim, 'release', c.failed)
  call_writers(c.space)
  return {'ok'}
end

-- The space as a whole -------------------------------------------------------------------------------

-- The numbers of tuples, claims and waiters, and whether it is closed.
function commands.stats(c)
  return {'ok', redis.call('HLEN', key('tuples', c.space)), redis.call('HLEN', key('claims', c.space)),
          redis.call('HLEN', key('waiters', c.space)), opened[c.space].closed}
end

-- Who waits: arrival, actor, operation and pattern of each, in no order.
function commands.waiters(c)
  local found = {}
  for _, packed in ipairs(redis.call('HVALS', key('waiters', c.space))) do
    local waiter = cmsgpack.unpack(packed)
    if not waiter.answer then
      found[#found + 1] = {waiter.arrival, waiter.actor, waiter.operation, wish_of(waiter)}
    end
  end
  return {'ok', found}
end

-- End every wait. What is left can still be taken.
function commands.close(c)
  if opened[c.space].closed then return {'none'} end
  opened[c.space].closed = true
  redis.call('HSET', key('space', c.space), 'closed', '1')
  for _, packed in ipairs(redis.call('HVALS', key('waiters', c.space))) do
    local waiter = cmsgpack.unpack(packed)
    if not waiter.answer then serve(waiter, {'closed', waiter.done}, 'closed') end
  end
  emit(c.space, 'shut', c.actor)
  return {'ok'}
end

-- Close the space and forget it. Only the answers to those who waited stay, until they are fetched.
function commands.remove(c)
  local space = c.removed
  if not find_space(space) then return {'none'} end
  redis.call('HSET', REMOVED, space, c.actor)
  redis.call('EXPIRE', REMOVED, REMOVED_KEPT)
  commands.close({space = space, actor = c.actor})
  for _, seq in ipairs(redis.call('HKEYS', key('tuples', space))) do remove(space, seq) end
  for _, arity in ipairs(redis.call('SMEMBERS', key('arities', space))) do
    redis.call('DEL', key('shapes:' .. arity, space))
  end
  for _, kind in ipairs({'arities', 'claims', 'moments', 'watchers', 'events', 'space'}) do
    redis.call('DEL', key(kind, space))
  end
  redis.call('SREM', 'tuplespace:spaces', space)
  opened[space] = nil
  return {'ok'}
end

-- Watching -------------------------------------------------------------------------------------------

-- Ring the bell of this client at every event from now on. Answers with the number of the last one before.
function commands.watch(c)
  redis.call('SREM', 'tuplespace:rung:' .. client, c.space)  -- a watch may have left before it looked
  redis.call('SADD', key('watchers', c.space), client)
  redis.call('ZADD', 'tuplespace:clients', 'NX', exact(now), client)
  return {'ok', tonumber(redis.call('HGET', key('space', c.space), 'events')), opened[c.space].closed}
end

local function stop_watching(space, who)
  redis.call('SREM', key('watchers', space), who)
  if redis.call('SCARD', key('watchers', space)) == 0 then redis.call('DEL', key('events', space)) end
end

-- Ring it no more.
function commands.unwatch(c)
  stop_watching(c.space, client)
  return {'ok'}
end

local function last_event(c, actor)  -- for a watch of a space that was removed
  return {'ok', 0, c.after, {cmsgpack.pack({c.after, now, 'shut', actor, '', {}})}}
end

-- The next events after a number: how many are gone by now, the number of the last one, and the events.
function commands.events(c)
  redis.call('SREM', 'tuplespace:rung:' .. client, c.space)
  if is_of_predecessor(c.space, c.after) then return last_event(c, '') end
  redis.call('SADD', key('watchers', c.space), client)  -- it was forgotten if it had been silent
  local space = redis.call('HMGET', key('space', c.space), 'birth', 'events')
  local after = math.max(c.after, tonumber(space[1]))  -- what was before is lost with the server's memory
  local first, last, events = nil, tonumber(space[2]), {}
  for _, entry in ipairs(redis.call('XRANGE', key('events', c.space), exact(after + 1) .. '-0', '+',
                                    'COUNT', EVENTS_AT_A_TIME)) do
    last = tonumber(entry[1]:match('%d+'))
    first = first or last
    events[#events + 1] = entry[2][2]
  end
  if #events == EVENTS_AT_A_TIME then ring(client, 'events:' .. c.space) end  -- there may be more
  return {'ok', (first or last + 1) - after - 1, last, events}
end

-- After a space was removed, some who used it do not know yet. Their commands must not make a new one.

local FAREWELL = {leave = {'none', 0, {}}, give_back = {'ok'}, unwatch = {'ok'}, grab = {'none'},
                  renew = {'stale'}, release = {'stale'}}

local function farewell_to(c)  -- nil for a command that is about a new space of this name
  local waiter = c.id and c.name ~= 'grab' and fetch('waiters', c.space, c.id)
  if waiter then return reply_to(waiter) end
  if c.claimed and not find_space(c.claimed.space) then return {'stale'} end
  if c.name == 'events' then
    redis.call('SREM', 'tuplespace:rung:' .. client, c.space)
    return last_event(c, redis.call('HGET', REMOVED, c.space))
  end
  return FAREWELL[c.name]
end

-- Clients that come and go ---------------------------------------------------------------------------

local function forget_client(who)
  local held = redis.call('HGETALL', 'tuplespace:held:' .. who)
  redis.call('DEL', 'tuplespace:held:' .. who, 'tuplespace:mail:' .. who, 'tuplespace:rung:' .. who)
  redis.call('ZREM', 'tuplespace:clients', who)
  for i = 1, #held, 2 do
    local id, space = held[i], held[i + 1]
    local waiter = fetch('waiters', space, id)
    redis.call('HDEL', key('waiters', space), id)
    if find_space(space) then
      if not waiter.answer then
        dequeue(waiter, 'gone')
      else
        give_back_answer(space, waiter.operation, waiter.answer, waiter.actor)
      end
      call_writers(space)
    end
  end
  for _, space in ipairs(redis.call('SMEMBERS', 'tuplespace:spaces')) do
    stop_watching(space, who)
  end
end

-- Once a second from every client: it is alive, and whatever is over ends. Tells whether it was known.
function commands.tick()
  local is_new = redis.call('ZADD', 'tuplespace:clients', exact(now), client)
  local last = tonumber(redis.call('GET', 'tuplespace:tick') or 0)
  if now - last < TICK then return {'ok', is_new} end
  redis.call('SET', 'tuplespace:tick', exact(now))
  for _, space in ipairs(redis.call('SMEMBERS', 'tuplespace:spaces')) do find_space(space) end
  -- Nobody was heard: it was the server that was away. Half the time is enough to tell. The first that is
  -- heard again must not end those who were last heard a little before it, and whose turn comes next.
  if now - last > SILENCE / 2 then
    for _, who in ipairs(redis.call('ZRANGE', 'tuplespace:clients', 0, -1)) do
      redis.call('ZADD', 'tuplespace:clients', exact(now), who)
    end
  end
  for _, who in ipairs(redis.call('ZRANGEBYSCORE', 'tuplespace:clients', '-inf', exact(now - SILENCE))) do
    forget_client(who)
  end
  return {'ok', is_new}
end

-- This client ends: as if it had been silent for long.
function commands.bye()
  forget_client(client)
  return {'ok'}
end

-- One batch ------------------------------------------------------------------------------------------
-- ARGV: client, number of the batch (0: it changes nothing, so its answer is not kept), "grows" or
-- "shrinks", and the commands. A batch that may make the server's memory grow begins with a command that
-- Redis refuses when memory is short, so that nothing of it is done; any other is always let through.

client = ARGV[1]
local number = tonumber(ARGV[2])
local kept = 'tuplespace:answer:' .. client
local time = redis.call('TIME')
now = time[1] * 1000000 + time[2]

local last = number > 0 and redis.call('HGET', kept, 'number')
if last and tonumber(last) == number then return redis.call('HGET', kept, 'answer') end
if last and tonumber(last) > number then return redis.error_reply('ERR this batch was answered before') end
if ARGV[3] == 'grows' then
  redis.call('HSET', kept, 'number', last or 0)
else
  redis.call('DEL', 'tuplespace:nothing')
end

local function answer_to(command)
  local name = command.space
  if name then
    local space = find_space(name)
    local farewell = not space and redis.call('HEXISTS', REMOVED, name) == 1 and farewell_to(command)
    if farewell then return farewell end
    space = space or make_space(name, command.capacity)
    if space.asked ~= command.capacity then return {'capacity', space.asked} end
  end
  return commands[command.name](command)
end

local answers = {}
for i, command in ipairs(cmsgpack.unpack(ARGV[4])) do answers[i] = answer_to(command) end

local answer = cmsgpack.pack({now, answers})
if number > 0 then
  redis.call('HSET', kept, 'number', number, 'answer', answer)
  redis.call('EXPIRE', kept, ANSWER_KEPT)
end
return answer
