-- Where the tuples of a space are, and how they are found.
--
-- The server never looks into a value. A client sends with each tuple one key per field: a letter for the
-- kind and then the value's canonical bytes (or their digest). Two fields match when their keys are equal,
-- and a class matches when the letters are.
--
-- shape  what a pattern binds, a letter per field: v a value, t a kind, - nothing. "vt-" is (7, int, ANY)
-- place  the bound keys of a tuple or pattern, for one shape
-- index  for one shape and place: the numbers of the tuples there, oldest first
--
-- What is kept for a space, each under tuplespace:<kind>:<name of the space>. The name may hold any byte,
-- so it stands last:
--   space            its capacity, whether it is closed, and its counters
--   tuples, claims   number of a tuple -> what is known of it
--   moments          numbers, by the moment at which their ttl or lease is over
--   shapes:<length>  the shapes that are indexed · index:<shape>:<place>  numbers
--   waiters          id -> waiter · queue:<kind><shape>:<place>, writers  ids by arrival
--   wanted:<length>  queue -> how many wait in it · offers:<id>  numbers that a tester has not seen yet
--   events           a stream, for those in watchers
-- And for each client: held (id -> space), mail, rung (spaces of which the mail tells), answer (the last).

local now                 -- microseconds, by the server's clock
local client              -- who sent this batch
local opened = {}         -- the spaces used by this batch: name -> {capacity, asked, closed, birth, is_heir}
local NO_LIMIT = math.huge
local REMOVED = 'tuplespace:removed'  -- the spaces that were removed of late: name -> by whom

local function key(kind, space)
  return 'tuplespace:' .. kind .. ':' .. space
end

local function fetch(kind, space, field)
  local packed = redis.call('HGET', key(kind, space), field)
  return packed and cmsgpack.unpack(packed)
end

local function save(kind, space, field, value)
  redis.call('HSET', key(kind, space), field, cmsgpack.pack(value))
end

local function next_number(space, counter)
  return redis.call('HINCRBY', key('space', space), counter, 1)
end

local function exact(number)  -- the whole number as text; Lua's own tostring() rounds beyond 14 digits
  return string.format('%.0f', number)
end

local function ring(who, message)  -- a mailbox is read by one BLPOP per client
  redis.call('RPUSH', 'tuplespace:mail:' .. who, message)
end

-- Events, kept for those who watch -------------------------------------------------------------------

local EVENTS_KEPT = 100000  -- or a few more; whoever is further behind is told how many it missed

local function emit(space, kind, actor, payload, detail)
  local watchers = redis.call('SMEMBERS', key('watchers', space))
  if #watchers == 0 then return end
  local number = next_number(space, 'events')
  local event = cmsgpack.pack({number, now, kind, actor, payload or '', detail or {}})
  redis.call('XADD', key('events', space), 'MAXLEN', '~', EVENTS_KEPT, exact(number) .. '-0', 'event', event)
  for _, watcher in ipairs(watchers) do
    if redis.call('SADD', 'tuplespace:rung:' .. watcher, space) == 1 then
      ring(watcher, 'events:' .. space)
    end
  end
end

-- The index ------------------------------------------------------------------------------------------

local function place_of(shape, keys)
  local parts = {}
  for i = 1, #shape do
    local letter = shape:sub(i, i)
    if letter == 'v' then
      parts[#parts + 1] = #keys[i] .. ':' .. keys[i]
    elseif letter == 't' then
      parts[#parts + 1] = keys[i]:sub(1, 1)
    end
  end
  return table.concat(parts)
end

local function index_key(space, shape, keys)
  return key('index:' .. shape .. ':' .. place_of(shape, keys), space)
end

local function shapes_of(space, keys)
  return redis.call('SMEMBERS', key('shapes:' .. #keys, space))
end

local function build_index(space, shape)  -- once, when a shape is first asked for
  local cursor = '0'
  repeat
    local found = redis.call('HSCAN', key('tuples', space), cursor, 'COUNT', 1000)
    cursor = found[1]
    for i = 1, #found[2], 2 do
      local keys = cmsgpack.unpack(found[2][i + 1]).keys
      if #keys == #shape then
        redis.call('ZADD', index_key(space, shape, keys), found[2][i], found[2][i])
      end
    end
  until cursor == '0'
end

local function index_for(space, shape, keys)
  if redis.call('SADD', key('shapes:' .. #shape, space), shape) == 1 then
    redis.call('SADD', key('arities', space), #shape)
    build_index(space, shape)
  end
  return index_key(space, shape, keys)
end

local function oldest(space, shape, keys)
  return redis.call('ZRANGE', index_for(space, shape, keys), 0, 0)[1]
end

local function oldest_first(numbers)
  table.sort(numbers, function(a, b) return tonumber(a) < tonumber(b) end)
  return numbers
end

local function all(space, shape, keys)
  if shape then return redis.call('ZRANGE', index_for(space, shape, keys), 0, -1) end
  return oldest_first(redis.call('HKEYS', key('tuples', space)))
end

local function store(space, seq, tuple)
  save('tuples', space, seq, tuple)
  for _, shape in ipairs(shapes_of(space, tuple.keys)) do
    redis.call('ZADD', index_key(space, shape, tuple.keys), seq, seq)
  end
  if tuple.expiry then
    redis.call('ZADD', key('moments', space), exact(tuple.expiry), seq)
  end
end

local function remove(space, seq)
  local tuple = fetch('tuples', space, seq)
  redis.call('HDEL', key('tuples', space), seq)
  for _, shape in ipairs(shapes_of(space, tuple.keys)) do
    redis.call('ZREM', index_key(space, shape, tuple.keys), seq)
  end
  if tuple.expiry then
    redis.call('ZREM', key('moments', space), seq)
  end
  return tuple
end
