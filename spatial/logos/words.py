"""The closed vocabularies of the language: names that are syntax, builtins, natives, type names, block headers.

Data only. The parser and the interpreter both read it, so that they can't disagree about what a word is.
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words a variable, parameter or function can't be named with, because the grammar needs them.
RESERVED: Final = _words(
    """let set push pop show return break while repeat for if else otherwise elif call assert require requires
    ensures not and or to be is in at from into then new length copy shifted xor equals contains union
    intersection nothing none true false"""
)

# The identifiers among them are reserved as written (`True` is a name, `true` is not).
LOWER_CASE_ONLY: Final = frozenset({"true", "false", "nothing", "none"})

# First words of statements of the whole language that have no place in a tensor program.
OUTSIDE_STATEMENTS: Final = _words(
    """add append attempt await check concurrently connect create decrease delete escape give in increase inside inspect
    launch listen merge mount read receive remove resolve run select send simultaneously sleep spawn stop stream sync
    trust try write zone"""
)

# Words that go on an expression of the whole language where a tensor program's has ended.
OUTSIDE_TAILS: Final = {"as": "a conversion of kinds", "mapped": "a mapped function", "pipe": "a pipe"}

# Names that read as points in time, wherever the program does not bind them.
TIMES: Final = _words("today now noon midnight")

# Units that may follow a numeral in the whole language: quantities have no place in a tensor program.
UNITS: Final = _words(
    """nm um mm cm km meter meters metre metres kilometer kilometers kilometre kilometres inch inches feet foot yard
    yards mile miles mg kg gram grams kilogram kilograms tonne tonnes pound pounds ounce ounces ns us ms millisecond
    milliseconds second seconds minute minutes hour hours day days week weeks month months year years hz khz mhz ghz
    hertz newton newtons joule joules watt watts volt volts ampere amperes kelvin celsius fahrenheit liter liters
    litre litres degrees radians percent"""
)

OUTSIDE_TYPES: Final = _words(
    """Map Set Option Result Maybe Tuple Rational Decimal Complex Modular Date Time Moment Duration Span Money
    Quantity Uuid Pipe Fn Word Word16 Word32 Word64"""
)

# Name as written -> canonical name.
SCALAR_TYPES: Final = {
    "Int": "Int",
    "Nat": "Nat",
    "Byte": "Byte",
    "Char": "Char",
    "Bool": "Bool",
    "Boolean": "Bool",
    "Text": "Text",
    "String": "Text",
    "Real": "Float",
    "Float": "Float",
    "Nothing": "Nothing",
    "Unit": "Nothing",
}
SEQ_TYPES: Final = frozenset({"Seq", "List", "Vec"})

# Builtin -> number of arguments. A builtin wins over a function of the program with the same name.
BUILTINS: Final = {
    "abs": 1,
    "args": 0,
    "ceil": 1,
    "chr": 1,
    "copy": 1,
    "count_ones": 1,
    "floor": 1,
    "format": 1,
    "length": 1,
    "max": 2,
    "min": 2,
    "parseFloat": 1,
    "parseInt": 1,
    "pow": 2,
    "repeatSeq": 2,
    "round": 1,
    "show": 1,
    "sqrt": 1,
}

# Natives the interpreter and the lifter supply when a program declares them, each of one Float.
NATIVES: Final = ("cos", "erf", "exp", "log", "sin", "tanh")

# Block headers: what follows `##`, in lower case.
CODE_BLOCKS: Final = frozenset({"main", "to"})
PROSE_BLOCKS: Final = _words(
    """axiom define definition example hardware logic note policy proof property requires theorem theory"""
)
TYPE_BLOCKS: Final = frozenset({"a", "an"})
PRAGMA_WORDS: Final = {"no": 1, "tier": 2}

# A header within two edits of one of these is taken for a slip, not for prose.
NEAR_HEADERS: Final = (
    *("main", "theorem", "definition", "define", "axiom", "theory"),
    *("proof", "policy", "requires", "hardware", "property", "tier"),
)

# A program without headers is Main if its first line starts with one of these.
IMPLICIT_MAIN: Final = _words(
    """Let Show Set If While Repeat Push Pop Add Remove Call Return Increase Decrease Break Inspect Assert"""
)

INT64_MIN: Final = -(1 << 63)
INT64_MAX: Final = (1 << 63) - 1
