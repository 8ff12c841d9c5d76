"""Tables of the library calls that read a file, with the kind of its contents, and of those that write one."""

from __future__ import annotations

import re

from dnnfix.source.public_names import words

_KINDS = {
    **dict.fromkeys(("read_csv", "read_table", "read_fwf", "read_excel"), "table"),
    **dict.fromkeys(("loadtxt", "genfromtxt"), "matrix"),
    **dict.fromkeys(("memmap", "fromfile"), "raw"),
    "load": "array",
    **dict.fromkeys(("imread", "load_img"), "image"),
    **dict.fromkeys(("listdir", "glob", "walk", "scandir", "iglob"), "folder"),
    **dict.fromkeys(("open", "Open", "GFile", "FastGFile"), "handle"),
    **dict.fromkeys(("ListDirectory", "Glob", "Walk"), "folder"),
    **dict.fromkeys(("TFRecordDataset", "tf_record_iterator"), "records"),
    "string_input_producer": "queue", "TextLineDataset": "lines",
    **dict.fromkeys(("TextDataset", "LineByLineTextDataset"), "sentences"),
    "read_json": "json", "read_pickle": "pickle", "File": "h5", "loadmat": "mat", "read": "audio",
}  # fmt: skip
"""What a call reads, by the last part of its name; `_MODULES` says of which modules."""

_MODULES = (
    "pandas.", "numpy.load", "numpy.genfromtxt", "numpy.fromfile", "numpy.memmap", "cv2.imread", "PIL.Image.open", "skimage.io.imread",
    "imageio.", "matplotlib.", "scipy.misc.imread", "scipy.ndimage.imread", "builtins.open", "io.open", "codecs.open",
    "gzip.open", "bz2.open", "os.listdir", "os.walk", "os.scandir", "glob.", "h5py.File", "scipy.io.", "joblib.load",
    "sklearn.externals.joblib.load", "keras.utils.load_img", "keras.preprocessing.image.load_img", "librosa.load",
    "torchaudio.load", "soundfile.read", "tensorflow.gfile.", "tensorflow.io.gfile.", "tensorflow.compat.v1.gfile.",
    "tensorflow.python.platform.gfile.", "tensorflow.train.string_input_producer", "tensorflow.data.T",
    "tensorflow.python_io.", "tensorflow.contrib.data.T", "transformers.TextDataset", "transformers.LineByLineTextDataset", "tensorflow.compat.v1.train.string_input_producer",
)  # fmt: skip

UNPICKLING = frozenset(
    f"{module}.{name}"
    for module in ("pickle", "cPickle", "_pickle", "dill", "six.moves.cPickle", "json")
    for name in ("load", "loads")
)
"""Calls that take a value out of an open file."""

READERS = frozenset(_KINDS)
"""Names that functions of libraries have which read: where nothing binds one of them, its import is missing."""

READING = re.compile(
    r"load|read|get|fetch|import|open|prepare|make|create|gen|build|data|batch|sample|split|corpus|mnist|cifar",
    re.IGNORECASE,
)
"""The names of functions that read or make data."""

IS_DATA = re.compile(r"x|y|xs|ys|data|batch|inputs?|labels?|targets?|images?|img|frames?", re.IGNORECASE)
"""Names of data: a function that is given some changes it."""

IMAGE_FOLDERS = words("flow_from_directory ImageFolder image_dataset_from_directory")

OF_PATHS = words("glob rglob iterdir open read_text read_bytes")
"""Methods of `pathlib.Path` that read, which a text has not."""

PATHS = ("filepath_or_buffer", "file", "fname", "directory", "root", "path", "io", "filename", "pathname", "file_path")
"""The keywords under which calls that read take a path."""

WRITERS = words(
    """savefig save save_weights to_csv to_pickle to_json dump imwrite imsave ModelCheckpoint CSVLogger savez savetxt
    save_model save_image savez_compressed plot_model SummaryWriter FileWriter to_excel"""
)


MOVING = words("shutil.move shutil.copy shutil.copy2 shutil.copyfile shutil.copytree")
"""What puts files into another place."""


def reader(name: str, last: str) -> str | None:
    """The kind of thing that a call of this name reads from a path; `last` is the last part of the name."""
    if last == "file" and not name:
        return "handle"  # the built-in function of Python 2
    if not name.startswith(_MODULES):
        return None
    if name == "PIL.Image.open":
        return "image"
    if name in ("matplotlib.pyplot.style.use", "matplotlib.style.use"):
        return "style"
    if last == "load" and "joblib" in name:
        return "pickle"
    if last == "load" and name.startswith(("librosa", "torchaudio")):
        return "audio"
    if last == "read" and not name.startswith(("scipy.io.wavfile", "soundfile")):
        return None
    return _KINDS.get(last)
