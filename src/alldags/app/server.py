"""The server behind the page: this computer only, and only who was given the address.

It listens on the loopback address. The address of the page holds a random token, without which every request is
refused; so is one whose ``Host`` is not this server's, as with a name that was made to point here (DNS rebinding), and
one that another page sent.
"""

from __future__ import annotations

import json
import secrets
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

from alldags.app.answer import drawing, effect_of, find_out_next, graph_file, in_words, open_asks, parsed, report_file
from alldags.app.page import Page, page
from alldags.app.study import Study
from alldags.errors import AlldagsError
from alldags.interrupts import GivenUp, checkpoint, given_up_if
from alldags.results.effect import Effect

LOOPBACK = "127.0.0.1"
MOST_BYTES = 2_000_000  # of a question


class Server(ThreadingHTTPServer):
    """Serves one study; `address` is where its page is.

    Parameters
    ----------
    study
        The table and the first question.
    port
        Where to listen; 0 for any free one.

    Examples
    --------
    >>> from alldags.app.server import Server
    >>> from alldags.app.study import Study, first_question
    >>> from pathlib import Path
    >>> table = {"x": [1.0, 2.0, 3.0, 5.0], "y": [1.5, 1.0, 4.0, 3.0]}
    >>> with Server(Study(Path("xy.csv"), table, first_question(("x", "y"), None, None, None))) as server:
    ...     server.address.startswith("http://127.0.0.1:")
    True
    """

    daemon_threads = True

    def __init__(self, study: Study, port: int = 0) -> None:
        self.study = study
        self.token = secrets.token_urlsafe(24)
        self.page: Page = page(study)
        self.busy = Lock()  # one answer at a time: they would only slow each other down
        self._last: tuple[str, Effect] | None = None
        self._newest = 0  # number of the last question: it overtakes those before it
        super().__init__((LOOPBACK, port), Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that has gone away; report all else."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer in words, or what has to be asked first."""
        self._newest += 1
        return self._unless_overtaken(lambda: self._words(question))

    def _words(self, question: Mapping[str, Any]) -> dict[str, Any]:
        found = open_asks(self.study, question)
        return {"asks": found} if found else in_words(self.study, question, self._effect(question))

    def drawing(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Return the drawn graph of a question."""
        return self._unless_overtaken(lambda: drawing(self._effect(question)))

    def find_out_next(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Return what to find out next."""
        return self._unless_overtaken(lambda: find_out_next(self._effect(question)))

    def _unless_overtaken(self, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return what is made, unless a newer question comes: then it is given up, or not begun."""
        number = self._newest
        with self.busy, given_up_if(lambda: number != self._newest):
            try:
                checkpoint()
                return make()
            except GivenUp:
                self._last = None  # it may be half computed
                return {"overtaken": True}

    def report(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Return a report as a file."""
        with self.busy:
            return report_file(self.study, question, self._effect(question))

    def _effect(self, question: Mapping[str, Any]) -> Effect:
        """Return the effect that is asked for; the last one is kept, for its drawing is asked for next."""
        key = json.dumps(question)
        if self._last is None or self._last[0] != key:
            self._last = key, effect_of(self.study, question)
        return self._last[1]

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{LOOPBACK}:{self.server_port}/{self.token}/"

    @property
    def hosts(self) -> frozenset[str]:
        """What a request may call this server."""
        return frozenset(f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost"))


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server
    server_version = "alldags"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        """Send the page."""
        self._serve({"": self._page})

    def do_POST(self) -> None:
        """Answer a question, or write a file to keep."""
        made = {
            "answer": self.server.answer,
            "drawing": self.server.drawing,
            "next": self.server.find_out_next,
            "export/graph": graph_file,
            "export/report": self.server.report,
        }
        self._serve({path: partial(self._reply, make) for path, make in made.items()})

    def _serve(self, routes: dict[str, Any]) -> None:
        refusal = self._refusal()
        if refusal is not None:
            self._send(refusal, "text/plain", refusal.phrase)
            return
        route = routes.get(self.path.removeprefix(f"/{self.server.token}/"))
        if route is None:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", HTTPStatus.NOT_FOUND.phrase)
            return
        route()

    def _refusal(self) -> HTTPStatus | None:
        """Return why a request is not for us, or None."""
        origin = self.headers.get("Origin")
        if self.headers.get("Host") not in self.server.hosts:
            return HTTPStatus.MISDIRECTED_REQUEST
        if origin is not None and origin.removeprefix("http://") not in self.server.hosts:
            return HTTPStatus.FORBIDDEN
        token = self.path.split("/")[1] if self.path.count("/") >= 2 else ""
        return None if secrets.compare_digest(token.encode(), self.server.token.encode()) else HTTPStatus.FORBIDDEN

    def _page(self) -> None:
        self._send(HTTPStatus.OK, "text/html", self.server.page.html)

    def _reply(self, make: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
        """Send what `make` makes of the question that was sent, or what is wrong with it."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            self.close_connection = True  # the body stays unread
            self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "text/plain", "no length, or too long")
            return
        body = self.rfile.read(int(length))
        try:
            reply = make(parsed(body))
        except AlldagsError as error:
            reply = {"error": str(error)}
        except Exception as error:  # a fault of ours: the page says so, the terminal where
            traceback.print_exc()
            reply = {"error": f"the computation failed ({type(error).__name__}: {error}); the terminal says where"}
        self._send(HTTPStatus.OK, "application/json", json.dumps(reply))

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", self.server.page.policy)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: the terminal is for the person who started the page."""
