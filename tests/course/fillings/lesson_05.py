"""What may be written into the gaps of lesson 05."""

from __future__ import annotations

from fillings import Tried

TRIED = {
    "05-office": Tried(
        right=[
            ("3 * 7", "results", "StaleClaim"),
            ("14.5", "results", "(StaleClaim, TimeoutError)"),
            ("20", "results", "Exception"),
        ],
        wrong={
            ("4", "results", "StaleClaim"): "Gap 1: at 4 s the lease of w2 was over,",
            ("5", "results", "StaleClaim"): "Gap 1: at 5 s the lease of w3 was over,",
            ("60", "results", "StaleClaim"): "Gap 1: the result of task 1 came at 40 s,",
            ("35", "results", "StaleClaim"): "Gap 1: the result of task 1 came at 39 s,",
            ("None", "results", "StaleClaim"): "it raised TypeError: lease is a number of seconds, got None",
            ("15", "tasks", "StaleClaim"): "Gap 2: at 4 s the result of task 2 went to the space 'tasks'.",
            ("15", "None", "StaleClaim"): "Gap 2: at 4 s the result of task 2 went to the space 'tasks'.",
            ("15", "results", "TimeoutError"): "it raised StaleClaim: w1 cannot complete ('task', 1)",
            ("15", "results", "BaseException"): "Gap 3: at 60 s the crew was to end,",
        },
    ),
}
