"""When does an output of a notebook equal the stored one? The one rule, for notebooks and tests."""

import re
from decimal import Decimal

FLOAT = re.compile(r"(?<![\d.])-?\d+\.\d+(?!\d|\.\d)")


def same_text(new: str, stored: str) -> bool:
    """Equal, but each printed decimal number may be off by 1 unit of its last place."""
    if new == stored:
        return True
    if _without_numbers(new) != _without_numbers(stored):
        return False
    pairs = zip(FLOAT.findall(new), FLOAT.findall(stored), strict=True)
    return all(_same_number(a, b) for a, b in pairs)


def _without_numbers(text: str) -> str:
    return re.sub(r"\s+", " ", FLOAT.sub(" # ", text))


def _same_number(new: str, stored: str) -> bool:
    places = len(stored.split(".")[1])
    same_places = len(new.split(".")[1]) == places
    return same_places and abs(Decimal(new) - Decimal(stored)) <= Decimal(10) ** -places
