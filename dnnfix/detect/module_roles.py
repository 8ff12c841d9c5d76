"""Which part a layer of a transformer plays, as its name says: libraries and models call the same layer by other names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dnnfix.source.public_names import words

QUERY, KEY, VALUE, TOGETHER = "query", "key", "value", "query, key and value"
ATTENDED, INNER, OUTER = "attended", "inner", "outer"

NAMES = {
    QUERY: words("q q_proj query query_proj q_lin q_linear wq to_q linear_q"),
    KEY: words("k k_proj key key_proj k_lin k_linear wk to_k linear_k"),
    VALUE: words("v v_proj value value_proj v_lin v_linear wv to_v linear_v"),
    TOGETHER: words("qkv c_attn query_key_value qkv_proj Wqkv wqkv in_proj W_pack"),
    ATTENDED: words("o o_proj out_proj out_lin to_out linear_out projection c_proj dense"),
    INNER: words(
        "fc1 up_proj gate_proj gate_up_proj c_fc fc_in dense_h_to_4h lin1 wi wi_0 wi_1 w1 w3 intermediate_dense dense"
    ),
    OUTER: words("fc2 down_proj c_proj fc_out dense_4h_to_h lin2 wo w2 output_dense dense"),
}
"""The names of the layers of a role. Within one model a name may stand for several, which the layer around tells apart."""

IN_ATTENTION = re.compile(r"att(?:n|ention)", re.IGNORECASE)
IN_BETWEEN = re.compile(r"intermediate")


def roles(path: str) -> frozenset[str]:
    """The parts that a layer with this dotted name, or the end of one, may play; none where its name says nothing."""
    around, _, name = path.rpartition(".")
    found = {role for role, names in NAMES.items() if name in names}
    if around and IN_ATTENTION.search(around):
        found -= {INNER, OUTER}
    elif around:
        found -= {ATTENDED}
        found -= ({OUTER} if IN_BETWEEN.search(around) else {INNER}) if name == "dense" else set()
    return frozenset(found)


def counterparts(asked: Iterable[str], there: Iterable[str]) -> tuple[str, ...] | None:
    """The names of the layers that play in one model what others do in another; `None` where one of these has no counterpart.

    `there` are the dotted names of the layers that there are.
    """
    by_role: dict[str, list[str]] = {}
    known = list(there)
    for path in known:
        for role in roles(path):
            by_role.setdefault(role, []).append(path)
    found: list[str] = []
    for name in asked:
        wanted = roles(name)
        paths = [path for role in wanted for path in _of(role, by_role)]
        if not wanted or not paths:
            return None
        found += [_ending(path, paths, known) for path in paths]
    return tuple(dict.fromkeys(found))


def _of(role: str, by_role: dict[str, list[str]]) -> Iterator[str]:
    """The layers of a role: one that does the work of three stands for each of them, and three for one."""
    apart = (QUERY, KEY, VALUE)
    yield from by_role.get(role, ())
    if role not in by_role and role in apart:
        yield from by_role.get(TOGETHER, ())
    if role not in by_role and role == TOGETHER:
        for each in apart:
            yield from by_role.get(each, ())


def _ending(path: str, meant: list[str], there: list[str]) -> str:
    """The shortest end of a dotted name that means no other layers than those."""
    parts = path.split(".")
    for length in range(1, len(parts) + 1):
        end = ".".join(parts[-length:])
        if "*" not in end and all(other in meant for other in there if other == end or other.endswith(f".{end}")):
            return end
    return parts[-1]
