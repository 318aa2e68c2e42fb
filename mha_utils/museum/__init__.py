"""The bug museum: wrong multi-head attention in which every shape is right.

Every bug is `Steps`, the right module, with one step exchanged. Where it was seen stands in
`source`, where it is taught in `chapter` and `section`.
"""

from mha_utils.museum.hunt import with_numbers
from mha_utils.museum.label import Bug
from mha_utils.museum.rooms import DROPPING, EXTENDING, MUSEUM, bug
from mha_utils.museum.steps import Steps
