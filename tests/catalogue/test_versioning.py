"""The versioning family beyond its examples: the tables are sound, true of what is installed, and make one patch."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from dnnfix.detect.versioning import names, tables
from dnnfix.detect.versioning.migration import edits_of, migration, version_number
from dnnfix.detect.versioning.tables import Change, compiled, table
from dnnfix.errors import CatalogueError
from dnnfix.records import Applicability, CodeWarning, RunOutcome, Site, Trace
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix.synthesize.candidates import propose
from dnnfix.template import FixTemplate

FILES = sorted(names.DATA.glob("*.toml"))
INSTALLED = ("keras", "torch", "numpy", "sklearn", "pandas")
NEWER_PYTHON = ("_dummy_thread", "packaging.")
"""What Python itself may lack that an entry names."""


def template(code: str) -> type[FixTemplate]:
    from dnnfix import registry

    found = registry.template(code)
    if found is None:
        raise LookupError(code)
    return found


def first_patch(text: str, code: str) -> tuple[str, Applicability]:
    subject = Subject(Source.from_bytes(text.encode(), "program.py"))
    finding = next(iter(template(code)().detect(subject)))
    candidate = propose(finding, subject, template(code)).candidates[0]
    return apply_edits(subject.source, candidate.edits).decode(), candidate.applicability


def exists(name: str) -> bool:
    parts = name.split(".")
    if importlib.util.find_spec(parts[0]) is None:
        return False
    found: object = importlib.import_module(parts[0])
    for number, part in enumerate(parts[1:], 2):
        try:
            found = getattr(found, part)
        except (AttributeError, ImportError):
            try:
                found = importlib.import_module(".".join(parts[:number]))
            except ImportError:
                return False
    return True


def existing(names: Iterable[str]) -> set[str]:
    """Those that a new interpreter knows: in this one, a library may have put one back (torchmetrics does `numpy.Inf`)."""
    asked = "for name in sys.argv[1:]:\n    if exists(name):\n        print(name)"
    program = f"import importlib, importlib.util, sys\n{inspect.getsource(exists)}{asked}"
    done = subprocess.run([sys.executable, "-c", program, *names], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def names_of(package: str) -> list[Change]:
    return [
        change
        for path in FILES
        for change in table(path).changes()
        if change.kind in ("name", "module") and change.old.partition(".")[0] == package
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_is_sound_and_every_change_has_words(path: Path) -> None:
    for change in table(path).changes():
        assert change.new or change.drop or change.note or change.kind == "place", change
        assert not change.reference or change.reference.startswith("https://"), change


def test_no_name_is_listed_in_two_files() -> None:
    seen: dict[tuple[str, str], str] = {}
    for path in FILES:
        for change in table(path).changes():
            if change.kind in ("name", "module"):
                assert seen.setdefault((change.kind, change.old), path.stem) == path.stem


@pytest.mark.parametrize("package", INSTALLED)
def test_the_new_names_exist_and_the_removed_ones_do_not(package: str) -> None:
    installed = importlib.import_module(package).__version__
    if package == "keras" and version_number(installed) < (3,):
        pytest.skip("the table is about Keras 3")
    wrong = []
    there = existing(name for change in names_of(package) for name in (change.old, change.new) if name)
    for change in names_of(package):
        elsewhere = change.new.startswith(("builtins.", "joblib", "six", "collections.", "math."))
        if change.new and not elsewhere and change.new not in there:
            wrong.append(f"{change.new} does not exist")
        known = change.removed and version_number(change.removed) <= version_number(installed)
        refuses = package == "torch" or ".legacy." in change.old  # is still there, and raises an error when it is used
        if known and change.kind == "name" and not refuses and change.old in there:
            wrong.append(f"{change.old} exists")
    assert not wrong


def test_what_python_calls_its_library_today_exists_and_its_old_names_do_not() -> None:
    for change in table(names.DATA / "python.toml").changes():
        assert change.package == "python", change
        assert not change.new or change.new.startswith(NEWER_PYTHON) or exists(change.new), change
        if version_number(change.removed) <= sys.version_info[:2] and change.old not in ("thread", "sets"):
            assert change.kind == "module" or not exists(change.old), change


MOVED = {
    "import cPickle\n\nx = cPickle.load(f)": "import pickle\n\nx = pickle.load(f)",
    "import cPickle\n\nx = cPickle.dumps(cPickle.HIGHEST_PROTOCOL)": "import pickle\n\nx = pickle.dumps(pickle.HIGHEST_PROTOCOL)",
    "import random, cPickle as pickle\n\nx = pickle.load(f)": "import random, pickle\n\nx = pickle.load(f)",
    "import Queue\n\nqueue = Queue.Queue()": "import queue as Queue\n\nqueue = Queue.Queue()",
    "import urllib\n\nurllib.urlretrieve(u)": "import urllib\nimport urllib.request\n\nurllib.request.urlretrieve(u)",
    "import urllib2\n\nx = urllib2.urlopen(u)": "import urllib.request\n\nx = urllib.request.urlopen(u)",
    "from urllib import urlretrieve, urlencode\n\nurlretrieve(urlencode(d))": (
        "from urllib.request import urlretrieve\nfrom urllib.parse import urlencode\n\nurlretrieve(urlencode(d))"
    ),
    "from itertools import izip, chain\n\nx = izip(chain(a), b)": "from itertools import chain\n\nx = zip(chain(a), b)",
    "import string\n\nx = string.upper(string.letters)": "import string\n\nx = str.upper(string.ascii_letters)",
    "from collections import Mapping\n\nisinstance(x, Mapping)": "from collections.abc import Mapping\n\nisinstance(x, Mapping)",
}


@pytest.mark.parametrize("old", MOVED)
def test_a_library_of_python_is_imported_under_its_name_of_today(old: str) -> None:
    head = "import torch\n"
    patched, _ = first_patch(f"{head}{old}\n", "DNF501")
    assert patched.replace(', encoding="latin1"', "") == f"{head}{MOVED[old]}\n"


OTHERS = {
    "import matplotlib.pyplot as plt\n\nfor tick in plt.gca().xaxis.get_major_ticks():\n    tick.label.set_fontsize(9)": (
        "import matplotlib.pyplot as plt\n\nfor tick in plt.gca().xaxis.get_major_ticks():\n    tick.label1.set_fontsize(9)"
    ),
    "import pandas as pd\n\ndf = pd.read_csv(f, delim_whitespace=True)": (
        'import pandas as pd\n\ndf = pd.read_csv(f, sep=r"\\s+")'
    ),
    "import matplotlib.pyplot as plt\n\nplt.style.use('seaborn-white')": (
        "import matplotlib.pyplot as plt\n\nplt.style.use('seaborn-v0_8-white')"
    ),
    "from sklearn.externals import joblib, six\n\nx = joblib.load(six.text_type(f))": (
        "import joblib, six\n\nx = joblib.load(six.text_type(f))"
    ),
    "from numpy import math\nimport numpy as np\n\nx = np.lib.pad(math.pi, 1)": (
        "import math\nimport numpy as np\n\nx = np.pad(math.pi, 1)"
    ),
    "from scipy.misc import imfilter, logsumexp\n\nimfilter(f, logsumexp(x))": (
        "from scipy.misc import imfilter\nfrom scipy.special import logsumexp\n\nimfilter(f, logsumexp(x))"
    ),
    "from PIL import Image\n\nx = Image.open(f).resize((2, 2), Image.ANTIALIAS)": (
        "from PIL import Image\n\nx = Image.open(f).resize((2, 2), Image.LANCZOS)"
    ),
    "from skimage.measure import compare_psnr\n\nx = compare_psnr(a, b)": (
        "from skimage.metrics import peak_signal_noise_ratio\n\nx = peak_signal_noise_ratio(a, b)"
    ),
}


@pytest.mark.parametrize("old", OTHERS)
def test_the_libraries_around_the_frameworks_are_brought_up_to_date(old: str) -> None:
    head = "import torch\n"
    subject = Subject(Source.from_bytes(f"{head}{old}\n".encode(), "program.py"))
    hits = [hit for hit in migration(subject) if hit.edits]
    assert apply_edits(subject.source, edits_of(subject.source, tuple(hits))).decode() == f"{head}{OTHERS[old]}\n"


@pytest.mark.parametrize(
    "text", ["for tick in batches:\n    print(tick.label)", "net.hist(x, normed=True)", "x.sort()"]
)
def test_words_of_other_libraries_mean_nothing_elsewhere(text: str) -> None:
    text = f"import torch\nimport pandas as pd\nimport matplotlib.pyplot as plt\n\n{text}\n"
    assert not migration(Subject(Source.from_bytes(text.encode(), "program.py")))


def test_a_library_of_python_that_is_tried_first_is_left_alone() -> None:
    text = "import torch\ntry:\n    import cPickle as pickle\nexcept ImportError:\n    import pickle\n"
    assert not list(template("DNF501")().detect(Subject(Source.from_bytes(text.encode(), "program.py"))))


def test_new_keywords_of_keras_are_taken_by_the_layers() -> None:
    import inspect

    import keras

    wrong = []
    for change in table(names.DATA / "keras.toml").changes():
        if change.kind != "argument" or not change.new:
            continue
        for of in change.of:
            kind, _, name = of.removeprefix("keras.").rpartition(".")
            if kind not in ("layers", "optimizers", "callbacks"):
                continue
            made = getattr(getattr(keras, kind), name, None)
            parameters = inspect.signature(made).parameters if made else {}
            if change.new not in parameters and not (change.new == "dtype" or "args" in parameters):
                wrong.append(f"{of}({change.new}=)")
    assert not wrong


def test_new_keywords_of_torch_are_taken_by_what_is_called() -> None:
    import inspect

    wrong = []
    for change in table(names.DATA / "torch.toml").changes():
        if change.kind != "argument" or not change.new or not change.of[0].startswith(("torch.nn.", "torch.optim.")):
            continue
        for of in change.of:
            module, _, name = of.rpartition(".")
            made = getattr(importlib.import_module(module), name)
            parameters = inspect.signature(made).parameters
            if change.new not in parameters and "kwargs" not in parameters:
                wrong.append(f"{of}({change.new}=)")
    assert not wrong


@pytest.mark.parametrize(
    "given",
    [
        "torch.nn.MSELoss(size_average=flag)",
        "torch.nn.MSELoss(size_average=False, reduce=False)",
        "torch.nn.MSELoss(reduce=bool(flag))",
        "torchvision.models.resnet18(pretrained=args.pretrained)",
        "torchvision.models.detection.keypointrcnn_resnet50_fpn(pretrained=True)",
        "torch.chain_matmul(*matrices)",
        "torch.cuda.amp.autocast(True)",
    ],
)
def test_a_value_that_is_not_known_is_left_alone(given: str) -> None:
    text = f"import torch\nimport torchvision\nthing = {given}\n"
    subject = Subject(Source.from_bytes(text.encode(), "program.py"))
    findings = list(template("DNF550")().detect(subject))
    assert findings
    assert all(propose(f, subject, template("DNF550")).candidates == () for f in findings)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "from torch.cuda import amp\nscaler = amp.GradScaler()\nwith amp.autocast(enabled=on):\n    pass\n",
            'from torch import amp\nscaler = amp.GradScaler("cuda")\nwith amp.autocast("cuda", enabled=on):\n    pass\n',
        ),
        (
            "from torch.cpu.amp import autocast as cast\nwith cast():\n    pass\n",
            'from torch.amp import autocast as cast\nwith cast("cpu"):\n    pass\n',
        ),
        (
            "from torch.cuda.amp import autocast\nkinds = [autocast]\n",
            "",
        ),
    ],
)
def test_mixed_precision_is_migrated_with_its_import_or_not_at_all(old: str, new: str) -> None:
    subject = Subject(Source.from_bytes(f"import torch\n{old}".encode(), "program.py"))
    finding = next(iter(template("DNF550")().detect(subject)))
    candidates = propose(finding, subject, template("DNF550")).candidates
    patched = apply_edits(subject.source, candidates[0].edits).decode() if candidates else ""
    assert patched == (f"import torch\n{new}" if new else "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[name]\n", "not TOML"),
        ("[[nmae]]\nold = 'a'\n", "'nmae' is not a kind"),
        ("[name]\nold = 'a'\n", "two brackets"),
        ("[[name]]\nold = 'a.b'\nnew = 'a.c'\nremvoed = '1'\n", "(a.b): unknown key 'remvoed'"),
        ("[[name]]\nold = 'a.b'\nnew = 3\nremoved = '1'\n", "new must be a string. Received: new=3"),
        ("[[name]]\nold = 'a.b'\nnew = 'a.c'\n", "state since"),
        ("[[name]]\nold = 'a.b'\nremoved = '1'\n", "say in note why"),
        ("[[name]]\nnew = 'a.b'\nremoved = '1'\n", "old must be given"),
        ("[[argument]]\nold = 'x'\nnew = 'y'\nremoved = '1'\n", "of must be given"),
        ("[[argument]]\nof = 'f'\nold = 'x'\nnew = 'y'\nremoved = '1'\n", "of must be a list of strings"),
        ("[[name]]\nold = 'a.b'\nnew = 'a.c'\nremoved = '1'\n" * 2, "number 2 (a.b): listed twice"),
        ("[[argument]]\nof = ['f']\nold = 'x'\nnew = 'y'\nremoved = '1'\n" * 2, "listed twice for f"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(CatalogueError) as error:
        compiled(text, "mine.toml")
    assert str(error.value).startswith("mine.toml") and said in str(error.value)


def test_thousands_of_entries_are_read_in_milliseconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tables._cache_folder.cache_clear()
    names = (
        f'[[name]]\nold = "keras.layers.Old{i}"\nnew = "keras.layers.New{i}"\nremoved = "3.0"\n' for i in range(5000)
    )
    path = tmp_path / "keras.toml"
    path.write_text("\n".join(names))
    try:
        assert len(list(table(path).changes())) == 5000
        spent = []
        for _ in range(5):
            table.cache_clear()
            started = time.process_time()
            change = table(path).name("keras.layers.Old4999")
            spent.append(time.process_time() - started)
            assert change is not None and change.new == "keras.layers.New4999"
        assert min(spent) < 0.02, f"{min(spent) * 1000:.1f} ms (3 ms on the machine this was written on)"
    finally:
        tables._cache_folder.cache_clear()
        table.cache_clear()


@pytest.mark.parametrize("broken", ["missing", "read-only", "damaged"])
def test_the_cache_may_be_missing_read_only_or_damaged(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    path = tmp_path / "mine.toml"
    path.write_text('[[name]]\nold = "a.b"\nnew = "a.c"\nremoved = "1"\n')
    if broken == "missing":
        place.write_text("a file where the folder should be")
    tables._cache_folder.cache_clear()
    try:
        assert table(path).name("a.b") is not None
        table.cache_clear()
        if broken == "damaged":
            for kept in (place / "dnnfix").iterdir():
                kept.write_bytes(b"\x00not marshal")
        elif broken == "read-only":
            (place / "dnnfix").chmod(0o500)
        change = table(path).name("a.b")
        assert change is not None and change.new == "a.c"
    finally:
        tables._cache_folder.cache_clear()
        table.cache_clear()


def test_one_patch_migrates_the_whole_file() -> None:
    text = """\
from keras.models import Sequential
from keras.layers.core import Dense, Activation
from keras.layers import Convolution2D, Merge
from keras.optimizers import SGD
from keras.utils import np_utils

y = np_utils.to_categorical([0, 1], 2)
model = Sequential()
model.add(Convolution2D(8, 3, 3, border_mode='same', input_shape=(8, 8, 1)))
model.add(Dense(output_dim=2, init="uniform"))
model.compile(loss="mse", optimizer=SGD(lr=0.1, decay=1e-6), metrics=["accuracy"])
history = model.fit(x, y, nb_epoch=2)
print(history.history["acc"], model.predict_proba(x))
"""
    expected = """\
from keras.models import Sequential
from keras.layers import Dense, Activation
from keras.layers import Convolution2D
from keras.optimizers import SGD
from keras.utils import to_categorical
from keras.optimizers.schedules import InverseTimeDecay

y = to_categorical([0, 1], 2)
model = Sequential()
model.add(Convolution2D(8, (3, 3), padding='same', input_shape=(8, 8, 1)))
model.add(Dense(units=2, kernel_initializer="uniform"))
model.compile(loss="mse", optimizer=SGD(learning_rate=InverseTimeDecay(0.1, 1, 1e-6)), metrics=["accuracy"])
history = model.fit(x, y, epochs=2)
print(history.history["accuracy"], model.predict(x))
"""
    for code in ("DNF501", "DNF505", "DNF508", "DNF509"):
        assert first_patch(text, code) == (expected, Applicability.UNSAFE)
    subject = Subject(Source.from_bytes(expected.encode(), "program.py"))
    assert not migration(subject)


def test_findings_of_one_migration_share_their_cause_and_declined_ones_do_not() -> None:
    text = "import keras\nfrom keras.layers import MaxoutDense, Dense\nDense(output_dim=1)\nMaxoutDense(3)\n"
    subject = Subject(Source.from_bytes(text.encode(), "program.py"))
    causes = {f.cause: f for f in template("DNF501")().detect(subject)}
    assert set(causes) == {"", "versions"}
    declined = propose(causes[""], subject, template("DNF501"))
    assert "MaxoutDense" in declined.declined


@pytest.mark.parametrize(
    "used",
    [
        "folds = KFold(10, n_folds=5)\nfor train, test in chosen(folds):\n    print(train)",
        "folds = KFold(10, n_folds=5)\nprint(folds.n)",
        "self.folds = KFold(10, n_folds=5)",
    ],
)
def test_folds_that_go_elsewhere_are_told_of_and_left(used: str) -> None:
    text = f"import torch\nfrom sklearn.cross_validation import KFold\n\n{used}\n"
    hits = migration(Subject(Source.from_bytes(text.encode(), "program.py")))
    assert [bool(hit.decline) for hit in hits if hit.what.startswith("KFold")] == [True]


def test_places_of_a_class_are_those_of_the_name_that_is_written() -> None:
    text = "import torch\nfrom sklearn.cross_validation import KFold\n\nprint(KFold(10, 5, True))\n"
    hits = migration(Subject(Source.from_bytes(text.encode(), "program.py")))
    assert not any("only since" in hit.what for hit in hits)


def test_what_is_silenced_is_not_edited_along() -> None:
    text = "from keras.layers import Dense\na = Dense(output_dim=1)\nb = Dense(output_dim=2)  # noqa: DNF502\n"
    patched, _ = first_patch(text, "DNF501")
    assert patched == text.replace("output_dim=1", "units=1")


@pytest.mark.parametrize(
    "text",
    [
        "import keras\nif keras.__version__ < '2':\n    keras.layers.Dense(output_dim=1)\n",
        "import keras\ntry:\n    keras.layers.Dense(output_dim=1)\nexcept TypeError:\n    keras.layers.Dense(units=1)\n",
        "import tf_keras as keras\nkeras.optimizers.Adam(lr=0.1)\n",
    ],
)
def test_programs_that_know_their_version_are_left_alone(text: str) -> None:
    assert not migration(Subject(Source.from_bytes(text.encode(), "program.py")))


IGNORED_KEYWORD = """\
from keras.layers import Embedding

layer = Embedding(10, 2, input_length=4)
"""


@pytest.mark.parametrize(
    "text",
    [
        IGNORED_KEYWORD,
        "import keras\n\nlayer = keras.layers.LSTM(\n    3,\n    implementation=2,\n)\n",
        "import tensorflow as tf\n\ne = tf.keras.layers.Embedding(5, 2, input_length=7, name='e')\n",
    ],
)
def test_a_keyword_that_is_passed_over_is_no_fault_even_where_the_run_warned_of_it(text: str) -> None:
    lines = len(text.splitlines())
    told = CodeWarning("UserWarning", "Argument is deprecated. Just remove it.", Site(1, 1, lines, 9))
    subject = Subject(
        Source.from_bytes(text.encode(), "a.py"),
        Trace(RunOutcome.FINISHED, versions={"keras": "3.15.0"}, warnings=(told,)),
    )
    assert not list(template("DNF501")().detect(subject))
    assert list(template("DNF550")().detect(subject))


def test_what_is_passed_over_stays_where_another_keyword_is_repaired() -> None:
    text, level = first_patch(IGNORED_KEYWORD.replace("2, ", "2, init='uniform', "), "DNF501")
    assert "embeddings_initializer='uniform', input_length=4)" in text and level is Applicability.SAFE


def test_older_installed_versions_are_left_in_peace() -> None:
    source = Source.from_bytes(b"import keras\nkeras.optimizers.Adam(lr=0.1)\n", "program.py")
    assert not migration(Subject(source, Trace(RunOutcome.FINISHED, versions={"keras": "2.15.0"})))
    assert migration(Subject(source, Trace(RunOutcome.FINISHED, versions={"keras": "3.5.0"})))


def test_a_table_in_the_folder_of_local_templates_is_a_template(tmp_path: Path) -> None:
    from dnnfix import registry

    (tmp_path / "acme.toml").write_text("""
[template]
code = "ACME501"
name = "old-acme-names"

[[name]]
old = "acme.nets.Resnet"
new = "acme.models.ResNet"
removed = "4.0"
safe = true
""")
    mine = registry.template("ACME501", (tmp_path,))
    assert mine is not None and mine.name == "old-acme-names"
    subject = Subject(Source.from_bytes(b"import torch\nfrom acme.nets import Resnet\nnet = Resnet(3)\n", "program.py"))
    finding = next(iter(mine().detect(subject)))
    candidate = propose(finding, subject, mine).candidates[0]
    patched = apply_edits(subject.source, candidate.edits).decode()
    assert patched == "import torch\nfrom acme.models import ResNet\nnet = ResNet(3)\n"
    (tmp_path / "acme.toml").write_text("[[name]]\nold = 'a'\n")
    with pytest.raises(CatalogueError, match="code and the name"):
        registry._load_table.__wrapped__(tmp_path / "acme.toml", 0)
