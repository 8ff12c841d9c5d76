"""The parts that layers of transformers play, by their names, and their counterparts in another model."""

from __future__ import annotations

import pytest

from dnnfix.detect.module_roles import counterparts, roles

BERT = [
    "bert.encoder.layer.*.attention.self.query",
    "bert.encoder.layer.*.attention.self.key",
    "bert.encoder.layer.*.attention.self.value",
    "bert.encoder.layer.*.attention.output.dense",
    "bert.encoder.layer.*.intermediate.dense",
    "bert.encoder.layer.*.output.dense",
    "bert.pooler.dense",
    "classifier",
]
GPT2 = ["h.*.attn.c_attn", "h.*.attn.c_proj", "h.*.mlp.c_fc", "h.*.mlp.c_proj"]
VIT = [
    "embeddings.patch_embeddings.projection",
    "layers.*.attention.q_proj",
    "layers.*.attention.o_proj",
    "layers.*.mlp.fc1",
]


@pytest.mark.parametrize(
    ("asked", "there", "found"),
    [
        (["q_proj", "v_proj"], BERT, ("query", "value")),
        (["q_proj", "k_proj", "v_proj"], GPT2, ("c_attn",)),
        (["c_attn"], BERT, ("query", "key", "value")),
        (["o_proj"], BERT, ("attention.output.dense",)),
        (["fc1"], BERT, ("intermediate.dense",)),
        (["query", "out_proj", "attention.output.dense"], VIT, ("q_proj", "o_proj")),
        (["o_proj", "down_proj"], GPT2, ("attn.c_proj", "mlp.c_proj")),
        (["k_proj"], VIT, None),
        (["mixer"], GPT2, None),
    ],
)
def test_counterparts(asked: list[str], there: list[str], found: tuple[str, ...] | None) -> None:
    assert counterparts(asked, there) == found


def test_a_name_of_several_parts_is_told_apart_by_what_is_around() -> None:
    assert roles("dense") > roles("attention.output.dense") == {"attended"}
    assert roles("output.dense") | roles("intermediate.dense") == {"outer", "inner"}
    assert roles("patch_embeddings.projection") == roles("norm") == frozenset()
