"""Accepts connections on many addresses at once, with one thread for each connection."""

import contextlib
import selectors
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

BACKLOG = 64
# The request handlers of the standard library require a server, but only store it.
NO_SERVER: Any = None
# Handles a connection and its client.
Handler = Callable[[socket.socket, Any], None]


def listen(address: str, port: int) -> socket.socket:
    """Returns a listening socket; on an IPv6 address it accepts IPv6 only."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    listener.bind((address, port))
    listener.listen(BACKLOG)
    return listener


def serve(handlers: Sequence[tuple[socket.socket, Handler]]) -> None:
    """Serves until the process ends."""
    selector = selectors.DefaultSelector()
    for listener, handler in handlers:
        selector.register(listener, selectors.EVENT_READ, (listener, handler))
    print("ready", flush=True)
    # Clients report the connections that they close early. The file stays open.
    sys.stderr = open("/dev/null", "w", encoding="utf-8")  # noqa: SIM115
    while True:
        for key, _ in selector.select():
            listener, handler = key.data
            connection, client = listener.accept()
            threading.Thread(target=_handle, args=(handler, connection, client), daemon=True).start()


def _handle(handler: Handler, connection: socket.socket, client: Any) -> None:
    with connection, contextlib.suppress(OSError):
        handler(connection, client)
