"""What the writer at work must show, worked out from its traits with torch."""

import numpy as np
from view_pictures import MARK, check_bars, of, require_colour, require_number, rgb, shade

from mha_utils.writing.writer import LETTERS

NAMES = {" ": "space", "\n": "end"}


def writer_at_work(view, seen) -> None:
    bars, text = seen["pictures"]
    check_chances(bars, view)
    check_story(text, view)


def check_chances(bars: dict, view) -> None:
    """The ten likeliest, falling, each with its chance above and its letter below."""
    chances = view.chances().tolist()
    title, *texts = of(bars, "text")
    assert title["text"] == f"at temperature {view.temperature:.1f}"
    numbers, letters = texts[::2], [text["text"] for text in texts[1::2]]
    named = dict(zip((NAMES.get(letter, letter) for letter in LETTERS), chances))
    best = [named[letter] for letter in letters]
    np.testing.assert_allclose(best, sorted(chances, reverse=True)[:10], atol=1e-5)
    assert len(set(letters)) == 10
    for number, chance in zip(numbers, best):
        require_number(number["text"], chance)
    check_bars(bars, best)


def check_story(text: dict, view) -> None:
    """Every letter stands on the colour of its weight, no word is cut, the last is framed."""
    shares = view.weights()[view.heads.index(view.head)].tolist()
    cells, letters = of(text, "rect"), of(text, "text")
    assert "".join(letter["text"] for letter in letters) == view.story
    for cell, letter, share in zip(cells, letters, shares, strict=True):
        require_colour(cell["fill"], shade(share))
        assert abs(letter["x"] - cell["x"] - cell["w"] / 2) < 0.1
        assert cell["x"] + cell["w"] <= text["width"] + 0.5
        assert cell["y"] + cell["h"] <= text["height"] + 0.5
    places = [(cell["y"], cell["x"]) for cell in cells]
    assert places == sorted(set(places))
    for n in range(1, len(cells)):
        if cells[n]["y"] > cells[n - 1]["y"] and len(max(view.story.split(), key=len)) < 20:
            assert letters[n - 1]["text"] == " "
    (frame,) = of(text, "frame")
    assert rgb(frame["stroke"]) == rgb(MARK)
    assert [frame[n] for n in "xywh"] == [cells[-1][n] for n in "xywh"]
