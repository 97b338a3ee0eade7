"""One statement of a graph to the template of one section.

    staging     the order of statements; what must be copied, held or written whole before sections can run it
    whole       a tensor written in part as one statement over all of it (`scattered`: its pieces, `temporaries`)
    views       how a tensor's dimensions group into slices, rows and columns; flat or dense
    lanes       which variables run along a page's rows and columns, and what page each access then moves
    emit        a builder of template bodies: loads, permutations, stages, stores
    values      graph values to section expressions over pages
    maps        templates of maps: gathers, elementwise, interleaved pieces (rotary), writes into state
    reductions  templates of row reductions and arg-max
    divided     a reduction of few results as chunks and what combines them
    products    templates of products, plain and over Q8_0 planes
    places      places that only a run knows, held inside their table or refused
    section     which template a statement gets; what refuses
    handing     what blocks carry, in memory of the program's own

Expects a lifted graph and the layouts agreed; knows no plan, no site and no file. A template runs on one site, one
item a page of the result; the passes do the rest.
"""
