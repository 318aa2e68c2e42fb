"""Generated faults in the arithmetic of a live view: a small tokenizer, and what it may change."""

import re

from tools.mutation.python import Mutant, named

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
    |(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |(?P<template>`)
    |(?P<number>(?<![\w.#])(?:\d+\.\d+|\d+)(?:e-?\d+)?)
    |(?P<word>[A-Za-z_$√][\w$√]*)
    |(?P<sign>=>|===|!==|<=|>=|&&|\|\||\*\*|\+\+|--|\?\?|\?\.|\.\.\.|[-+*/]=|[<>+\-*/%!])
    |(?P<open>[{(\[])|(?P<close>[})\]])
    |(?P<other>[^\s])""",
    re.VERBOSE | re.DOTALL,
)
SIGNS = {
    **{"<": "<=", "<=": "<", ">": ">=", ">=": ">", "===": "!==", "!==": "==="},
    **{"+": "-", "-": "+", "*": "/", "/": "*", "**": "*", "%": "*", "&&": "||", "||": "&&"},
    **{"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "!": ""},
}
SWITCHED = {"true": "false", "false": "true"}
WORDS = {"max": "min", "min": "max", "floor": "ceil", "ceil": "floor"}
KIND = {"<": "comparison", ">": "comparison", "=": "comparison", "!": "comparison", "&": "and, or"}
FUNCTION = re.compile(r"^(?:export )?function\*? (\w+)", re.MULTILINE)
CALL = re.compile(
    r"^ +(?!const|let|return|if|for|\}|\)|export)[\w.]+(?:\(.*\)| [-+*]?= .*);$", re.MULTILINE
)
STYLE = re.compile(
    r"font|px|class:|#[0-9a-f]{3,6}\b|lineWidth|textAlign|textBaseline|style|tabindex"
)


def tokens(source: str) -> list[tuple[str, int, int]]:
    """Kind, start and end; what stands in `${}` of a template is read, its words are not."""
    found, place, depth, templates = [], 0, 0, []
    while place < len(source):
        match = TOKEN.search(source, place)
        if not match:
            break
        kind, place = match.lastgroup, match.end()
        if kind == "template":
            place = words_end(source, place)
        elif kind == "open":
            depth += 1
        elif kind == "close":
            if templates and templates[-1] == depth and match[0] == "}":
                templates.pop()
                kind, place = "template", words_end(source, place)
            else:
                depth -= 1
        if kind == "template" and source[place - 2 : place] == "${":
            templates.append(depth)
        found.append((kind, match.start(), place))
    return found


def words_end(source: str, place: int) -> int:
    """Where the words of a template end: behind `${` or behind the last backtick."""
    match = re.compile(r"(?:\\.|(?!\$\{)[^`\\])*(?:`|\$\{)", re.DOTALL).match(source, place)
    return match.end() if match else len(source)


def js_mutants(file: str, source: str) -> list[Mutant]:
    """All mutants of a view's module; numbers of its style and layout are left as they are."""
    found = []
    row = [t for t in tokens(source) if t[0] != "comment"]
    for before, (kind, start, end), after in zip(row, row[1:], row[2:]):
        line = source[source.rfind("\n", 0, start) + 1 : source.find("\n", end)]
        if line.lstrip().startswith(("import", "} from")):
            continue
        old, near = source[start:end], (before, after)
        texts = any(k in ("text", "template") for k, *_ in near)
        if kind == "sign" and old in SIGNS and not (old == "+" and texts):
            if old in "+-" and not ends_value(source, before):
                found.append(("sign", start, end, ""))
            else:
                found.append((KIND.get(old[0], "arithmetic"), start, end, SIGNS[old]))
        elif kind == "number" and is_arithmetic(old, line):
            found.append(("constant", start, end, changed(old)))
        elif kind == "word" and (
            old in SWITCHED or (old in WORDS and source[:start][-5:] == "Math.")
        ):
            found.append(("word", start, end, (SWITCHED | WORDS)[old]))
    for match in CALL.finditer(source):
        inside = match[0]
        if not STYLE.search(inside) and all(
            inside.count(a) == inside.count(b) for a, b in ("()", "[]", "{}")
        ):
            start = match.start() + len(inside) - len(inside.lstrip())
            found.append(("drop statement", start, match.end(), ";"))
    found = [(scope(source, f[1]), *f) for f in found]
    return named(file, source, sorted(found, key=lambda f: f[2]))


def ends_value(source: str, token: tuple) -> bool:
    """Whether a sign behind this token has a left side."""
    kind, start, end = token
    word = source[start:end]
    return kind in ("number", "close", "text", "template") or (
        kind == "word" and word not in ("return", "of", "in", "case")
    )


def is_arithmetic(number: str, line: str) -> bool:
    """Small numbers and fractions; a width of 46 pixels may be 47."""
    return float(number) <= 2 and not STYLE.search(line)


def changed(number: str) -> str:
    return str(int(number) + 1) if number.isdigit() else f"{float(number) * 1.2:.6g}"


def scope(source: str, place: int) -> str:
    names = [m[1] for m in FUNCTION.finditer(source, 0, place)]
    return names[-1] if names else ""
