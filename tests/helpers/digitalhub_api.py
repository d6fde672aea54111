"""In-memory fake of the DigitalHub API: the calls that its SDK makes to store and read projects and their entities."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

Entity: TypeAlias = dict[str, Any]

CREATED = "2026-11-01T10:00:00Z"
USER = "dev"
_API = ("api", "v1")
_PROJECTS = ("projects",)
_ENTITIES = frozenset({"functions", "workflows", "tasks", "runs"})


class Reply(NamedTuple):
    """Status and JSON body of a response."""

    status: HTTPStatus
    body: Any


class Store:
    """Entities by collection and id, in order of creation."""

    def __init__(self) -> None:
        self.unsupported: list[str] = []
        self._collections: dict[tuple[str, ...], dict[str, Entity]] = {}
        self._lock = Lock()

    def reply(self, method: str, target: str, body: bytes) -> Reply:
        address = urlsplit(target)
        steps = tuple(unquote(step) for step in address.path.split("/") if step)
        with self._lock:
            match method, _address(steps):
                case "POST", (collection, None):
                    return self._create(collection, json.loads(body))
                case "GET", (collection, None):
                    return self._list(collection, dict(parse_qsl(address.query)))
                case "GET", (collection, str(name)):
                    return self._read(collection, name)
                case "PUT", (collection, str(name)):
                    return self._update(collection, name, json.loads(body))
        self.unsupported.append(f"{method} {target}")
        return Reply(HTTPStatus.NOT_IMPLEMENTED, f"no reply is defined for {method} {target}")

    def _create(self, collection: tuple[str, ...], entity: Entity) -> Reply:
        stored = self._collections.setdefault(collection, {})
        if entity["id"] in stored:
            return Reply(HTTPStatus.BAD_REQUEST, f"Duplicated entity {entity['id']}")
        stored[entity["id"]] = _completed(entity)
        return Reply(HTTPStatus.OK, stored[entity["id"]])

    def _list(self, collection: tuple[str, ...], query: dict[str, str]) -> Reply:
        matching = [entity for entity in self._collections.get(collection, {}).values() if _matches(entity, query)]
        return Reply(HTTPStatus.OK, {"content": matching, "totalPages": 1})

    def _read(self, collection: tuple[str, ...], name: str) -> Reply:
        entity = self._collections.get(collection, {}).get(name)
        if entity is None:
            return Reply(HTTPStatus.NOT_FOUND, f"No such EntityName {name}")
        return Reply(HTTPStatus.OK, entity)

    def _update(self, collection: tuple[str, ...], name: str, entity: Entity) -> Reply:
        if name not in self._collections.get(collection, {}):
            return Reply(HTTPStatus.NOT_FOUND, f"No such EntityName {name}")
        self._collections[collection][name] = _completed(entity)
        return Reply(HTTPStatus.OK, self._collections[collection][name])


def _address(steps: tuple[str, ...]) -> tuple[tuple[str, ...], str | None] | None:
    """Collection and id that a path refers to: `/api/v1/projects/ID` or `/api/v1/-/PROJECT/runs/ID`."""
    match steps[: len(_API)], steps[len(_API) :]:
        case prefix, ("projects",) if prefix == _API:
            return _PROJECTS, None
        case prefix, ("projects", name) if prefix == _API:
            return _PROJECTS, name
        case prefix, ("-", project, kind) if prefix == _API and kind in _ENTITIES:
            return (project, kind), None
        case prefix, ("-", project, kind, name) if prefix == _API and kind in _ENTITIES:
            return (project, kind), name
    return None


def _completed(entity: Entity) -> Entity:
    """The entity with what the platform adds when it stores one."""
    stamps = {"created": CREATED, "updated": CREATED, "created_by": USER, "updated_by": USER}
    return {**entity, "metadata": {**entity["metadata"], **stamps}, "user": USER}


def _matches(entity: Entity, query: dict[str, str]) -> bool:
    expected = {key: query[key] for key in ("kind", "name") if key in query}
    references = {key: query[key] for key in ("function", "workflow", "task") if key in query}
    return expected.items() <= {key: entity[key] for key in expected}.items() and all(
        entity["spec"].get(key) == value for key, value in references.items()
    )


@contextmanager
def serve() -> Iterator[tuple[str, Store]]:
    """Serve an empty store on a free port of this machine, and yield its address and the store."""
    store = Store()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            status, body = store.reply(self.command, self.path, self.rfile.read(length))
            payload = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 (names that the base class looks for)

        def log_message(self, *_: Any) -> None:
            """Write nothing: requests would appear in the output of tests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", store
        finally:
            server.shutdown()
            thread.join()
