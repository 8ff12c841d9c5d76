"""What an edit may not bring into a program: files, processes, networks, the interpreter itself, other meanings of builtins.

A trial in the sandbox shows nothing of what these do later, on the machine of whoever takes the patch. Where the program has them
already, it has as many after the edit as before. No list is complete in Python; the person who takes a patch reads it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from dnnfix.source.program import Source
from dnnfix.source.public_names import words

OUTSIDE = words("""os sys subprocess shutil socket pathlib tempfile glob io ctypes cffi mmap signal threading multiprocessing concurrent asyncio
    pty resource atexit gc inspect importlib imp runpy code codeop pkgutil site builtins pickle cloudpickle dill joblib marshal shelve
    sqlite3 dbm http urllib urllib2 urllib3 requests httpx aiohttp ftplib smtplib telnetlib ssl paramiko webbrowser platform getpass
    pwd hub model_zoo cpp_extension weakref traceback faulthandler pdb""")
"""Modules, by any part of a dotted name, so that `torch.os` is one of them."""

DOING = words(
    """print open exec eval compile __import__ input breakpoint globals locals vars getattr setattr delattr memoryview exit quit"""
)
"""Builtins that do something besides giving a value; what is printed stays what it was."""

MEANT = words("""print open len range super isinstance enumerate zip abs round float int Exception BaseException KeyError ValueError
    RuntimeError TypeError IndexError AttributeError""")
"""Builtins that mean the same throughout a program; others, such as `input` and `id`, are names of variables as well."""

METHODS = words("""write writelines write_text write_bytes unlink rmdir mkdir touch rename system popen spawn fork kill save savez
    savez_compressed savetxt dump dumps tofile to_csv to_pickle to_json to_parquet to_sql fromfile read_pickle load_state_dict_from_url
    load_library urlopen urlretrieve get_file extractall set_trace register_forward_hook""")
"""Attributes that nothing but these have."""

LEFT = words("os.path os.path.join os.path.basename os.path.dirname os.path.exists os.path.isfile os.path.isdir")
"""What of the modules does nothing."""

SPECIAL = words(
    "__init__ __name__ __class__ __len__ __call__ __getitem__ __iter__ __next__ __enter__ __exit__ __version__ __all__ __file__"
)
"""Names between underscores that programs are written with."""


def reaches_out(before: Source, after: Source) -> str:
    """What the edited program has more of than the program; empty where that is nothing."""
    found = Counter(_reaching(after))
    found.subtract(Counter(_reaching(before)))
    return min((name for name, more in found.items() if more > 0), default="")


def _reaching(program: Source) -> Iterator[str]:
    for file in program.files.values():
        inner = {id(node.value) for node in file.nodes(ast.Attribute)}
        for node in ast.walk(file.tree):
            match node:
                case ast.Import(names=names):
                    yield from (one.name for one in names if _is_outside(one.name))
                case ast.ImportFrom(module=module, names=names):
                    named = (f"{module or ''}.{one.name}" for one in names)
                    yield from (name for name in named if _is_outside(name))
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.FunctionDef(name=name) if name in MEANT:
                    yield f"{name} ="
                case ast.Attribute(attr=name) if name in METHODS or _is_special(name):
                    yield f".{name}"
                case ast.Name(id=name) if _is_special(name):
                    yield name
                case ast.Name() | ast.Attribute() if id(node) not in inner:
                    name = file.written(node) or ""
                    if _is_outside(name):
                        yield name


def _is_outside(name: str) -> bool:
    first, _, rest = name.partition(".")
    if first == "builtins" and rest:
        return rest.partition(".")[0] in DOING
    return name not in LEFT and any(part in OUTSIDE for part in name.split("."))


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in SPECIAL
