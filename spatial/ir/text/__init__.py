"""The text form of bodies and programs: what people read and write, and what tests compare.

Printing is canonical (equal records, equal texts) and exact: `parse_program(print_program(p)) == p`, at every phase of
lowering. A text written by hand may order its lines more freely, name bodies and ports as it likes, and carry comments
(`#` to the end of the line); none of that reaches the records.

    program {
      tensor x: input f32 flat [1, 1, 64]
      body twice persistent {
        operand a: in f32 flat [1, 1, 64]
        operand y: out f32 flat [1, 1, 64]
        rect 2x1
        items [2] trips [1] at (sx)
        queue qa: 1x32 f32 cap 1
        queue qy: 1x32 f32 cap 1
        load load_a {
          at a[0, 0, 32*i0]
          push qa @0
        }
        generic double {
          pop v: qa @0              # `v` names the page; `pop qa @0` would name it `qa`
          push qy @0 = 2.0 * v
        }
        store store_y {
          pop qy @0
          at y[0, 0, 32*i0]
        }
        engine mover0 { loop 1 { load_a @0 store_y @0 } }
        engine compute { double @-1 }
      }
      tensor y: result f32 flat [1, 1, 64]
      phase {
        call twice at (0, 0) { a = x@0  y = y@1 }
      }
      result y = y@1
    }

Statements of a stage, in this order of dependence (a name is declared above its use):

    pop [NAME:] QUEUE @DEPTH [PAGES]              an in port; `[2, 4]` when it pops 2 x 4 pages
    state NAME: RxC PREC @DEPTH = INIT [cells [n, …]]
    at OPERAND[slice, row, column] [mask NAME]    where a load reads, a store writes; `w.scales[…]` names a plane,
                                                  and one form may add a popped page's name: `table[0, 2*tok, 0]`
    perm transpose | perm [lane, …]
    set STATE[cell] @AT = EXPR                    the update
    push QUEUE @DEPTH [PAGES] [= EXPR]            an out port

Expressions: `or`, `and`, `not`, comparisons, `+ -`, `* /`, unary `-`, from loose to tight; every other operation is a
function of its name; `convert(f32, x)`, `coord(32*i0 + c : 1x32)`, `sum_cols(x)` (sum, max, min; rows, cols),
`matmul(a, b)`, `matmul_t(a, b)`; `x[l1, p0]` chooses among a port's pages or a state's cells. A number with a point is
a float. Names that are no plain words are quoted.

Knows the records and their spelling only: whether a body is sound is for `validate`.
"""

from spatial.ir.text.printer import print_body, print_program
from spatial.ir.text.reader import parse_body, parse_program

__all__ = ["parse_body", "parse_program", "print_body", "print_program"]
