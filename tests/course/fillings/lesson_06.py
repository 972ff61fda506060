"""What may be written into the gaps of lesson 06."""

from __future__ import annotations

from fillings import Tried

NEVER, ON_FAILURE, ALWAYS = "Restart.NEVER", "Restart.ON_FAILURE", "Restart.ALWAYS"
CHAIN = '"rest_for_one"'

TRIED = {
    "06-shop": Tried(
        right=[(CHAIN, '"never"', '"on_failure"')],
        wrong={
            ('"one_for_one"', NEVER, ON_FAILURE): "Gap 1: at 10.2 s the line was restarted,",
            ('"one_for_all"', NEVER, ON_FAILURE): "Gap 1: at 2.1 s the alarm was restarted,",
            ('"all"', NEVER, ON_FAILURE): "it raised ValueError: strategy is one of one_for_one,",
            (CHAIN, ON_FAILURE, ON_FAILURE): "Gap 2: at 1.1 s the letters were begun again,",
            (CHAIN, ALWAYS, ON_FAILURE): "Gap 2: at 1.1 s the letters were begun again,",
            (CHAIN, NEVER, ALWAYS): "Gap 3: the stock was counted at 6.1 s, and at 6.3 s that began",
            (CHAIN, NEVER, NEVER): "Gap 3: the stock was never counted.",
            (CHAIN, "None", ON_FAILURE): "Gaps 2 and 3: a policy is wanted here",
            (CHAIN, NEVER, "Restart.REST_FOR_ONE"): "Gaps 2 and 3: rest_for_one is a strategy",
        },
    ),
}
