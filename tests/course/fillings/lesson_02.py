"""What may be written into the gaps of lesson 02."""

from __future__ import annotations

from fillings import Tried

TRIED = {
    "02-bakery": Tried(
        right=[
            ("1 + 1", "lambda *pattern: orders.take(*pattern, timeout=60)"),
        ],
        wrong={
            ("None", "orders.take"): "Gap 1: at some time 6 orders lay on the shelf",
            ("3", "orders.take"): "Gap 1: at some time 3 orders lay on the shelf",
            ("2", "orders.try_take"): "Gap 2: the bakers asked at 0 s, found no order and went home",
            ("2", "orders.take_all"): "Gap 2: the bakers asked at 0 s, found no order and went home",
            ("2", "orders.read"): "Gap 2: order 1 was baked",
            ("0", "orders.take"): "it raised ValueError",
            ("1", "orders.take"): "Gap 1: there was never more than one order on the shelf",
            ("2", "orders.take()"): "Gap 2: you called the operation. Name it only",
            ("2", "await orders.take"): "Gap 2: you awaited the operation. Name it only",
            ("2", 'await orders.take("order", int)'): "Gap 2: main itself waits for an order here",
        },
    ),
    "02-closing-time": Tried(
        right=[("(SpaceClosed, TimeoutError)", "jobs.close()")],
        wrong={
            ("SpaceClosed", "asyncio.sleep(10)"): "Gap 2: the jobs are done, and the consumers wait",
            ("SpaceClosed", 'jobs.write("job", "stop")'): "Gap 2: the consumers ask for whole numbers",
            ("SpaceClosed", 'jobs.write("stop")'): "Gap 2: the consumers ask for whole numbers",
            ("SpaceClosed", "jobs.close"): "Gap 2: the brackets are missing",
            ("SpaceClosed", "jobs.take_all()"): "Gap 2: you took jobs away that were still to be done",
            ("TimeoutError", "jobs.close()"): "raised SpaceClosed",
            ("BaseException", "jobs.close()"): "This except catches BaseException, and so also",
        },
    ),
}
