-- Who waits, and how a tuple is handed over.
--
-- A waiter is the command that could not be served, kept under its id. A client that hears its bell, or
-- that was cut off, sends the command again: an id that is known is answered, or goes on waiting.
--
-- queue   for one kind of waiter, shape and place: the ids, by order of arrival
-- kinds   t takes (or claims) · r reads · w tests by a where() of its own, in its client

-- The lines ------------------------------------------------------------------------------------------

local function queue_key(space, queue, keys)
  return key('queue:' .. queue .. ':' .. place_of(queue:sub(2), keys), space)
end

local function count_taker(waiter, change)
  if waiter.queue:sub(1, 1) == 't' then
    redis.call('HINCRBY', key('space', waiter.space), 'takers', change)
  end
end

local function wish_of(waiter)  -- what it waits for: a pattern, or room for a tuple
  local tuples = waiter.tuples
  return waiter.pattern or tuples[math.min((waiter.done or 0) + 1, #tuples)].payload
end

local function enqueue(waiter)
  local space = waiter.space
  waiter.client = client
  waiter.arrival = next_number(space, 'arrivals')
  if waiter.timeout then waiter.deadline = now + waiter.timeout end
  if waiter.queue then
    count_taker(waiter, 1)
    redis.call('HINCRBY', key('wanted:' .. #waiter.keys, space), waiter.queue, 1)
    redis.call('ZADD', queue_key(space, waiter.queue, waiter.keys), waiter.arrival, waiter.id)
  else
    redis.call('ZADD', key('writers', space), waiter.arrival, waiter.id)
  end
  save('waiters', space, waiter.id, waiter)
  redis.call('HSET', 'tuplespace:held:' .. client, waiter.id, space)
  redis.call('ZADD', 'tuplespace:clients', 'NX', exact(now), client)
  emit(space, 'wait', waiter.actor, '', {operation = waiter.operation, pattern = wish_of(waiter)})
end

local function dequeue(waiter, why)
  local space = waiter.space
  if waiter.queue then
    count_taker(waiter, -1)
    local wanted = key('wanted:' .. #waiter.keys, space)
    if redis.call('HINCRBY', wanted, waiter.queue, -1) == 0 then
      redis.call('HDEL', wanted, waiter.queue)  -- every write asks for each
    end
    redis.call('ZREM', queue_key(space, waiter.queue, waiter.keys), waiter.id)
  else
    redis.call('ZREM', key('writers', space), waiter.id)
  end
  redis.call('DEL', key('offers:' .. waiter.id, space))
  emit(space, 'leave', waiter.actor, '', {operation = waiter.operation, pattern = wish_of(waiter), why = why})
end

local function forget(waiter)
  redis.call('HDEL', key('waiters', waiter.space), waiter.id)
  redis.call('HDEL', 'tuplespace:held:' .. waiter.client, waiter.id)
end

-- Being served ---------------------------------------------------------------------------------------

local function serve(waiter, answer, why)
  dequeue(waiter, why or 'served')
  waiter.answer = answer
  save('waiters', waiter.space, waiter.id, waiter)
  ring(waiter.client, 'waiter:' .. waiter.id)
end

local function reply_to(waiter)
  if not waiter.answer then return {'wait'} end
  forget(waiter)
  return waiter.answer
end

local function is_in_time(waiter)
  return not (waiter.answer or (waiter.deadline and waiter.deadline <= now))
end

-- Who wants a tuple ----------------------------------------------------------------------------------

local function in_queue(space, queue, keys)  -- those in time, oldest first
  local waiters = {}
  for _, id in ipairs(redis.call('ZRANGE', queue_key(space, queue, keys), 0, -1)) do
    local waiter = fetch('waiters', space, id)
    if is_in_time(waiter) then waiters[#waiters + 1] = waiter end
  end
  return waiters
end

local function first_in_queue(space, queue, keys)
  local queue_name = queue_key(space, queue, keys)
  local position = 0
  while true do
    local id = redis.call('ZRANGE', queue_name, position, position)[1]
    if not id then return nil end
    local waiter = fetch('waiters', space, id)
    if is_in_time(waiter) then return waiter end
    position = position + 1
  end
end

local function queues_of(space, keys)  -- by kind, those that may hold somebody who wants such a tuple
  local queues = {t = {}, r = {}, w = {}}
  for _, queue in ipairs(redis.call('HKEYS', key('wanted:' .. #keys, space))) do
    table.insert(queues[queue:sub(1, 1)], queue)
  end
  return queues
end

local function first_taker(space, queues, keys)
  local first
  for _, queue in ipairs(queues.t) do
    local waiter = first_in_queue(space, queue, keys)
    if waiter and (not first or waiter.arrival < first.arrival) then first = waiter end
  end
  return first
end

-- Handing over and giving back -----------------------------------------------------------------------

local function open_claim(space, seq, tuple, lease, holder)
  local claim = {tuple = tuple, attempt = (tuple.attempts or 0) + 1, token = next_number(space, 'tokens'),
                 deadline = now + lease, holder = holder}
  save('claims', space, seq, claim)
  redis.call('ZADD', key('moments', space), exact(claim.deadline), seq)
  emit(space, 'claim', holder, tuple.payload,
       {attempt = claim.attempt, token = claim.token, deadline = claim.deadline})
  return {'ok', seq, tuple.payload, claim.attempt, claim.token, claim.deadline}
end

-- The answer to whoever gets a tuple that was just removed, or reads one.
local function deliver(space, seq, tuple, command)
  if command.operation == 'claim' then
    return open_claim(space, seq, tuple, command.lease, command.actor)
  end
  emit(space, command.operation, command.actor, tuple.payload)
  local rest = {keys = tuple.keys, expiry = tuple.expiry, writer = tuple.writer, attempts = tuple.attempts}
  return {'ok', seq, tuple.payload, rest}  -- with the rest a taker can give it back
end

-- Show a tuple to all readers that wait for it and give it to the first taker. Tells whether one took it.
local function hand_over(space, seq, tuple)
  local queues = queues_of(space, tuple.keys)
  for _, queue in ipairs(queues.r) do
    for _, reader in ipairs(in_queue(space, queue, tuple.keys)) do
      serve(reader, deliver(space, seq, tuple, reader))
    end
  end
  local taker = first_taker(space, queues, tuple.keys)
  if taker then
    serve(taker, deliver(space, seq, tuple, taker))
    return true
  end
  for _, queue in ipairs(queues.w) do
    for _, tester in ipairs(in_queue(space, queue, tuple.keys)) do
      redis.call('RPUSH', key('offers:' .. tester.id, space), seq)
      ring(tester.client, 'waiter:' .. tester.id)
    end
  end
  return false
end

local function put(space, tuple, ttl)
  if ttl then tuple.expiry = now + ttl end
  local seq = next_number(space, 'tuples')
  if not hand_over(space, seq, tuple) then store(space, seq, tuple) end
end

-- Return a tuple to its old place, as if it had never left.
local function give_back(space, seq, tuple)
  if tuple.expiry and tuple.expiry <= now then
    emit(space, 'expire', tuple.writer, tuple.payload)
  elseif not hand_over(space, seq, tuple) then
    store(space, seq, tuple)
  end
end

local function forget_claim(space, seq)
  redis.call('HDEL', key('claims', space), seq)
  redis.call('ZREM', key('moments', space), seq)
end

local function end_claim(space, seq, claim, kind, failed)
  forget_claim(space, seq)
  emit(space, kind, claim.holder, claim.tuple.payload, {attempt = claim.attempt, token = claim.token})
  claim.tuple.attempts = failed and claim.attempt or claim.attempt - 1
  give_back(space, seq, claim.tuple)
end

local function claim_of(command)  -- the claim, if the sender still holds it
  local claim = fetch('claims', command.space, command.seq)
  return claim and claim.token == command.token and claim
end

local function is_of_predecessor(space, number)  -- of a removed space that had the same name
  return opened[space].is_heir and number < opened[space].birth
end

-- Return what the receiver of an answer never had.
local function give_back_answer(space, operation, answer, actor)
  if answer[1] ~= 'ok' then return end
  if operation == 'take' then
    local seq, tuple = tonumber(answer[2]), answer[4]
    if is_of_predecessor(space, seq) then return end
    tuple.payload = answer[3]
    emit(space, 'release', actor, tuple.payload)
    give_back(space, seq, tuple)
  elseif operation == 'take_all' then
    for _, one in ipairs(answer[2]) do give_back_answer(space, 'take', one, actor) end
  elseif operation == 'claim' then
    local seq = tonumber(answer[2])
    local claim = claim_of({space = space, seq = seq, token = answer[5]})
    if claim then end_claim(space, seq, claim, 'release', false) end
  end
end
