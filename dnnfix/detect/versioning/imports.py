"""Outdated names and modules that the tables say moved, were renamed or removed: edits of the imports and of their
uses.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from dnnfix.detect.versioning.graphs import GRAPHS
from dnnfix.detect.versioning.migration import NO_CLAIMS, Claims, Hit
from dnnfix.detect.versioning.names import Target, Uses
from dnnfix.detect.versioning.statements import Plan, spliced, within
from dnnfix.detect.versioning.tables import Change
from dnnfix.libraries import SUCCESSORS
from dnnfix.records import AddImport, Delete, Edit, Replace, Site
from dnnfix.source.program import once

UNLOADED = frozenset(("urllib.error", "urllib.parse", "urllib.request", "xml.etree.ElementTree", "html.parser"))
"""Modules that their package does not load by itself."""


@dataclass
class Renames:
    """The hits of one program about names and modules."""

    uses: Uses
    hits: list[Hit] = field(default_factory=list)
    done: set[ast.AST] = field(default_factory=set)
    """Nodes whose text is part of an edit already."""
    kept: set[str] = field(default_factory=set)
    """Modules that are imported under their old name, as the program has another use for the new one or writes the old one often."""

    def found(self) -> tuple[Hit, ...]:
        """The hits, imports first."""
        if not self.uses.hot:
            return ()
        for statement in self.uses.imports():
            if isinstance(statement, ast.ImportFrom):
                self._from(statement)
            else:
                self._import(statement)
        for attribute in self.uses.attributes():
            self._attribute(attribute)
        for name in self.uses.hot_names():
            if name.id not in self.uses.imported and name.id not in self.uses.bound:
                self._bare(name)
        return tuple(self.hits)

    # --- imports

    def _from(self, statement: ast.ImportFrom) -> None:
        module = statement.module or ""
        if not self._is_hot(module, *(alias.name for alias in statement.names)):
            return
        plan = Plan(module)
        targets = {alias: self.uses.target(f"{module}.{alias.name}") for alias in statement.names if alias.name != "*"}
        gone = any(target is not None and not target.deprecated for target in targets.values())
        for alias in statement.names:
            found = targets.get(alias)
            if gone and found is not None and found.deprecated:
                plan.keep(alias, module, None)  # it still works, and the statement is edited for another name
            elif alias.name == "*":
                target = self.uses.target(module)
                plan.keep(alias, target.final if target is not None and target.final else module, target)
            else:
                self._alias(statement, alias, plan)
        site = self.uses.source.site(statement)
        for target, alias in plan.declined:
            self._decline(self.uses.source.site(alias), target, site)
        if not plan.targets:
            return
        edits = [*plan.statement_edits(self.uses.source.segment(site), statement, site), *plan.uses]
        self._report(site, plan.targets, edits, plan.safe)

    def _alias(self, statement: ast.ImportFrom, alias: ast.alias, plan: Plan) -> None:
        module = statement.module or ""
        local, written = alias.asname or alias.name, f"{module}.{alias.name}"
        target = self.uses.target(written)
        if target is None:
            moved = self.uses.target(module)
            plan.keep(alias, module if moved is None or not moved.final else moved.final, None)
            return
        used = [n for n in self.uses.names(local) if self.uses.source.written(n) == written]
        exported = any(n.value == local for n in self.uses.source.nodes(ast.Constant))
        if not target.final:
            left = [name for name in used if not self.uses.part_lives_on(name)]
            calls = self._idle_calls(left, target)
            if len(calls) == len(left) and not exported and local not in self.uses.bound:
                plan.drop(alias, target)
                plan.uses.extend(calls)
                self.done.update(left)
            else:
                plan.keep(alias, module, None)
                plan.declined.append((target, alias))
            return
        parent, _, leaf = target.final.rpartition(".")
        if parent == "builtins" and (leaf == local or leaf not in self.uses.bound):
            plan.drop(alias, target)
            plan.uses.extend(Replace(self.uses.source.site(name), leaf) for name in used if leaf != local)
            self.done.update(used)
        elif not used and not exported and target.names_module:
            plan.drop(alias, target)
        elif target.final == module and self._inlined(alias, used, plan, target):
            return
        elif (
            alias.asname
            or leaf == local
            or leaf in self.uses.bound
            or (leaf in self.uses.imported and not self._same(leaf, target))
        ):
            plan.rename(alias, parent, leaf, local, target)
        else:
            if self._same(leaf, target) and self.uses.imported[leaf] != written:
                plan.drop(alias, target)
            else:
                plan.rename(alias, parent, leaf, leaf, target)
            plan.local[local] = leaf
            for name in used:
                self._use(name, leaf, plan)

    def _idle_calls(self, used: Sequence[ast.expr], target: Target) -> list[Delete]:
        """Takes away the statements that only call what is gone, where a program does the same without them."""
        source = self.uses.source
        calls = [source.parent(one) for one in used] if target.change.drop else []
        statements = [source.parent(call) for call in calls if isinstance(call, ast.Call) and call.func in used]
        return [Delete(source.site(one)) for one in statements if isinstance(one, ast.Expr)]

    def _use(self, name: ast.Name, leaf: str, plan: Plan) -> None:
        """Rename one use of an imported name, with the attribute that it is the root of where that changed too."""
        if not self.uses.part_lives_on(name):  # else the attribute pass writes the whole chain anew
            plan.uses.append(Replace(self.uses.source.site(name), leaf))

    def _same(self, leaf: str, target: Target) -> bool:
        """Whether a name is imported already as what the target is called today."""
        known = self.uses.imported.get(leaf)
        if known is None:
            return False
        there = self.uses.target(known)
        return (there.final if there is not None else known) == target.final

    def _inlined(self, alias: ast.alias, used: list[ast.Name], plan: Plan, target: Target) -> bool:
        """Import what is used of a module that became a part of its package: `np_utils.to_categorical(…)`."""
        source = self.uses.source
        above = [source.parent(name) for name in used]
        attributes = [node for node in above if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)]
        names = sorted({node.attr for node in attributes})
        if not used or len(attributes) != len(used) or len(names) > 3:
            return False
        for name in names:
            there = self.uses.target(f"{target.written}.{name}")
            if there is None or there.final != f"{target.final}.{name}" or name in self.uses.bound:
                return False
            if self.uses.imported.get(name, there.written) not in (there.written, there.final):
                return False
        plan.replace(alias, [name for name in names if name not in self.uses.imported], target)
        for node in attributes:
            self.done.update((node, node.value))
            plan.uses.append(Replace(source.site(node), node.attr))
        return True

    def _import(self, statement: ast.Import) -> None:
        source = self.uses.source
        site = source.site(statement)
        text = source.segment(site)
        edits: list[tuple[int, int, str]] = []
        targets: list[Target] = []
        left: list[str] = []
        for alias in statement.names:
            left.append(source.segment(source.site(alias)))
            if not self._is_hot(alias.name):
                continue
            target = self.uses.target(alias.name)
            if target is None:
                continue
            start, end = within(source.site(alias), site, text)
            if not target.final and not target.change.deprecated and self._is_unused(alias):
                left.pop()
                targets.append(target)
                continue
            if not target.final:
                self._decline(source.site(alias), target, site)
                continue
            new = target.final
            taken = alias.name in SUCCESSORS or self._is_taken(new.partition(".")[0], alias.name)
            if not alias.asname and "." not in alias.name and taken:
                self.kept.add(alias.name)
                new = f"{new} as {alias.name}"
            elif alias.asname and alias.asname != new:
                new = f"{new} as {alias.asname}"
            edits.append((start, end, new))
            targets.append(target)
            left[-1] = new
        if targets:
            dropped = len(left) < len(statement.names)
            whole = f"import {', '.join(left)}" if dropped else spliced(text, edits)
            replacement: list[Edit] = [Replace(site, whole) if left else Delete(site)]
            self._report(site, targets, replacement, all(target.safe for target in targets))

    def _is_unused(self, alias: ast.alias) -> bool:
        """Whether nothing uses what an import brings, and what else its statement binds is there without it."""
        source = self.uses.source
        local = alias.asname or alias.name.partition(".")[0]
        exported = any(node.value == local for node in source.nodes(ast.Constant))
        if exported or local in self.uses.bound:
            return False
        if alias.asname or local == alias.name:
            return not any(self.uses.names(local))
        beside = any(
            other is not alias and (other.asname or other.name.partition(".")[0]) == local
            for statement in source.nodes(ast.Import)
            for other in statement.names
        )
        written = (source.written(node) or "" for node in source.nodes(ast.Attribute))
        return beside and not any(f"{name}.".startswith(f"{alias.name}.") for name in written)

    def _is_taken(self, root: str, module: str) -> bool:
        """Whether the program calls something else by the name under which a module would be imported."""
        known = self.uses.imported.get(root, root)
        return root in self.uses.bound or known.partition(".")[0] not in (root, module)

    def _is_hot(self, *names: str) -> bool:
        return any(part in self.uses.hot for name in names for part in name.split("."))

    # --- uses

    def _attribute(self, node: ast.Attribute) -> None:
        source = self.uses.source
        if node in self.done or not isinstance(node.ctx, ast.Load):
            return
        written = source.written(node)
        target = self.uses.target(written) if written else None
        if target is None:
            return
        chain: ast.expr = node
        while isinstance(chain, ast.Attribute):
            self.done.add(chain)
            chain = chain.value
        self.done.add(chain)
        if self._is_import_of(node, target):
            return
        site = source.site(node)
        if not target.final:
            if calls := self._idle_calls([node], target):
                self._report(site, [target], calls, target.safe)
            else:
                self._decline(site, target, site)
            return
        above = source.parent(node)
        if target.change.kind == "module" and target.written == written and isinstance(above, ast.Attribute):
            whole = source.written(above)
            there = self.uses.target(whole) if whole else None
            if there is not None and not there.final:
                return
        code, imports = self.reference(node, target.final)
        if code is None:
            self.hits.append(
                Hit(site, _said(target.change, target), decline="its new name is taken by something else here")
            )
            return
        self._report(site, [target], [Replace(site, code), *imports], target.safe)

    def _is_import_of(self, node: ast.Attribute, target: Target) -> bool:
        """Whether the whole change lies in what the root name was imported as, so that the import is edited instead."""
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return False
        imported = self.uses.imported.get(root.id)
        moved = self.uses.target(imported) if imported else None
        if imported is None or moved is None or not moved.final or imported == root.id and root.id not in self.kept:
            return False
        return moved.final + target.written[len(imported) :] == target.final

    def reference(self, node: ast.expr, final: str) -> tuple[str | None, list[Edit]]:
        """How the present name is written in place of the old one, and the imports that this needs."""
        source = self.uses.source
        if final.startswith("builtins."):
            code = final.removeprefix("builtins.")
            builtin = code.partition(".")[0]
            free = builtin not in self.uses.bound and self.uses.imported.get(builtin, final) == final
            return (code, []) if free else (None, [])
        chain = node.value if isinstance(node, ast.Attribute) else None
        while chain is not None:
            written = source.written(chain)
            if written and self.uses.target(written) is None and final.startswith(written + "."):
                parent = final.rpartition(".")[0]
                loaded: list[Edit] = [AddImport(f"import {parent}")] if parent in UNLOADED else []
                return source.segment(source.site(chain)) + final[len(written) :], loaded
            chain = chain.value if isinstance(chain, ast.Attribute) else None
        for local, imported in self.uses.imported.items():
            there = self.uses.target(imported)
            today = there.final if there is not None else imported
            is_meant = today and (final == today or final.startswith(today + ".")) and local not in self.uses.bound
            if is_meant and self.uses.is_bound_before(local, node):
                if there is not None and imported == local and "." not in imported and local not in self.kept:
                    return final, []  # the import of the whole module is changed
                last = imported.rpartition(".")[2]
                if there is None or last != local or today.rpartition(".")[2] == local or local in self.kept:
                    return local + final[len(today) :], []
                return final[len(today.rpartition(".")[0]) + 1 :], []
        parent, _, leaf = final.rpartition(".")
        parent = parent or final  # a part of a package became a package of its own
        package, _, module = parent.rpartition(".")
        if not package and parent not in self.uses.bound and self.uses.imported.get(parent, parent) == parent:
            return final, [] if parent in self.uses.imported else [AddImport(f"import {parent}")]
        if package and module not in self.uses.bound and module not in self.uses.imported:
            return f"{module}.{leaf}", [AddImport(f"from {package} import {module}")]
        if leaf not in self.uses.bound and leaf not in self.uses.imported:
            return leaf, [AddImport(f"from {parent} import {leaf}")]
        return None, []

    def _bare(self, node: ast.Name) -> None:
        """A name that a star import brought in, or that a snippet uses without importing it."""
        source = self.uses.source
        written = source.written(node)
        target = self.uses.target(written) if written else None
        if target is None or node in self.done or target.change.kind == "module":
            return
        site = source.site(node)
        if not target.final:
            self._decline(site, target, site)
            return
        parent, _, leaf = target.final.rpartition(".")
        if leaf in self.uses.bound or parent != target.written.rpartition(".")[0]:
            code, imports = self.reference(node, target.final)
            if code is not None:
                self._report(site, [target], [Replace(site, code), *imports], target.safe)
            return
        self._report(site, [target], [Replace(site, leaf)], target.safe)

    # --- reports

    def _report(self, site: Site, targets: list[Target], edits: Sequence[Edit], safe: bool) -> None:
        changes = tuple(change for target in targets for change in target.changes)
        said = "; ".join(dict.fromkeys(_said(target.change, target) for target in targets))
        titles = (f"write {_shown(t.final)} for {t.written}" if t.final else f"drop {t.written}" for t in targets)
        gone = [removed_in(target.changes) for target in targets]
        self.hits.append(
            Hit(
                site=site,
                what=said,
                title=", ".join(dict.fromkeys(titles)),
                edits=tuple(edits),
                safe=safe,
                exact=all(target.exact for target in targets),
                deprecated=all(change.deprecated for change in changes),
                removed={package: version for found in gone for package, version in found.items()},
                evidence=facts(targets[0].change),
            )
        )

    def _decline(self, site: Site, target: Target, within: Site) -> None:
        change = target.change
        reason = change.note or f"nothing replaces {target.written}"
        self.hits.append(
            Hit(
                site,
                _said(change, target),
                decline=reason,
                deprecated=change.deprecated,
                evidence=facts(change),
                removed=removed_in(target.changes),
                within=within,
            )
        )


def _said(change: Change, target: Target) -> str:
    """The finding in words."""
    kind = "the module " if target.names_module else ""
    if change.removed:
        when = f"was removed in {_package(target)} {change.removed}"
    else:
        when = f"is deprecated since {_package(target)} {change.since}"
    return f"{kind}{target.written} {when}" + (f"; use {_shown(target.final)}" if target.final else "")


def _shown(name: str) -> str:
    return name.removeprefix("builtins.")


def _package(target: Target) -> str:
    root = target.change.package or target.written.partition(".")[0]
    if root == "tensorflow":
        return "Keras" if target.written.startswith("tensorflow.keras") else "TensorFlow"
    return {"keras": "Keras", "python": "Python"}.get(root, root)


def facts(change: Change) -> dict[str, str]:
    """What the report may quote of a change."""
    found = {"old": change.old, "new": change.new, "reference": change.reference, "note": change.note}
    return {key: value for key, value in found.items() if value}


def removed_in(changes: tuple[Change, ...]) -> dict[str, str]:
    """The first version, by package, that no longer has the old name."""
    change = changes[0]
    package = change.package or (change.of[0] if change.of else change.old).partition(".")[0]
    return {package: change.removed} if change.removed else {}


@once
def _renames(uses: Uses) -> tuple[Hit, ...]:
    return Renames(uses).found()


def renamed_names(uses: Uses, claims: Claims = NO_CLAIMS) -> Iterator[Hit]:
    """The hits of a program about names and modules that moved, were renamed or removed.

    What cannot be migrated is said once for each reason, with the other lines; what other templates claim is left to
    them. A program of graphs and sessions is left as a whole.
    """
    every = (kept for hit in _renames(uses) if (kept := _unsettled(hit, claims.sites)) is not None)
    found = [hit for hit in every if not hit.decline or hit.evidence.get("old") not in claims.names]
    graphs = any(hit.decline == GRAPHS for hit in found)
    lines: dict[str, set[int]] = {}
    for hit in found:
        if hit.decline:
            lines.setdefault(hit.decline, set()).add(hit.site.line)
    for hit in found:
        if hit.decline:
            others = lines.get(hit.decline, set())
            if hit.site.line != min(others, default=0):
                continue
            more = ", ".join(map(str, sorted(lines.pop(hit.decline) - {hit.site.line})))
            if more and hit.decline != GRAPHS:
                hit = replace(hit, what=f"{hit.what} (also in line {more})")
        elif graphs and str(hit.evidence.get("old", "")).startswith("tensorflow."):
            continue
        if not claims.covers(hit):
            yield hit


def _unsettled(hit: Hit, settled: Collection[Site]) -> Hit | None:
    """What is left of a hit outside of the places that another template sees to; an import for them alone goes along."""
    if any(site.encloses(hit.site) for site in settled):
        return None
    edits = [e for e in hit.edits if isinstance(e, AddImport) or not any(site.encloses(e.site) for site in settled)]
    if len(edits) == len(hit.edits):
        return hit
    return replace(hit, edits=tuple(edits)) if any(getattr(e, "site", hit.site) != hit.site for e in edits) else None


def replaced_import(uses: Uses, local: str, module: str = "", name: str = "") -> Edit | None:
    """The edit that takes a name out of its import statement, or imports another one in its place.

    `None` where no import statement binds `local`.
    """
    for statement in uses.imports():
        if not isinstance(statement, ast.ImportFrom):
            continue
        chosen = [alias for alias in statement.names if (alias.asname or alias.name) == local]
        if not chosen:
            continue
        plan = Plan(statement.module or "")
        for alias in statement.names:
            if alias not in chosen:
                plan.keep(alias, plan.module, None)
            elif name:
                plan.kept[alias] = (module, name)
        site = uses.source.site(statement)
        return next(iter(plan.statement_edits(uses.source.segment(site), statement, site)), None)
    return None
