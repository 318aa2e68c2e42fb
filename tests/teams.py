"""A team for tests, and functions as a notebook defines them."""

import math

import pytest
import torch
import torch.distributed as dist

from mha_utils.distributed import Team

P = 3


@pytest.fixture(scope="module")
def team():
    team = Team(P, seconds=60)
    yield team
    team.stop()


def from_notebook(source: str, name: str, **scope):
    """A function as a cell defines it: of `__main__`, where no other process can import it."""
    scope = {"__name__": "__main__", "torch": torch, "dist": dist, "math": math} | scope
    exec(source, scope)
    return scope[name]
