"""An exercise about a printed page of weights after dropout (chapter 90)."""

from mha_utils.checks.numbers import Numbers

PRINTED = 1e-3  # sums of printed rows agree to this


def _zeros(rows) -> int:
    return sum(row.count(0.0) for row in rows)


def _full(page: list[list[float]], within=PRINTED) -> list[list[float]]:
    """The rows in which nothing was dropped: those with the largest sum."""
    largest = max(map(sum, page))
    return [row for row in page if abs(sum(row) - largest) <= within]


check_surely_hidden = Numbers(
    asks="`answer(page)`, a list of rows: how many of its empty places a mask must have hidden.",
    tried=(
        ([[2.0, 0.0, 0.0], [0.9001, 1.0998, 0.0], [0.0, 1.4, 0.0]],),
        ([[1.25, 0.0], [0.5, 0.0]],),
        ([[0.0, 0.0, 0.0], [0.5, 0.0, 0.7499], [0.0, 0.9, 0.0]],),
        ([[0.4, 0.85, 0.0, 0.0], [0.0, 0.2501, 1.0, 0.0], [1.2, 0.0, 0.0, 0.0], [0.0] * 4],),
    ),
    solve=lambda page: _zeros(_full(page)),
    mistakes={
        "all empty places: in a row that lost something, dropout may have emptied them": _zeros,
        "only one full row: there may be several, and their sums differ in the last digit": (
            lambda page: _zeros(_full(page, within=0)[:1])
        ),
        "the places above the diagonal: a mask need not be causal, and dropout empties them, too": (
            lambda page: _zeros(row[i + 1 :] for i, row in enumerate(page))
        ),
        "the row with the largest number: that number need not stand in a full row": (
            lambda page: _zeros([max(page, key=max)])
        ),
        "the rows above 1: a row may have lost a little, and still be above 1": (
            lambda page: _zeros(row for row in page if sum(row) > 1)
        ),
        "the rows that are not empty: a row may have lost a part": (
            lambda page: _zeros(row for row in page if any(row))
        ),
        "the rows that lost something: there nobody can tell": (
            lambda page: _zeros(page) - _zeros(_full(page))
        ),
        "how many rows are full, and not their empty places": lambda page: len(_full(page)),
    },
)
