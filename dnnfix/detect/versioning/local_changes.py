"""Tables of API changes that a project or company keeps beside its own templates, each loaded as a template.

A TOML file in a folder of `[tool.dnnfix] templates` is a template by itself: `[template]` gives its code and name, and
the rest is written as in dnnfix's own files (see `dnnfix.detect.versioning.tables`).

    [template]
    code = "ACME501"
    name = "old-acme-names"

    [[name]]
    old = "acme.nets.Resnet"
    new = "acme.models.ResNet"
    removed = "4.0"
    safe = true
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dnnfix.detect.versioning.calls import changed_arguments, changed_methods
from dnnfix.detect.versioning.imports import renamed_names
from dnnfix.detect.versioning.migration import ApiChange, Hit
from dnnfix.detect.versioning.names import Uses
from dnnfix.detect.versioning.patterns import outdated_forms
from dnnfix.detect.versioning.tables import heading, table
from dnnfix.subject import Subject


def template_of(path: Path) -> type[ApiChange]:
    """The template that a TOML file is. Raises `CatalogueError`, which names file and entry, where it is not sound."""
    code, name = heading(path)
    changes = table(path)

    class LocalChanges(ApiChange):
        """Names, keywords, methods and forms that a table of the user's own calls outdated.

        Fix safety: safe where the table says so.
        """

        message = "{name} was removed or deprecated in {package} {version}"

        def hits(self, subject: Subject) -> Iterator[Hit]:
            """What the table says of the program."""
            uses = Uses(subject.source, (changes,))
            if uses.hot:
                yield from renamed_names(uses)
                yield from changed_arguments(uses)
                yield from changed_methods(uses)
                yield from outdated_forms(subject, uses)

    LocalChanges.code, LocalChanges.name = code, name
    LocalChanges.__qualname__ = f"{path}"
    return LocalChanges
