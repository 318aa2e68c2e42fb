"""What the kernels of chapters inherit, and that nothing of it stays."""

import os

from tools.suite import threads


def test_a_reader_has_the_threads_that_torch_chooses(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("MHA_THREADS", raising=False)
    before = dict(os.environ)
    with threads.inherited():
        assert "OMP_NUM_THREADS" not in os.environ
        assert os.environ["OMP_WAIT_POLICY"] == "passive"
    assert dict(os.environ) == before


def test_somebody_can_choose_for_all(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("MHA_THREADS", "4")
    with threads.inherited():
        assert os.environ["OMP_NUM_THREADS"] == "4"
        assert "PATH" in os.environ
