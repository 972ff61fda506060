"""The classroom: the teacher's machine is the master, every student's laptop a worker.

===========  ===============================================================================
`server`     a Redis or Valkey server of the teacher's own, and what students may do there
`jobs`       the only functions that ever run on a student's machine
`child`      the process in which they run
`machine`    the loop of one machine: over any spaces, in memory or on a server
`join`       taking part with this machine: ``await join(url)``
`host`       the teacher's side: handing out, collecting, the next group
`command`    both sides in a terminal: ``tutorial class host``, ``tutorial class join``
`board`      what the class watches, derived from the events of the spaces; `board_svg` and
             `board_text` draw it, `page` shows it in a browser, `widget` in a notebook
`processes`  machines on this one computer, which lesson 09 can kill
`drills`     what they do there
===========  ===============================================================================

The space "class" of the server holds the number of the round and a heartbeat of each machine; the spaces
"tasks 1" and "results 1" hold the tasks and the results of round 1, and so on. `machine` lists the tuples.
"""
