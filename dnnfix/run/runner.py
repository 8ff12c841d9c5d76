"""Runs jobs in the sandbox for the rest of the engine: a warm process per kind of program, a fork of it per trial."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from dnnfix.errors import SandboxError
from dnnfix.records import Trace
from dnnfix.run import gpu, sandbox
from dnnfix.run.engine import Engine, Order
from dnnfix.run.import_settings import settings_before_import
from dnnfix.run.interpreter import describe, describe_baseline
from dnnfix.run.job import Device, Job, Tier
from dnnfix.run.project import Project, gather
from dnnfix.run.visible import repository_of, started_from, too_broad
from dnnfix.run.zygote import Kind

PRELOADED = {
    "numpy": "numpy", "pandas": "pandas", "sklearn": "sklearn.model_selection", "matplotlib": "matplotlib.pyplot",
    "scipy": "scipy", "torchvision": "torchvision", "PIL": "PIL.Image", "tqdm": "tqdm", "seaborn": "seaborn",
    "lightning": "lightning", "pytorch_lightning": "pytorch_lightning", "transformers": "transformers.trainer",
}  # fmt: skip
"""Modules that the warm process imports besides the framework, by what the program imports; none starts threads that a fork has to have."""

_IMPORTED = re.compile(rb"^\s*(?:from\s+(\w+)|import\s+([\w., \t]+))", re.MULTILINE)
_SPAWNS = re.compile(rb"""["']spawn["']|\.spawn\(|forkserver""")
_BACKEND = re.compile(rb"""KERAS_BACKEND["']\s*\]?\s*[=,]\s*["'](\w+)["']""")


class Runner:
    """Runs jobs in the user's interpreter, each in a process that is forked for it and ended after it.

    `tier` is the sandbox tier, `None` for the best that works; `trust` allows to run without any. `companions` is the
    folder whose modules and data the programs may read; by default the repository around a job's own path, where that
    file exists (`visible.repository_of`). `framework` is what to import beforehand (by default what the first program
    imports). `fresh` starts a new interpreter for every job. `baseline` is the interpreter of an old era that jobs with a
    recorder may name. `device` is what programs are run on; on a GPU each has a new interpreter, one at a time. `backend` is
    the backend of Keras for programs that name none, by default what Keras itself takes. Raises `SandboxError`,
    `InterpreterError`, and `EnvironmentProblem` where a GPU is asked for that is not there. To be closed, best by `with`; after
    that nothing runs any more. May be used from several threads.
    """

    def __init__(
        self,
        interpreter: Path,
        tier: Tier | None = None,
        trust: bool = False,
        companions: Path | None = None,
        framework: str | None = None,
        fresh: bool = False,
        baseline: Path | None = None,
        device: Device = Device.AUTO,
        backend: str = "",
    ) -> None:
        gpu.required(device)
        path = Path(os.path.abspath(interpreter))
        self._interpreter = describe(path)
        if baseline is not None:
            old = describe_baseline(Path(os.path.abspath(baseline)))
            shown = (*self._interpreter.readable, *old.readable, str(sandbox.RECORDER))
            self._interpreter = replace(self._interpreter, readable=shown)
        self._confinement = sandbox.choose(path, tier, trust)
        self._companions = companions.resolve() if companions is not None else None
        self._framework = framework
        self._fresh = fresh
        self._device = device
        self._usual_backend = backend
        self._projects: dict[object, Project] = {}
        self._preloaded: dict[str | None, tuple[str, ...]] = {}
        self._count = 0
        self._engine = Engine(self._interpreter, self._confinement)

    @property
    def tier(self) -> Tier:
        """The tier in use."""
        return self._confinement.tier

    @property
    def gaps(self) -> tuple[str, ...]:
        """What the tier does not hold on this machine, in words; also among the notes of every trace."""
        return self._confinement.gaps

    def run(self, job: Job) -> Trace:
        """Run one job to its end or the end of its budget."""
        return self._submit(job).result()

    def run_many(self, jobs: Iterable[Job], parallel: int) -> Iterator[tuple[Job, Trace]]:
        """Run jobs, up to `parallel` of them side by side, and give each with its trace as it is done."""
        if parallel < 1:
            raise ValueError(f"At least one job has to run at a time. Received: parallel={parallel}")
        waiting = iter(jobs)
        running: dict[Future[Trace], Job] = {}
        try:
            while True:
                while len(running) < parallel and (job := next(waiting, None)) is not None:
                    running[self._submit(job)] = job
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
        finally:
            for future in running:
                self._engine.cancel(future)

    def close(self) -> None:
        """End everything that still runs."""
        self._engine.close()
        for project in self._projects.values():
            with contextlib.suppress(OSError):
                os.close(project.bundle)
        self._projects.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _submit(self, job: Job) -> Future[Trace]:
        if self._engine.closed:
            raise SandboxError("The runner is closed.")
        project, place = self._project(job)
        text = b"\n".join([job.program, *(module for _path, module in job.beside)])
        start = started_from(project.root, place, text, job.arguments) if project.root is not None else ""
        return self._engine.submit(Order(job, project, place, self._kind(job, project), start))

    def _project(self, job: Job) -> tuple[Project, str]:
        """The files that go with a job, and where in them the program lies."""
        path = Path(os.path.abspath(job.path))
        folder = path.resolve().parent
        repository = self._companions
        if repository is None and path.is_file():
            repository = repository_of(folder)
        place = path.name if job.path not in ("", "-") else "program.py"
        text = b"\n".join([job.program, *(f"'{argument}'".encode("utf-8", "replace") for argument in job.arguments)])
        if repository is None or not folder.is_relative_to(repository):
            return self._gathered(repository, repository, text, ()), place
        place = str(folder.relative_to(repository) / path.name)
        # What a program names comes first: of its folder alone everything does, so that others there share the project.
        return self._gathered(folder, repository, text, place if folder != repository else ()), place

    def _gathered(self, folder: Path | None, repository: Path | None, text: bytes, of: object) -> Project:
        """The project in a folder, gathered once for the first of the programs that it is `of`."""
        key = (folder, of, text if folder is not None and too_broad(folder) else None)
        if key not in self._projects:
            self._projects[key] = gather(folder, text, repository, link_folders=True)
        return self._projects[key]

    def _kind(self, job: Job, project: Project) -> Kind:
        """The kind of warm process that a job needs."""
        texts = [job.program, *(text for _path, text in job.beside)]
        read = b"\n".join([*texts, job.scaffold.defining.encode()] if job.scaffold else texts)
        imported = set(_imported(read))
        installed = self._interpreter.installed
        wants_tensorflow = "tensorflow" in imported and "tensorflow" in installed
        framework = self._framework or next((name for name in ("keras", "torch") if name in imported), None)
        if "torchvision" in imported and framework is None:
            framework = "torch"
        if wants_tensorflow:
            framework = "tensorflow"
        on_gpu = gpu.runs_on_it(job.program, self._device)
        settings = settings_before_import(job.program)
        # Which of the two is imported first is the program's choice: they do not share a process as they come.
        both = wants_tensorflow and bool(imported & {"torch", "torchvision"})
        # What starts ranks of a process group is run without new interpreters (`probe/program/ranks.py`).
        ranks = b"init_process_group" in job.program
        spawns = bool(_SPAWNS.search(job.program.replace(b".spawn(", b"(") if ranks else job.program))
        alone = self._fresh or both or settings is None or spawns
        alone = alone or job.recorder is not None
        self._count += 1
        return Kind(
            framework=framework if framework in installed and not alone else None,
            modules=() if alone else self._modules(framework, imported),
            backend=self._backend(job.program, wants_tensorflow),
            gpu=on_gpu,
            links=tuple(sorted({full for _path, full in project.links})),
            settings=settings or (),
            once=self._count if alone else None,
            disk=job.budget.disk if alone else sandbox.ZYGOTE_DISK,
        )

    def _modules(self, framework: str | None, imported: set[str]) -> tuple[str, ...]:
        """What else to import beforehand: what the first program with this framework uses, for all that follow it."""
        used = tuple(module for name, module in PRELOADED.items() if name in imported or name == "numpy")
        return self._preloaded.setdefault(framework, used)

    def _backend(self, program: bytes, wants_tensorflow: bool) -> str:
        """The backend of Keras, where it is installed: the program's, that of this runner, else what Keras itself would take."""
        installed = self._interpreter.installed
        named = _BACKEND.search(program)
        if named and (name := named.group(1).decode("ascii", "replace")) in installed:
            return name
        if wants_tensorflow:
            return "tensorflow"
        usual = (
            self._usual_backend,
            os.environ.get("KERAS_BACKEND", ""),
            _configured_backend(),
            "tensorflow",
            "torch",
            "jax",
        )
        return next((name for name in usual if name in installed), "torch")


def _configured_backend() -> str:
    """The backend that the user's settings of Keras name; empty where they name none."""
    home = os.environ.get("KERAS_HOME") or Path.home() / ".keras"
    try:
        named = json.loads((Path(home) / "keras.json").read_text(encoding="utf-8")).get("backend", "")
    except (OSError, ValueError, AttributeError):
        return ""
    return named if isinstance(named, str) else ""


def _imported(text: bytes) -> Iterator[str]:
    """The top-level modules that a text imports, also where it does not parse."""
    for module, several in _IMPORTED.findall(text):
        for name in (module,) if module else several.split(b","):
            yield name.strip().partition(b" ")[0].partition(b".")[0].decode("ascii", "replace")
