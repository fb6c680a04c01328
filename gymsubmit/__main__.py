"""The program, as `gymsubmit` and as `python -m gymsubmit`: a process that runs one command and ends."""

import gc
import importlib
import os
import sys
from types import ModuleType
from typing import Any, NoReturn


def run() -> NoReturn:
    """Run the command line, and end the process with its exit status.

    A third of the time of a short command would go to collecting garbage while modules are imported, to looking for
    plugins, and to taking everything apart again at the end: none of it is done.
    """
    gc.disable()
    _NoPlugins.put_in_place()
    from gymsubmit.cli import main  # noqa: PLC0415  # the collector would be at work

    try:
        main()
    except SystemExit as end:
        if not isinstance(end.code, int) or not _flush():
            raise
        os._exit(end.code)
    sys.exit()


class _NoPlugins(ModuleType):
    """Stands for importlib.metadata until more of it is needed than that pydantic has no plugins.

    To look for them, pydantic would import it, and read what every installed package says of itself.
    """

    @classmethod
    def put_in_place(cls) -> None:
        name = "importlib.metadata"
        if name not in sys.modules:
            sys.modules[name] = importlib.metadata = cls(name)

    def entry_points(self, **wanted: str) -> Any:
        return () if wanted == {"group": "pydantic"} else self.__getattr__("entry_points")(**wanted)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by every import
            raise AttributeError(name)
        del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def _flush() -> bool:
    """Write out what is buffered; False where that fails, which Python itself then tells at the end."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # closed by whoever started us
                stream.flush()
    except (OSError, ValueError):
        return False
    return True


if __name__ == "__main__":
    run()
