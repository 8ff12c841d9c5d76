"""What an edit may not bring into a program: files, processes, networks, the interpreter itself, other meanings of builtins.

A trial in the sandbox shows nothing of what these do later, on the machine of whoever takes the patch. Of the great libraries an edit
may use what makes, computes and trains (`PURE`), of others that the program imports what is not known to reach out. Where the
program has something already, it has as many after the edit as before. No list is complete in Python, and an edit may call what the
program has with other arguments: the person who takes a patch reads it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator

from dnnfix.proposer.mask import is_own
from dnnfix.source.program import Source
from dnnfix.source.public_names import words

OUTSIDE = words("""os sys subprocess shutil socket pathlib tempfile glob io ctypes cffi mmap signal threading multiprocessing concurrent asyncio
    pty resource atexit gc inspect importlib imp runpy code codeop pkgutil site builtins pickle cloudpickle dill joblib marshal shelve
    sqlite3 dbm http urllib urllib2 urllib3 requests httpx aiohttp ftplib smtplib telnetlib ssl paramiko webbrowser platform getpass
    pwd hub model_zoo cpp_extension weakref traceback faulthandler pdb logging""")
"""Modules, by any part of a dotted name, so that `torch.os` is one of them."""

COMMON = words("code signal io site platform resource glob http")
"""Those of them that attributes of other things are called as well."""

PURE = words("""math cmath itertools functools collections random copy statistics operator string re typing dataclasses enum numbers fractions
    torch torch.nn torch.nn.functional torch.nn.init torch.nn.utils torch.nn.utils.rnn torch.nn.parallel torch.optim torch.optim.lr_scheduler
    torch.utils.data torch.autograd torch.cuda torch.cuda.amp torch.amp torch.linalg torch.fft torch.special torch.random torch.backends.cudnn
    torch.distributions torchvision torchvision.transforms torchvision.transforms.functional torchvision.models torchvision.ops torchmetrics
    torchmetrics.functional numpy numpy.random numpy.linalg numpy.fft numpy.ma scipy.special scipy.stats scipy.ndimage scipy.linalg
    scipy.signal scipy.optimize scipy.sparse scipy.spatial pandas sklearn.preprocessing sklearn.model_selection sklearn.metrics
    sklearn.linear_model sklearn.decomposition sklearn.pipeline sklearn.compose sklearn.impute sklearn.utils einops keras tensorflow tensorflow.nn tensorflow.math tensorflow.random
    tensorflow.image tensorflow.linalg tensorflow.strings tensorflow.losses tensorflow.metrics tensorflow.train tensorflow.data
    tensorflow.layers tensorflow.initializers tensorflow.optimizers tensorflow.ragged tensorflow.sparse tensorflow.signal
    tensorflow.feature_column tensorflow.summary tensorflow.compat tensorflow.contrib tensorflow.contrib.rnn tensorflow.contrib.layers tensorflow.contrib.legacy_seq2seq tensorflow.contrib.losses theano theano.tensor""")
"""Modules of which an edit may use what does not reach out, by the names that their documentation has."""

GREAT = frozenset(name.partition(".")[0] for name in PURE)
"""The libraries that they are of."""

KERAS = words("""layers models losses metrics optimizers optimizers.schedules activations initializers regularizers constraints ops backend utils
    random callbacks preprocessing preprocessing.image preprocessing.sequence preprocessing.text applications""")
"""Such modules of Keras, under whatever name it is imported."""

REACHING = words("""load save from_file memmap loadtxt genfromtxt fromregex savetxt DataSource package library
    savefig imsave imread imwrite save_image read_image write_png write_jpeg read_file write_file write_video read_video
    FileHandler basicConfig runstring rundocs exec_command spawn f2py timeit run_module collect_env bottleneck tensorboard SummaryWriter
    ModelCheckpoint CSVLogger TensorBoard BackupAndRestore RemoteMonitor SwapEMAWeights LambdaCallback load_model save_model load_img
    save_img image_dataset_from_directory text_dataset_from_directory audio_dataset_from_directory flow_from_directory flow_from_dataframe
    py_function py_func numpy_function load_library load_op_library Saver Checkpoint CheckpointManager write_graph import_meta_graph
    TFRecordDataset TextLineDataset FixedLengthRecordDataset CsvDataset saved_model gfile profiler raw_ops python FileWriter create_file_writer
    HDFStore ExcelFile ExcelWriter ZipFile GzipFile BZ2File LZMAFile TarFile File from_pretrained save_pretrained push_to_hub
    snapshot_download hf_hub_download Server Supervisor MonitoredTrainingSession""")
"""Names, whatever has them, of what reads or writes files, asks a network or runs text."""

INNER = words("""utils lib core testing ctypeslib distutils distributed onnx fx export estimator autograph experimental datasets api internal
    compat contrib""")
"""Modules within the great libraries that an edit may go through to a module of `PURE`, and may not keep: it could look for anything in them."""

_READING = re.compile(r"(read|fetch|load|save|write|download|open|export|upload)_\w+")

DOING = words(
    """print open exec eval compile __import__ input breakpoint globals locals vars getattr setattr delattr memoryview exit quit"""
)
"""Builtins that do something besides giving a value; what is printed stays what it was."""

MEANT = words("""print open len range super isinstance enumerate zip abs round float int Exception BaseException KeyError ValueError
    RuntimeError TypeError IndexError AttributeError""")
"""Builtins that mean the same throughout a program; others, such as `input` and `id`, are names of variables as well."""

METHODS = words("""write writelines write_text write_bytes unlink rmdir mkdir touch rename system popen fork kill savez
    savez_compressed dump dumps tofile to_csv to_pickle to_json to_parquet to_sql to_hdf to_feather to_excel to_html
    to_latex to_stata to_gbq to_clipboard to_orc to_xml fromfile read_pickle load_state_dict_from_url urlopen urlretrieve
    get_file extractall set_trace register_forward_hook save_weights export save_to_disk to_disk""")
"""Further attributes that nothing but these have."""

OF_ANYTHING = METHODS | REACHING | (OUTSIDE - COMMON)
"""Attributes that an edit may not bring in, whatever has them."""

LEFT = words("os.path os.path.join os.path.basename os.path.dirname os.path.exists os.path.isfile os.path.isdir")
"""What of the modules does nothing."""

SPECIAL = words(
    "__init__ __name__ __class__ __len__ __call__ __getitem__ __iter__ __next__ __enter__ __exit__ __version__ __all__ __file__"
)
"""Names between underscores that programs are written with."""

_KERAS = re.compile(r"(?:(?:tensorflow|tf_keras)\.)?(?:compat\.v[12]\.)?keras(?:\.api)?")
_COMPAT = re.compile(r"tensorflow\.compat\.v[12]")


def reaches_out(before: Source, after: Source) -> str:
    """What the edited program has more of than the program; empty where that is nothing."""
    own = _Reach(before)
    found = Counter(own.of(after))
    found.subtract(Counter(own.of(before)))
    return min((name for name, more in found.items() if more > 0), default="")


class _Reach:
    """What reaches out of an edited program; other libraries than those of `PURE` may be used where the program imports them already."""

    def __init__(self, before: Source) -> None:
        named = [name for file in before.files.values() for name in _imported(file)]
        self._known = {
            name.partition(".")[0] for name in named if name.partition(".")[0] not in sys.stdlib_module_names
        }

    def of(self, program: Source) -> Iterator[str]:
        """What of a program, or of what an edit made of it, reaches out, as often as it does."""
        for file in program.files.values():
            inner = {id(node.value) for node in file.nodes(ast.Attribute)}
            for node in ast.walk(file.tree):
                yield from (f"{name} =" for name in _bound(node) if name in MEANT or name == "*")
                match node:
                    case ast.Import() | ast.ImportFrom():
                        yield from (name for name in _imported_by(node) if not self._may_be_imported(program, name))
                    case ast.Attribute(attr=name) if name in OF_ANYTHING or _is_special(name):
                        if file.written(node) not in LEFT:
                            yield f".{name}"
                    case ast.Name(id=name) if _is_special(name):
                        yield name
                    case ast.Name() | ast.Attribute() if id(node) not in inner:
                        name = file.written(node) or ""
                        if name and not self._may_be_used(program, name):
                            yield name

    def _may_be_imported(self, program: Source, name: str) -> bool:
        """Whether an edit may import a name, as an import has it."""
        return (
            _module(name)
            or name in self._known
            or is_own(program, name)
            or ("." in name and self._may_be_used(program, name))
        )

    def _may_be_used(self, program: Source, name: str) -> bool:
        """Whether an edit may have a name that is resolved through imports, or one of a builtin."""
        first, _, rest = name.partition(".")
        if first == "builtins" and rest:
            return rest.partition(".")[0] not in DOING
        if name in LEFT or first in ("", "__future__") or is_own(program, name):
            return True
        if any(map(_reaches, name.split("."))) or name.rpartition(".")[2] in INNER:
            return False
        if not rest:  # a module as a value may be looked into in ways that are not seen
            return first not in sys.stdlib_module_names and first not in self._known and first not in PURE
        if _of_pure(name):
            return True
        return first in self._known and first not in GREAT


def _reaches(part: str) -> bool:
    """Whether nothing may be used whose dotted name has that part."""
    return (
        part in OUTSIDE | REACHING or bool(_READING.fullmatch(part)) or (part.startswith("_") and part not in SPECIAL)
    )


def _of_pure(name: str) -> bool:
    """Whether a name is one of a module that an edit may use, or one of a class in there."""
    around, _, _ = name.rpartition(".")
    if _module(around):
        return not _module(name)
    outer, _, owner = around.rpartition(".")
    return owner[:1].isupper() and _module(outer)


def _module(name: str) -> bool:
    """Whether that is a module of which an edit may use what does not reach out."""
    name = _COMPAT.sub("tensorflow", name)
    keras = _KERAS.match(name)
    return name in PURE or (keras is not None and name[keras.end() :].removeprefix(".") in {"", *KERAS})


def _imported(file: Source) -> Iterator[str]:
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imported_by(node)


def _imported_by(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [one.name for one in node.names]
    return [f"{'.' * node.level}{node.module or ''}.{one.name}" for one in node.names]


def _bound(node: ast.AST) -> list[str]:
    """The names that a node gives a meaning to, however it does."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.arg(arg=name):
            return [name]
        case ast.alias(name=name, asname=other):
            return [other or name.partition(".")[0]]
        case (
            ast.ExceptHandler(name=name)
            | ast.MatchAs(name=name)
            | ast.MatchStar(name=name)
            | ast.MatchMapping(rest=name)
        ):
            return [name] if name else []
    return []


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in SPECIAL
