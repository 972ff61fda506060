"""The libraries of the trade, in virtual time and as a whole system. Needs the extra ``stack``.

========== =============================================================================
adapters   tenacity and pybreaker on the clock of the running loop, and in the trace
========== =============================================================================
"""
