"""Signals that must not arrive in the middle of a step that is done whole or not at all."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Held:
    """The signals that arrived while they were held; `interrupt` is called when one does."""

    def __init__(self) -> None:
        self.arrived: list[int] = []
        self.interrupt: Callable[[], None] = lambda: None

    def note(self, number: int, _frame: FrameType | None) -> None:
        """The handler of a held signal."""
        self.arrived.append(number)
        self.interrupt()


@contextmanager
def held() -> Iterator[Held]:
    """Hold back Ctrl-C, TERM and HUP; what arrived is delivered at the end, as if it came then."""
    holding = Held()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        # nohup's HUP and a background job's INT stay ignored.
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, holding.note)
    try:
        yield holding
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for arrived in dict.fromkeys(holding.arrived):
            signal.raise_signal(arrived)
