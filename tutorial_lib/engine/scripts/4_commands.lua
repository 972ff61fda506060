-- What a client can ask for. Every answer is a list that begins with one of
--   ok · none (no such tuple) · page (of candidates) · wait (the bell will ring) · left (the line)
--   closed · stale (the lease is over) · capacity (the space exists with another one)

local PAGE = 100               -- candidates for a where() that are sent at a time
local SILENCE = 5 * 1000000    -- a client that is silent for longer has gone
local TICK = 500 * 1000        -- more often than this nobody needs to look for what is over
local ANSWER_KEPT = 3600       -- seconds for which a client may ask for a lost answer

local commands = {}

-- take, read, claim
function commands.obtain(c)
  local waiter = c.id and fetch('waiters', c.space, c.id)
  if waiter then return reply_to(waiter) end
  local seq = oldest(c.space, c.shape, c.keys)
  if seq then
    local tuple = c.operation == 'read' and fetch('tuples', c.space, seq) or remove(c.space, seq)
    local answer = deliver(c.space, seq, tuple, c)
    call_writers(c.space)
    return answer
  end
  if not c.waits then return {'none'} end
  if opened[c.space].closed then return {'closed'} end
  if c.timeout == 0 then return {'none'} end
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
  if c.timeout == 0 then return {'none', c.done} end
  enqueue(c)
  return {'wait'}
end

function commands.leave(c)
  local waiter = fetch('waiters', c.space, c.id)
  if not waiter then return {'none'} end
  if waiter.answer then return reply_to(waiter) end
  dequeue(waiter, c.why)
  forget(waiter)
  call_writers(c.space)
  return {'left', waiter.done}
end

function commands.give_back(c)
  give_back_answer(c.space, c.operation, c.answer, c.actor)
  call_writers(c.space)
  return {'ok'}
end

-- For patterns with a where(): the client tests candidates, and then grabs the one it wants.

local function candidates(space, numbers)
  local found = {}
  for _, seq in ipairs(numbers) do
    local tuple = fetch('tuples', space, seq)
    if tuple then found[#found + 1] = {seq, tuple.payload} end
  end
  return found
end

function commands.look(c)
  local closed = opened[c.space].closed
  if c.id and not closed and not fetch('waiters', c.space, c.id) then enqueue(c) end
  local index = index_for(c.space, c.shape, c.keys)
  local page = redis.call('ZRANGEBYSCORE', index, '(' .. exact(c.after), '+inf', 'LIMIT', 0, PAGE)
  return {'page', candidates(c.space, page), closed}
end

function commands.offers(c)
  local waiter = fetch('waiters', c.space, c.id)
  if not waiter then return {'none'} end
  if waiter.answer then return reply_to(waiter) end
  local offers = key('offers:' .. c.id, c.space)
  local numbers = redis.call('LRANGE', offers, 0, -1)
  redis.call('DEL', offers)
  return {'page', candidates(c.space, numbers)}
end

function commands.grab(c)
  if redis.call('HEXISTS', key('tuples', c.space), c.seq) == 0 then return {'none'} end
  local waiter = c.id and fetch('waiters', c.space, c.id)
  if waiter then
    if not waiter.answer then dequeue(waiter, 'served') end
    forget(waiter)
  end
  local tuple = c.operation == 'read' and fetch('tuples', c.space, c.seq) or remove(c.space, c.seq)
  local answer = deliver(c.space, c.seq, tuple, c)
  call_writers(c.space)
  return answer
end

-- Many at once

function commands.read_all(c)
  return {'ok', candidates(c.space, all(c.space, c.shape, c.keys))}
end

function commands.take_all(c)
  local numbers = c.numbers or all(c.space, c.shape, c.keys)
  local taken = {}
  for _, seq in ipairs(numbers) do
    if c.limit and #taken >= c.limit then break end
    if redis.call('HEXISTS', key('tuples', c.space), seq) == 1 then
      local tuple = remove(c.space, seq)
      emit(c.space, 'take', c.actor, tuple.payload)
      taken[#taken + 1] = {seq, tuple.payload}
    end
  end
  call_writers(c.space)
  return {'ok', taken}
end

function commands.count(c)
  if not c.shape then return {'ok', redis.call('HLEN', key('tuples', c.space))} end
  return {'ok', redis.call('ZCARD', index_for(c.space, c.shape, c.keys))}
end

-- Claims

function commands.renew(c)
  local claim = claim_of(c)
  if not claim then return {'stale'} end
  claim.deadline = now + c.lease
  save('claims', c.space, c.seq, claim)
  redis.call('ZADD', key('moments', c.space), exact(claim.deadline), c.seq)
  emit(c.space, 'renew', claim.holder, claim.tuple.payload, {token = claim.token, deadline = claim.deadline})
  return {'ok'}
end

function commands.release(c)
  local claim = claim_of(c)
  if not claim then return {'stale'} end
  end_claim(c.space, c.seq, claim, 'release', c.failed)
  call_writers(c.space)
  return {'ok'}
end

-- The space as a whole

function commands.stats(c)
  return {'ok', redis.call('HLEN', key('tuples', c.space)), redis.call('HLEN', key('claims', c.space)),
          redis.call('HLEN', key('waiters', c.space)), opened[c.space].closed}
end

function commands.waiters(c)
  local found = {}
  for _, packed in ipairs(redis.call('HVALS', key('waiters', c.space))) do
    local waiter = cmsgpack.unpack(packed)
    if not waiter.answer then
      found[#found + 1] = {waiter.arrival, waiter.actor, waiter.operation, waiter.pattern}
    end
  end
  return {'ok', found}
end

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

-- Watching

function commands.watch(c)
  redis.call('SADD', key('watchers', c.space), client)
  redis.call('ZADD', 'tuplespace:clients', 'NX', exact(now), client)
  local number = redis.call('HGET', key('space', c.space), 'events')
  return {'ok', tonumber(number) or 0, opened[c.space].closed}
end

local function stop_watching(space, who)
  redis.call('SREM', key('watchers', space), who)
  if redis.call('SCARD', key('watchers', space)) == 0 then redis.call('DEL', key('events', space)) end
end

function commands.unwatch(c)
  stop_watching(c.space, client)
  return {'ok'}
end

function commands.events(c)
  redis.call('SREM', 'tuplespace:rung:' .. client, c.space)
  redis.call('SADD', key('watchers', c.space), client)  -- it was forgotten if it had been silent
  local last = tonumber(redis.call('HGET', key('space', c.space), 'events') or 0)
  local after = c.after <= last and c.after or 0  -- a server that lost its memory counts from the start
  local events = {}
  for _, entry in ipairs(redis.call('XRANGE', key('events', c.space), (after + 1) .. '-0', '+')) do
    events[#events + 1] = entry[2][2]
  end
  return {'ok', events}
end

-- Clients that come and go

local function forget_client(who)
  local held = redis.call('HGETALL', 'tuplespace:held:' .. who)
  redis.call('DEL', 'tuplespace:held:' .. who, 'tuplespace:mail:' .. who, 'tuplespace:rung:' .. who)
  redis.call('ZREM', 'tuplespace:clients', who)
  for i = 1, #held, 2 do
    local id, space = held[i], held[i + 1]
    open_space(space, '')
    local waiter = fetch('waiters', space, id)
    redis.call('HDEL', key('waiters', space), id)
    if not waiter.answer then
      dequeue(waiter, 'gone')
    else
      give_back_answer(space, waiter.operation, waiter.answer, waiter.actor)
    end
    call_writers(space)
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
  for _, space in ipairs(redis.call('SMEMBERS', 'tuplespace:spaces')) do open_space(space, '') end
  if now - last > SILENCE then  -- nobody was heard: it was the server that was away
    for _, who in ipairs(redis.call('ZRANGE', 'tuplespace:clients', 0, -1)) do
      redis.call('ZADD', 'tuplespace:clients', exact(now), who)
    end
  end
  for _, who in ipairs(redis.call('ZRANGEBYSCORE', 'tuplespace:clients', '-inf', exact(now - SILENCE))) do
    forget_client(who)
  end
  return {'ok', is_new}
end

function commands.bye()
  forget_client(client)
  return {'ok'}
end

-- One batch -------------------------------------------------------------------------------------------
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
if ARGV[3] == 'grows' then redis.call('HSET', kept, 'number', last or 0) else redis.call('DEL', 'tuplespace:nothing') end

local answers = {}
for i, command in ipairs(cmsgpack.unpack(ARGV[4])) do
  local space = command.space and open_space(command.space, command.capacity)
  if space and space.asked ~= command.capacity then
    answers[i] = {'capacity', space.asked}
  else
    answers[i] = commands[command.name](command)
  end
end

local answer = cmsgpack.pack({now, answers})
if number > 0 then
  redis.call('HSET', kept, 'number', number, 'answer', answer)
  redis.call('EXPIRE', kept, ANSWER_KEPT)
end
return answer
