"""The names that no trial gets to see, and those that only sound like them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnnfix.run.project import gather
from dnnfix.run.secret import looks_secret

SECRET = [
    ".env", ".env.local", ".git", ".netrc", ".npmrc", ".pypirc", ".aws", ".ssh", ".kaggle", ".huggingface", ".docker",
    "id_rsa", "id_rsa.pub", "id_ed25519", "ID_DSA", "server.pem", "my.key", "Key.P12", "app.keystore", "private_key.txt",
    "token", "token.txt", "tokens.json", "hf_token", "github-token.txt", "bot.token", "access_token_old.txt",
    "credentials", "credentials.json", "credentials-prod.json", "aws_credentials", "client_secret_1.json", "secrets.toml",
    "passwords.txt", "htpasswd", "api_key.txt", "netrc", "_netrc", "prod.env", "kaggle.json", "service-account.json",
    "demo-firebase-adminsdk-x1.json", "terraform.tfstate", "prod.tfvars", "kubeconfig", "kubeconfig.yaml", "rclone.conf",
]  # fmt: skip
FINE = [
    "train.csv", "keyboard.py", "monkey.csv", "tokenizer.json", "tokens_of_text.csv", "added_tokens.json", "environment.yml",
    "special_tokens_map.json", "keypoints.npy", "env.py", "models", "git.py", "tokenization.py", "token.py", "data", "key_value.py",
]  # fmt: skip


@pytest.mark.parametrize("name", SECRET)
def test_a_secret(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize("name", FINE)
def test_no_secret(name: str) -> None:
    assert not looks_secret(name)


@pytest.mark.parametrize("text", [b"", b"open('../token'); open('../sub/token'); open('token'); import token"])
def test_secrets_are_offered_neither_in_the_folder_nor_in_the_repository(tmp_path: Path, text: bytes) -> None:
    for folder in ("src", "src/sub", "", "sub"):
        (tmp_path / "r" / folder).mkdir(parents=True, exist_ok=True)
        for name in (*SECRET, "fine.csv"):
            (tmp_path / "r" / folder / name).write_text("x")
    found = gather(tmp_path / "r" / "src", text, tmp_path / "r")
    assert {name for name, _offset, _size in found.files} == {
        "src/fine.csv",
        "src/sub/fine.csv",
        "fine.csv",
        "sub/fine.csv",
    }
    assert set(found.folders) == {"src/sub", "sub"} and not found.links
