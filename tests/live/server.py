"""Accepting connections on many addresses at once, one thread for each connection."""

import selectors
import socket
import sys
import threading

BACKLOG = 64


def listen(address, port):
    """A listening socket; on an IPv6 address it takes IPv6 only."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    listener.bind((address, port))
    listener.listen(BACKLOG)
    return listener


def serve(handlers):
    """Serves for ever. `handlers`: (listening socket, function of a connection and its client)."""
    selector = selectors.DefaultSelector()
    for listener, handler in handlers:
        selector.register(listener, selectors.EVENT_READ, handler)
    print("ready", flush=True)
    # What clients break off is theirs to report.
    sys.stderr = open("/dev/null", "w", encoding="utf-8")
    while True:
        for key, _ in selector.select():
            connection, client = key.fileobj.accept()
            threading.Thread(target=_handle, args=(key.data, connection, client), daemon=True).start()


def _handle(handler, connection, client):
    with connection:
        try:
            handler(connection, client)
        except OSError:
            pass
