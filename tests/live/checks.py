"""The checks of the kubelet: one HTTP request, one TCP connection, or one gRPC health check. The agent in the
sidecar makes the same checks, from another address.

Failures have the texts of Go's network library, which the events of the kubelet contain.
"""

import http.client
import socket
import ssl
import time
from urllib.parse import urljoin, urlsplit

import grpc_health

REDIRECTS_AT_MOST = 10
REDIRECTS = (301, 302, 303, 307, 308)
Headers = list[tuple[str, str]]
CUT_SHORT = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"


class Failure(Exception):
    """A failed check; the text is that of the kubelet."""


class Deadline:
    """The time that one check may take, in seconds; None for no limit."""

    def __init__(self, seconds: float | None):
        self.seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def give(self, connection: socket.socket) -> None:
        connection.settimeout(self.left())


def dial(host: str, port: int, deadline: Deadline, source: str | None = None) -> socket.socket:
    """Returns a connected socket."""
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        deadline.give(connection)
        if source:
            connection.bind((source, 0))
        connection.connect((host, port))
    except TimeoutError:
        connection.close()
        raise
    except OSError as error:
        connection.close()
        reason = "connection refused" if error.errno == 111 else error.strerror
        raise Failure(f"dial tcp {host}:{port}: connect: {reason}") from None
    return connection


def tcp(host: str, port: int, deadline: Deadline, source: str | None = None) -> None:
    """Opens a connection and closes it."""
    try:
        dial(host, port, deadline, source).close()
    except TimeoutError:
        raise Failure(f"dial tcp {host}:{port}: i/o timeout") from None


def grpc(host: str, port: int, service: str, deadline: Deadline, source: str | None = None) -> None:
    """Requests the health of a service, until the server accepts the connection or the time is over."""
    address = f"{host}:{port}"
    while True:
        try:
            connection = dial(host, port, deadline, source)
            deadline.give(connection)
            with connection:
                status, message, serving = grpc_health.ask(connection, address, service, deadline)
            break
        except grpc_health.TooLate:
            raise Failure(f"timeout: health rpc did not complete within {deadline.seconds}s") from None
        except TimeoutError:
            raise Failure(f'timeout: failed to connect service "{address}" within {deadline.seconds}s: '
                          "context deadline exceeded") from None
        except (Failure, OSError):
            # gRPC connects again until the deadline. This interval is not shorter than that of gRPC.
            time.sleep(0.1)
    if status != "OK":
        raise Failure(f"error: health rpc probe failed: rpc error: code = {status} desc = {message}")
    if serving != "SERVING":
        raise Failure(f'service unhealthy (responded with "{serving}")')


def http_get(url: str, headers: Headers, deadline: Deadline, source: str | None = None) -> int:
    """Returns the status of a GET. Redirects to the same host are followed, others end the check."""
    first = urlsplit(url).hostname
    shown = url
    for _ in range(REDIRECTS_AT_MOST):
        status, location = _get_once(url, shown, headers, deadline, source)
        if status not in REDIRECTS or not location:
            return status
        url, shown = urljoin(url, location), location
        if urlsplit(url).hostname != first:
            return status
    raise Failure(f'Get "{shown}": stopped after {REDIRECTS_AT_MOST} redirects')


def _get_once(url: str, shown: str, headers: Headers, deadline: Deadline,
              source: str | None) -> tuple[int, str | None]:
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    named = {name.lower(): value for name, value in headers}
    connection = None
    try:
        connection = dial(host, port, deadline, source)
        between = "{}:{}->{}:{}".format(*connection.getsockname(), *connection.getpeername())
        if parts.scheme == "https":
            connection = _handshake(connection)
        client = http.client.HTTPConnection(host, port)
        client.sock = connection
        client.putrequest("GET", target, skip_host=True, skip_accept_encoding=True)
        client.putheader("Host", named.get("host", parts.netloc))
        for name, value in headers:
            if name.lower() != "host":
                client.putheader(name, value)
        client.putheader("Connection", "close")
        try:
            client.endheaders()
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Failure(f"write tcp {between}: write: {_reason(error)}") from None
        deadline.give(connection)
        response = client.getresponse()
        return response.status, response.getheader("Location")
    except Failure as failure:
        raise Failure(f'Get "{shown}": {failure}') from None
    except TimeoutError:
        raise Failure(f'Get "{shown}": {CUT_SHORT}') from None
    except http.client.RemoteDisconnected:
        raise Failure(f'Get "{shown}": EOF') from None
    except ssl.SSLError as error:
        raise Failure(f'Get "{shown}": {_tls_reason(error)}') from None
    except ConnectionError as error:
        raise Failure(f'Get "{shown}": read tcp {between}: read: {_reason(error)}') from None
    except (http.client.HTTPException, OSError) as error:
        raise Failure(f'Get "{shown}": {error}') from None
    finally:
        if connection:
            connection.close()


def _handshake(connection: socket.socket) -> ssl.SSLSocket:
    """Returns a TLS context without verification, as the kubelet uses it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(connection)


def _reason(error: ConnectionError) -> str:
    return "broken pipe" if isinstance(error, BrokenPipeError) else "connection reset by peer"


def _tls_reason(error: ssl.SSLError) -> str:
    """Returns the message of Go for an error of OpenSSL."""
    reason = error.reason or str(error)
    if isinstance(error, ssl.SSLEOFError) or "EOF" in reason:
        return "EOF"
    if reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"):
        return "http: server gave HTTP response to HTTPS client"
    if "CERTIFICATE_REQUIRED" in reason:
        return "remote error: tls: certificate required"
    return f"remote error: tls: {reason}"
