"""The search for a section's plan: what may be chosen, what is legal, what it costs.

    turn         the order of the stages of one turn
    figures      what a target's figures say of one transfer, one access, one evaluation
    block        blocking, the transformation that block sizes are made of
    model        a template as the numbers plans are judged by
    candidates   every plan under consideration, as columns of arrays
    measures     what each candidate uses
    places       where a blocking's items may be spread, and every blocking at every place
    constraints  the one list of what a plan must keep; the search and the error text use it
    banks        how a round of accesses falls on the memory's banks
    movers       what a batch of a load or a store costs
    compute      what an iteration of a computing stage costs
    engines      which engine carries which stage
    work         what a call keeps every engine, port and bank at work for
    bound        what no candidate can take less than, in closed form
    walk         the time of a call: its first rounds on clocks, what repeats multiplied
    cost         the price of all candidates, and what bounds each
    order        which of two plans is better
    knobs        knobs that a caller holds, and what is nearest to them
    pruning      which candidates have to be priced
    nearest      what is said where none fits
    search       the choice, unique

Each knows those above it. Expects a template body. Knows no source, no tensor and no pass; `passes.tile` and its
sisters apply what is chosen. Shares nothing with the cycle twin, which its prices are held against.
"""
