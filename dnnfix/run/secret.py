"""Which file and folder names look secret (keys, tokens, credentials): such files are never offered to a trial."""

from __future__ import annotations

import re

SECRET_NAMES = {
    "hidden": (
        # .env, .env.local, .git (its config can hold credentials), .ssh, .aws, .kaggle, .netrc, .npmrc, .pypirc, …
        r"\..*",
    ),
    "keys": (
        r"id_(rsa|dsa|ecdsa|ed25519).*",
        r".*\.(pem|key|p8|p12|pfx|jks|keystore|kdbx|keytab|ppk|gpg|asc|crt|ovpn)",
        r".*(private[_-]?key|api[_-]?key).*",
    ),
    "tokens": (
        r"tokens?(\.(?!py$)\w+)?",  # a module of that name is code: it makes tokens of texts
        r".*[_-]token(\.(txt|json|ya?ml|toml))?",
        r".*\.token",
        r".*(auth[_-]?token|access[_-]?token).*",
    ),
    "passwords": (r".*(credential|secret|passw(or)?d|passphrase).*",),
    "settings of services": (
        r"_?netrc",
        r".*\.env",
        r"kaggle\.json",
        r"service[_-]?account.*",
        r".*-adminsdk-.*",
        r".*\.tf(vars|state)(\.backup)?",
        r".*kubeconfig.*",
        r"rclone\.conf",
        r"wandb-settings.*",
    ),
}
"""Patterns of whole names, by what they are; upper and lower case are alike."""

_SECRET = re.compile("|".join(pattern for patterns in SECRET_NAMES.values() for pattern in patterns), re.IGNORECASE)


def looks_secret(name: str) -> bool:
    """Whether a file or folder with that name is never offered to a trial."""
    return _SECRET.fullmatch(name) is not None
