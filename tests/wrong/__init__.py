"""What newcomers are likely to answer, exercise by exercise, and what the message must say.

Each file holds CHAPTERS: for each chapter a table that maps a check to pairs: a wrong answer, and
a part of the message that leads to the mistake.
"""

import importlib
import pkgutil

FILES = [importlib.import_module(f"wrong.{found.name}") for found in pkgutil.iter_modules(__path__)]
CHAPTERS = {chapter: table for file in FILES for chapter, table in file.CHAPTERS.items()}
