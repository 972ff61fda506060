"""The same tuple space over a Redis or Valkey server: one program, unchanged, on many machines.

=============  ============================================================================
`codec`        values as bytes, and what the server needs to know of them to match
`connection`   one client of the server: requests that survive a lost answer, and the bell
`errand`       one operation that may have to wait
`events`       what `watch` sees
`space`        the calls of a tuple space
`manager`      what ``connect("redis://localhost:6379/0")`` returns
``scripts/``   what runs in the server: match and take as one step
=============  ============================================================================

What a network makes impossible, or weaker, against a space in memory:

- A write that is cancelled while it is on its way may or may not be done.
- The end of a ttl or lease holds at once, but its event and the hand-on of a lapsed claim come when
  somebody next uses the space, at the latest a second later while any client is connected.
- Takers with a ``where`` come after those without, in no promised order, and do not count as takers for a
  full space. A ``where`` reader may miss a tuple that is taken before it looks.
- A tuple that was handed to a client which died before it heard of it comes back after five seconds.
- A watch that falls behind by over 100,000 events is told how many it missed, of whatever kind they were.
- The error of a timeout looks at a hundred tuples only. In a larger space these are any, not the oldest.
- A current trace holds what this client did, without its waiting; `watch` sees what everybody does.
- When a space is removed, a watch ends without those events that it had not fetched yet.
- Closing the manager ends the connection. The spaces stay, since others use them: see `TupleSpace.close`.

It needs Redis 6.2 or later, or Valkey. How much a server remembers after it was restarted is its own setting:
with ``--appendonly yes --appendfsync always`` nothing is lost that an operation had returned for.
"""

from importlib.util import find_spec

if not (find_spec("msgpack") and find_spec("redis")):
    raise ModuleNotFoundError(
        'A space on a server needs two more packages: pip install "tuplespace-tutorial[engine]".'
    )
