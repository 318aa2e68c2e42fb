"""What one process of a team does: join the others, then call what it is sent until told to end."""

import contextlib
import io
import os
import queue
import signal
import sys
import threading
from datetime import timedelta
from multiprocessing.connection import Connection

import torch
import torch.distributed as dist
from cloudpickle import dumps, loads

LOOPBACK = {"linux": "lo", "darwin": "lo0"}  # elsewhere gloo finds its way alone


def work(rank: int, size: int, meeting: str, seconds: float, connection: Connection) -> None:
    """Answer each call with ("done", what was printed and returned) or ("failed", the error)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the notebook decides when to stop
    silence()
    calls: queue.Queue = queue.Queue()
    threading.Thread(target=listen, args=(connection, calls), daemon=True).start()
    join_group(rank, size, meeting, seconds)
    connection.send_bytes(dumps(("ready", None)))
    while True:
        connection.send_bytes(answer(calls.get()))


def join_group(rank: int, size: int, meeting: str, seconds: float) -> None:
    torch.set_num_threads(1)
    if sys.platform in LOOPBACK:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", LOOPBACK[sys.platform])
    store = dist.FileStore(meeting, size)
    wait = timedelta(seconds=seconds)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=wait)


def silence() -> None:
    """What libraries write goes nowhere: a notebook would show it, in any order."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)


def listen(connection: Connection, calls: queue.Queue) -> None:
    """Put every call in the queue; end this process when the notebook ends, whatever it does."""
    while True:
        try:
            calls.put(connection.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)


def answer(call: bytes) -> bytes:
    """What calling it gave, as bytes; an error is an answer, too."""
    printed = io.StringIO()
    try:
        function, arguments, options, dtype = loads(call)
        torch.set_default_dtype(dtype)
        with contextlib.redirect_stdout(printed):
            value = function(*arguments, **options)
        return dumps(("done", (printed.getvalue(), value)))
    except Exception as error:
        return dumps(("failed", f"{type(error).__name__}: {error}"))
