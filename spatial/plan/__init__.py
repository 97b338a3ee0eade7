"""The search for a section's plan: what may be chosen, what is legal, what it costs.

    model        a template as the numbers plans are judged by
    constraints  the one list of what a plan must keep; the search and the error text use it
    candidates   every plan under consideration, as columns of arrays
    cost         the price of all candidates at once, in closed form
    search       the choice, unique; and the plan that comes nearest where none fits

Expects a template body. Knows no source, no tensor and no pass; `passes.tile` and its sisters apply what is chosen.
"""
