"""What newcomers are likely to answer, exercise by exercise, and what the message must say.

Each table maps a check to pairs: a wrong answer, and a part of the message that leads to the
mistake.
"""

from wrong import chapters_00_to_03, chapters_04_to_06, chapters_07_to_10, chapters_11_to_13

CHAPTERS = {
    **chapters_00_to_03.CHAPTERS,
    **chapters_04_to_06.CHAPTERS,
    **chapters_07_to_10.CHAPTERS,
    **chapters_11_to_13.CHAPTERS,
}
