"""What a client says of where it works: its roots."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp_types import CallToolRequestParams, InputRequiredResult, ListRootsRequest, ListRootsResult

from dnnfix.errors import InputError

ROOTS = "roots"
"""What the question is called in an answer that has one."""
PATIENCE = 10.0
"""Seconds that a client has to say where it works."""


async def folders_of(
    context: ServerRequestContext[Any, Any], params: CallToolRequestParams
) -> tuple[Path, ...] | InputRequiredResult:
    """The folders that the client works in: its roots, or the working folder of the server where it names none.

    From the protocol of 2026 on, the client has to call again with its roots, which is what the other result asks for.
    Raises `InputError` where none of the roots is a folder of this machine, or the client does not say.
    """
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return (Path.cwd(),)
    if context.session.can_send_request:
        try:
            named = await context.session.send_request(ListRootsRequest(), ListRootsResult, PATIENCE)
        except MCPError as error:
            raise InputError(
                f"the client did not say where it works ({error}). Its `roots/list` has to answer, or its capabilities not name roots."
            ) from None
    else:
        said = (params.input_responses or {}).get(ROOTS)
        if not isinstance(said, ListRootsResult):
            return InputRequiredResult(input_requests={ROOTS: ListRootsRequest()})
        named = said
    return _folders([str(root.uri) for root in named.roots])


def _folders(uris: list[str]) -> tuple[Path, ...]:
    if not uris:
        return (Path.cwd(),)
    paths = [Path(unquote(urlsplit(uri).path)) for uri in uris if uri.startswith("file:")]
    folders = tuple(path.resolve() for path in paths if path.is_dir())
    if not folders:
        raise InputError(f"none of the roots of this client is a folder here. Received: {', '.join(uris)[:400]}")
    return folders
