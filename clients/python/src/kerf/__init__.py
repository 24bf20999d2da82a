"""Kerf, a coding agent, from Python.

Kerf starts the kerf command: a Thread runs one turn after the other without asking
anybody, each in a process of its own, and tells what happens as events. Server reaches
the live sessions of kerf serve, asks the caller and goes on without him.
"""

from ._exec import ExitError, Kerf, KerfError, Thread, ThreadOptions, Turn, TurnError
from ._serve import LostError, Server, ServerError, Session, text

__all__ = ["ExitError", "Kerf", "KerfError", "LostError", "Server", "ServerError", "Session", "Thread",
           "ThreadOptions", "Turn", "TurnError", "text"]
