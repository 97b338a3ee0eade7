"""The cycle twin: how long a scheduled program takes on a target, by running it through time.

    figures       a target's figures in ticks: transfers, distances, what a bank takes
    work          what the compute engine does in an iteration of a stage
    runs, places  the transactions a page is moved in, and the banks it lies in
    orders        engine orders as blocks of acts
    parts         what a machine is made of
    machine       engines, queues, banks and lines, run through time
    build         from the calls of a phase to a machine
    steady        what repeats is skipped, exactly
    record, tell  what a timing says
    clock         phases and programs; equal ones once

It prices nothing and takes no figure from a plan: what a search believes a section to cost is held against this, so it
shares nothing with the closed form. `docs/timing.md` tells its model in words.
"""
