"""The health service of gRPC, client and server, over one plain HTTP/2 connection."""

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

if TYPE_CHECKING:
    from checks import Deadline

PATH = "/grpc.health.v1.Health/Check"
CODES = {0: "OK", 2: "Unknown", 3: "InvalidArgument", 5: "NotFound", 7: "PermissionDenied",
         12: "Unimplemented", 13: "Internal", 14: "Unavailable"}
SERVING = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}
NOT_FOUND = 5
CHUNK = 65536
RESET = "connection reset by peer"


class TooLate(Exception):
    """The server accepted the connection and then did not answer in time."""


def ask(connection: socket.socket, authority: str, service: str,
        deadline: "Deadline") -> tuple[str, str, str | None]:
    """Returns (status, message, health) of the server.

    A server that closes before it has sent its settings was never ready: `ConnectionError`.
    """
    http2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    http2.initiate_connection()
    connection.sendall(http2.data_to_send())
    ready, body, seen = False, b"", dict[str, str]()
    try:
        while True:
            deadline.give(connection)
            data = connection.recv(CHUNK)
            if not data:
                raise ConnectionError("EOF")
            for event in http2.receive_data(data):
                if isinstance(event, h2.events.RemoteSettingsChanged) and not ready:
                    ready = True
                    _send_request(http2, authority, service)
                elif isinstance(event, (h2.events.ResponseReceived, h2.events.TrailersReceived)):
                    seen.update((_text(name), _text(value)) for name, value in event.headers)
                elif isinstance(event, h2.events.DataReceived):
                    body += event.data
                    http2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    return _answer(seen, body)
                elif isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated)) and ready:
                    return "Unavailable", f"stream ended with {event.error_code}", None
            connection.sendall(http2.data_to_send())
    except (ConnectionError, h2.exceptions.ProtocolError) as error:
        if ready:
            return "Unavailable", f"error reading from server: {_reason(error)}", None
        raise ConnectionError(_reason(error)) from None
    except TimeoutError:
        if ready:
            raise TooLate from None
        raise


def serve(connection: socket.socket, health: Callable[[str], str | None]) -> None:
    """Answers checks until the other side disconnects. `health`: service -> health, or None if unknown."""
    http2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    http2.initiate_connection()
    connection.sendall(http2.data_to_send())
    bodies: dict[int, bytes] = {}
    while data := connection.recv(CHUNK):
        try:
            events = http2.receive_data(data)
        except h2.exceptions.ProtocolError:
            connection.sendall(http2.data_to_send())
            return
        for event in events:
            if isinstance(event, h2.events.DataReceived):
                bodies[event.stream_id] = bodies.get(event.stream_id, b"") + event.data
                http2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                service = _text(bodies.pop(event.stream_id, b"")[7:])
                _send_answer(http2, event.stream_id, health(service))
        connection.sendall(http2.data_to_send())


def _reason(error: Exception) -> str:
    """Returns the message of Go for an error of a connection."""
    return RESET if isinstance(error, (ConnectionResetError, BrokenPipeError)) else str(error)


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _message(content: bytes) -> bytes:
    """Returns one gRPC message: not compressed, with its length."""
    return b"\0" + len(content).to_bytes(4, "big") + content


def _send_request(http2: h2.connection.H2Connection, authority: str, service: str) -> None:
    headers = [(":method", "POST"), (":scheme", "http"), (":authority", authority), (":path", PATH),
               ("content-type", "application/grpc"), ("te", "trailers")]
    http2.send_headers(1, headers)
    # HealthCheckRequest: field 1, the name.
    content = b"\x0a" + bytes([len(service)]) + service.encode() if service else b""
    http2.send_data(1, _message(content), end_stream=True)


def _send_answer(http2: h2.connection.H2Connection, stream: int, health: str | None) -> None:
    headers = [(":status", "200"), ("content-type", "application/grpc")]
    if health is None:
        end = [("grpc-status", str(NOT_FOUND)), ("grpc-message", "unknown service")]
        http2.send_headers(stream, headers + end, end_stream=True)
        return
    http2.send_headers(stream, headers)
    # HealthCheckResponse: field 1, the status.
    code = next(number for number, name in SERVING.items() if name == health)
    http2.send_data(stream, _message(bytes([8, code])))
    http2.send_headers(stream, [("grpc-status", "0")], end_stream=True)


def _answer(seen: dict[str, str], body: bytes) -> tuple[str, str, str | None]:
    status = CODES.get(int(seen.get("grpc-status", 2)), "Unknown")
    serving = SERVING.get(body[6] if len(body) > 6 else 0)
    return status, seen.get("grpc-message", ""), serving
