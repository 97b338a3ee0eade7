"""Reading expressions and affine forms of a stage out of tokens.

Knows the names a stage has declared so far (pages of in ports, states), and no statement.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from spatial.errors import SourceError, nearest
from spatial.ir.affine import ZERO, Affine
from spatial.ir.body import DEEPEST, OPS, Cell, Const, Convert, Coord, Expr, Index, Lanes, Matmul, Op, Page
from spatial.ir.text.printer import COMPARISON, INFIX, NOT
from spatial.ir.text.tokens import Cursor, Token
from spatial.numerics import PRECISIONS

_BINARY = {sign: (op, binds) for op, (sign, binds) in INFIX.items()}
_LANES = {f"{op}_{axis}": (op, axis) for op in ("sum", "max", "min") for axis in ("rows", "cols")}
_FUNCTIONS = (*OPS, *_LANES, "convert", "coord", "matmul", "matmul_t")


@dataclass
class Names:
    """What a stage has declared so far: name to position. `broken`: a declaration failed, so names may be missing."""

    pages: dict[str, int] = field(default_factory=dict[str, int])
    states: dict[str, int] = field(default_factory=dict[str, int])
    broken: bool = False


def read_form(cursor: Cursor) -> Affine:
    """An affine form over coordinates, as `str(Affine)` spells it (terms in any order)."""
    form, index = _terms(cursor, {})
    assert index is None  # without page names no term is one
    return form


def read_forms(cursor: Cursor, close: str) -> tuple[Affine, ...]:
    """Affine forms separated by commas, up to and with the sign `close`."""
    forms: list[Affine] = []
    while not cursor.sees(close):
        forms.append(read_form(cursor))
        if not cursor.take(","):
            break
    cursor.expect(close)
    return tuple(forms)


def read_place(cursor: Cursor, names: Names) -> tuple[tuple[Affine, Affine, Affine], Index | None]:
    """`[slice, row, column]` with at most one run-time index among its terms."""
    start = cursor.expect("[")
    forms: list[Affine] = []
    index: Index | None = None
    while not cursor.sees("]"):
        here = cursor.token
        form, term = _terms(cursor, names.pages)
        if term is not None and index is not None:
            raise cursor.fail("a second run-time index", "a place has one at most", token=here)
        if term is not None:
            index = Index(term[0], len(forms), term[1])
        forms.append(form)
        if not cursor.take(","):
            break
    cursor.expect("]")
    if len(forms) != 3:
        raise cursor.fail(f"{len(forms)} coordinates where [slice, row, column] should be", token=start)
    return (forms[0], forms[1], forms[2]), index


def _terms(cursor: Cursor, pages: dict[str, int]) -> tuple[Affine, tuple[int, int] | None]:
    """A sum of terms, and the (port, scale) of the one term that names a page."""
    total = ZERO
    index: tuple[int, int] | None = None
    sign = -1 if cursor.take("-") else 1
    while True:
        coef, symbol = _term(cursor)
        if symbol is None:
            total = total + sign * coef
        elif symbol.kind == "string" or symbol.text in pages:
            name = symbol.string if symbol.kind == "string" else symbol.text
            if name not in pages:
                raise cursor.fail(f"no page is called {symbol} here", mend=nearest(name, pages), token=symbol)
            if index is not None:
                raise cursor.fail("a second run-time index", "a place has one at most", token=symbol)
            index = (pages[name], sign * coef)
        else:
            total = total + Affine.sym(symbol.text, sign * coef)
        if cursor.take("-"):
            sign = -1
        elif cursor.take("+"):
            sign = 1
        else:
            return total, index


def _term(cursor: Cursor) -> tuple[int, Token | None]:
    """`4`, `l1`, `4*l1` or `l1*4`."""
    token = cursor.token
    if token.kind == "int":
        coef = int(cursor.next().text)
        if not cursor.take("*"):
            return coef, None
        token = cursor.token
        cursor.name("a coordinate")
        return coef, token
    cursor.name("a number or a coordinate")
    return (cursor.integer() if cursor.take("*") else 1), token


class Expressions:
    """Reads the expressions of one stage."""

    def __init__(self, cursor: Cursor, names: Names) -> None:
        self._cursor = cursor
        self._names = names
        self._nesting = 0

    def read(self) -> Expr:
        """One expression."""
        self._nesting = 0
        return self._binary(0)[0]

    def _checked(self, expr: Expr, depth: int) -> tuple[Expr, int]:
        if depth > DEEPEST:
            raise self._too_deep()
        return expr, depth

    def _too_deep(self) -> SourceError:
        return self._cursor.fail(f"an expression of more than {DEEPEST} levels", mend="divide it among stages")

    def _binary(self, tight: int) -> tuple[Expr, int]:
        """An expression whose operators bind at least as tightly as `tight`, and its depth."""
        cursor = self._cursor
        self._nesting += 1
        if self._nesting > DEEPEST:
            raise self._too_deep()
        left, deep = self._unary()
        while cursor.token.kind in ("mark", "word"):
            sign = cursor.token.text
            swapped = sign in (">", ">=")
            op, binds = _BINARY.get({">": "<", ">=": "<="}.get(sign, sign), ("", -1))
            if binds < tight:
                break
            cursor.next()
            right, right_deep = self._binary(binds + 1)
            args = (right, left) if swapped else (left, right)
            left, deep = self._checked(Op(op, args), max(deep, right_deep) + 1)
            if binds == COMPARISON and cursor.sees("==", "!=", "<", "<=", ">", ">="):
                raise cursor.fail("comparisons in a row", "their order would be a guess", "write parentheses")
        self._nesting -= 1
        return left, deep

    def _unary(self) -> tuple[Expr, int]:
        cursor = self._cursor
        if cursor.take("not"):
            arg, deep = self._binary(NOT)
            return self._checked(Op("not", (arg,)), deep + 1)
        if cursor.sees("-") and not (cursor.after.kind in ("int", "float") or cursor.after.text in ("inf", "nan")):
            cursor.next()
            self._nesting += 1
            if self._nesting > DEEPEST:
                raise self._too_deep()
            arg, deep = self._unary()
            self._nesting -= 1
            return self._checked(Op("neg", (arg,)), deep + 1)
        return self._primary()

    def _primary(self) -> tuple[Expr, int]:
        cursor = self._cursor
        token = cursor.token
        if cursor.take("("):
            inner = self._binary(0)
            cursor.expect(")")
            return inner
        if cursor.sees("-", "inf", "nan") or token.kind in ("int", "float"):
            value = cursor.number()
            return Const(value, "float" if isinstance(value, float) else "int"), 1
        if token.kind == "word" and cursor.after.text == "(" and cursor.after.kind == "mark":
            return self._function(cursor.next())
        return self._leaf(), 1

    def _leaf(self) -> Expr:
        cursor = self._cursor
        token = cursor.token
        name = cursor.name("an expression")
        choice = read_forms(cursor, "]") if cursor.take("[") else ()
        if name in self._names.pages:
            return Page(self._names.pages[name], choice)
        if name in self._names.states:
            return Cell(self._names.states[name], choice)
        if self._names.broken:  # its declaration was already refused: no second complaint
            return Const(0, "int")
        known = (*self._names.pages, *self._names.states)
        why = "a page or state is declared, by `pop` or `state`, above its use"
        raise cursor.fail(f"no page or state is called {token} here", why, nearest(name, known), token)

    def _function(self, token: Token) -> tuple[Expr, int]:
        cursor = self._cursor
        name = token.text
        if name not in _FUNCTIONS:
            raise cursor.fail(f"no operation is called {token}", mend=nearest(name, _FUNCTIONS), token=token)
        cursor.expect("(")
        if name == "coord":
            form = read_form(cursor)
            cursor.expect(":")
            shape = cursor.dims()
            cursor.expect(")")
            return Coord(form, shape), 1
        prec = ""
        if name == "convert":
            prec = cursor.word_of(PRECISIONS, "a precision")
            cursor.expect(",")
        args: list[Expr] = []
        deep = 0
        while not cursor.sees(")"):
            arg, arg_deep = self._binary(0)
            args.append(arg)
            deep = max(deep, arg_deep)
            if not cursor.take(","):
                break
        cursor.expect(")")
        return self._checked(self._made(token, prec, args), deep + 1)

    def _made(self, token: Token, prec: str, args: list[Expr]) -> Expr:
        name = token.text
        wants = OPS.get(name, 2 if name.startswith("matmul") else 1)
        if len(args) != wants:
            raise self._cursor.fail(f"{token} with {len(args)} operands", f"it takes {wants}", token=token)
        match name, args:
            case "convert", [arg]:
                return Convert(prec, arg)
            case (("matmul" | "matmul_t"), [Page() as a, Page() as b]):
                return Matmul(a, b, name == "matmul_t")
            case (("matmul" | "matmul_t"), _):
                if self._names.broken:
                    return Const(0, "int")
                why = "a product takes pages as they come off their queues"
                mend = "compute the operand in a stage before"
                raise self._cursor.fail(f"{token} of an expression", why, mend, token)
            case _, [arg] if name in _LANES:
                return Lanes(*_LANES[name], arg)
            case _:
                return Op(name, tuple(args))
