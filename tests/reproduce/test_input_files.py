"""Data of missing files: what is planned for a program, and that the program then runs with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dnnfix.records import Crash, EditStep, RunOutcome, Trace
from dnnfix.reproduce import paths
from dnnfix.reproduce.actions import input_data
from dnnfix.reproduce.case import Case
from dnnfix.run.runner import Runner
from dnnfix.source.program import Source
from tests.reproduce.input_plans import finished, plan, run

# --- tables


def test_a_csv_by_the_names_of_its_columns(torch_runner: Runner) -> None:
    code = """
import pandas as pd
data = pd.read_csv("houses.csv", sep=";")
X = data[["area", "rooms"]].values
y = data["price"]
data["ratio"] = data.area / data.rooms
print(X.shape, list(data.columns), data.price.dtype)
"""
    assert finished(run(torch_runner, code)) == "(400, 2) ['area', 'rooms', 'price', 'ratio'] float64\n"


def test_a_csv_by_the_places_of_its_columns(torch_runner: Runner) -> None:
    code = """
import pandas
from sklearn.preprocessing import LabelEncoder
frame = pandas.read_csv("data/iris.csv", header=None)
values = frame.values
X, Y = values[:, 0:4].astype(float), values[:, 4]
print(X.shape, sorted(set(LabelEncoder().fit_transform(Y))), type(Y[0]).__name__)
"""
    assert finished(run(torch_runner, code)) == "(400, 4) [np.int64(0), np.int64(1)] str\n"


def test_a_csv_read_by_a_function_and_loaded_without_pandas(torch_runner: Runner) -> None:
    code = """
import numpy as np
def load(name):
    table = np.loadtxt(name, delimiter=",")
    return table[:, 0:8], table[:, 8]
x, y = load("pima.csv")
print(x.shape, y.shape)
"""
    assert finished(run(torch_runner, code)) == "(400, 8) (400,)\n"


@pytest.mark.parametrize(
    ("loss", "inputs", "target", "expected"),
    [
        ("nn.BCELoss()", ":, :-1", ":, [-1]", "(400, 8) [0.0, 1.0]"),
        ("nn.BCELoss()", ":, :8", ":, 8:", "(400, 8) [0.0, 1.0]"),
        ("nn.MSELoss()", ":, :-1", ":, -1:", "(1000, 8) many"),
        ("nn.MSELoss()", ":, :8", ":, 8:", "(1000, 8) many"),
    ],
)
def test_the_column_that_is_apart_is_what_the_loss_wants(
    torch_runner: Runner, loss: str, inputs: str, target: str, expected: str
) -> None:
    code = f"""
import numpy as np
from torch import nn


class Rows:
    def __init__(self, path):
        table = np.loadtxt(path, delimiter=",")
        self.kept, self.wanted = table[{inputs}], table[{target}]


rows = Rows("pima.csv")
net = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1), nn.Sigmoid())
criterion = {loss}
seen = sorted(set(rows.wanted.ravel().tolist()))
print(rows.kept.shape, seen if len(seen) < 9 else "many")
"""
    assert finished(run(torch_runner, code)) == expected + "\n"


def test_labels_in_words_are_those_that_the_program_maps(torch_runner: Runner) -> None:
    code = """
import pandas as pd
spam = pd.read_csv("spam.csv")
y = spam["label"].map({"ham": 0, "spam": 1})
words = spam["message"].str.lower()
print(sorted(set(y)), words.str.len().min() > 3)
"""
    assert finished(run(torch_runner, code)) == "[0, 1] True\n"


DRIVE = """
import csv
import os
import cv2
import numpy as np

rows = []
with open("{folder}driving_log.csv") as file:
    reader = csv.reader(file)
    next(reader)
    for row in reader:
        rows.append(row)


def batches(rows, batch_size=4):
    while True:
        for start in range(0, len(rows), batch_size):
            images, angles = [], []
            for row in rows[start : start + batch_size]:
                for place in range(3):
                    name = {name}
                    images.append(cv2.resize(cv2.imread(name)[10:-4], (32, 16)))
                    angles.append(float(row[3]) + place * 0.2)
            yield np.array(images), np.array(angles)


x, y = next(batches(rows))
print(x.shape, y.shape, x.std() > 1, len(set(y)) > 3)
"""


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("data/", "'data/IMG/' + row[place].split('/')[-1]"),
        ("../drive/", "os.path.join('../drive', row[place].strip())"),
        ("/opt/data/", "'/opt/data/IMG/%s' % row[place].split('/')[-1]"),
        ("", "row[place]"),
        ("", "f'IMG/{row[place]}.png'"),
        ("", "'{}/{}'.format('IMG', row[place])"),
    ],
)
def test_rows_that_name_images(torch_runner: Runner, folder: str, name: str) -> None:
    pytest.importorskip("cv2")
    code = DRIVE.replace("{folder}", folder).replace("{name}", name)
    assert finished(run(torch_runner, code)) == "(12, 16, 32, 3) (12,) True True\n"


def test_records_of_a_csv_and_rows_as_one_array(torch_runner: Runner) -> None:
    code = """
import csv
import numpy as np
people = [row for row in csv.DictReader(open("people.csv"))]
ages = [float(person["age"]) for person in people]
kinds = {"cat": 0, "dog": 1}
y = [kinds[person["pet"]] for person in people]
table = np.array(list(csv.reader(open("numbers.csv"), delimiter=";")))
print(len(ages), sorted(set(y)), table[:, 0:4].astype(float).shape, table[:, 4].astype(float).shape)
"""
    assert finished(run(torch_runner, code)) == "400 [0, 1] (1000, 4) (1000,)\n"


def test_images_in_arrays_that_are_resized_and_their_masks() -> None:
    code = """
import cv2, numpy as np
from keras import backend as K
from keras.layers import Conv2D, Input
from keras.models import Model
def dice_loss(y_true, y_pred):
    return -K.sum(K.flatten(y_true) * K.flatten(y_pred))
def smaller(images):
    return np.stack([[cv2.resize(images[i, 0], (40, 32))] for i in range(len(images))])
inputs = Input((1, 32, 40))
model = Model(inputs, Conv2D(1, 1, activation="sigmoid")(inputs))
model.compile("adam", dice_loss)
x, y = smaller(np.load("imgs_train.npy")), smaller(np.load("imgs_mask_train.npy")) / 255.0
model.fit(x, y)
"""
    made, missing = plan(code)
    assert not missing and "(1, 32, 40), bytes from 0 to 255" in made[0].what
    assert "'mask binary', (1, 32, 40, 2)" in made[1].scaffold.start


def test_a_table_that_nothing_describes_is_a_gap() -> None:
    steps, missing = plan("import pandas as pd\ndata = pd.read_csv('data.csv')\nmodel.fit(data, 3)\n")
    assert not [step for step in steps if "data.csv" in step.what]
    assert any("nothing tells what `data.csv` holds" in gap for gap in missing)


def test_a_file_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    code = "import pandas as pd\ndata = pd.read_csv('data.csv')\nprint(data['a'])\n"
    assert plan(code, folder=tmp_path) == ([], [])
    assert plan(code)[0]


def test_a_file_that_the_program_writes_first_is_left_alone() -> None:
    code = "import numpy as np\nnp.save('x.npy', np.zeros((3, 2)))\nx = np.load('x.npy')\nmodel.fit(x, x)\n"
    assert not [step for step in plan(code)[0] if "x.npy" in step.what]


def test_paths_outside_of_the_folder_are_renamed(torch_runner: Runner) -> None:
    code = """
import os, pandas as pd
ROOT = "C:\\\\Users\\\\me\\\\data\\\\"
print(pd.read_csv(ROOT + "train.csv")["a"].shape, pd.read_csv("../other.csv")["b"].shape)
print(os.path.exists(ROOT + "train.csv"))
"""
    assert finished(run(torch_runner, code)) == "(1000,) (1000,)\nTrue\n"


def test_a_path_with_backslashes_is_renamed_in_the_program_too() -> None:
    source = Source.from_bytes(b"import numpy as np\nnp.load('data\\\\x.npy')\n", "p.py")
    assert paths.inside(source, "data\\x.npy") == ("data/x.npy", (("data\\x.npy", "data/x.npy"),))
    assert paths.inside(source, "data\\other.npy") == ("data/other.npy", ())


# --- arrays, pickles, text, images


def test_arrays_of_files_fit_together(keras_runner: Runner) -> None:
    code = """
import numpy as np, keras
from keras import layers
x, y = np.load("x.npy"), np.load("y.npy")
model = keras.Sequential([keras.Input((6,)), layers.Dense(16, "relu"), layers.Dense(3, "softmax")])
model.compile(keras.optimizers.Adam(0.02), "sparse_categorical_crossentropy")
model.fit(x, y, epochs=5, verbose=0)
"""
    trace = run(keras_runner, code, steps=80)
    assert trace.steps[-1].skill is not None and trace.steps[-1].skill > 0.7


def test_texts_of_as_many_classes_as_the_likeliest_that_are_asked_for(torch_runner: Runner) -> None:
    code = """
import glob, torch
lines = {}
for path in glob.glob("names/*.txt"):
    lines[path.split("/")[-1][:-4]] = open(path).read().strip().split("\\n")

def likeliest(output, count=3):
    return output.topk(count, 1)[1].shape

print(len(lines["French"]) > 5, len(lines), likeliest(torch.zeros(1, len(lines))))
"""
    assert finished(run(torch_runner, code)) == "True 3 torch.Size([1, 3])\n"
    shown = code.replace("likeliest(output, count=3)", "likeliest(output, topk=(1,), count=2)").replace(
        "(1, len(lines)))", "(1, len(lines)), topk=(1, 5))"
    )
    assert finished(run(torch_runner, shown)) == "True 5 torch.Size([1, 2])\n"


def test_the_keys_of_archives_and_pickles(torch_runner: Runner) -> None:
    code = """
import pickle, numpy as np
with np.load("digits.npz") as f:
    x_train, y_train = f["x_train"], f["y_train"]
    x_train = x_train.reshape(300, 64).astype("float32") / 255
    y_train = np.eye(10)[y_train]
print(x_train.shape, x_train.max() <= 1, y_train.shape)
with open("letters.pickle", "rb") as f:
    save = pickle.load(f)
    letters = save["train_dataset"].reshape((-1, 784))
    labels = (np.arange(5) == save["train_labels"][:, None])
print(letters.shape[1], labels.shape[1])
"""
    assert finished(run(torch_runner, code)) == "(300, 64) True (300, 10)\n784 5\n"


def test_plain_text_and_lines_of_fields(torch_runner: Runner) -> None:
    code = """
text = open("book.txt").read().lower()
print(len(text) > 5000, len(set(text)) < 60)
rows = []
for line in open("pairs.tsv"):
    first, second = line.strip().split("\\t")
    rows.append((first, float(second)))
print(len(rows))
"""
    assert finished(run(torch_runner, code)) == "True True\n400\n"


def test_lines_of_numbers_that_become_rows_and_the_labels_beside_them(torch_runner: Runner) -> None:
    code = """
import numpy as np
N_CLASSES = 6
def numbers(path):
    file = open(path)
    return np.array([np.array(row, dtype=np.float32) for row in [line.strip().split(" ") for line in file]])
def labels(path):
    with open(path) as file:
        return np.array([row for row in [line.strip().split(" ") for line in file]], dtype="int32") - 1
x = numbers("train/x_train.txt")
y = labels("train/y_train.txt")
print(x.ndim, x.shape[1] > 1, y.shape[1], len(x) == len(y), sorted(set(y.ravel().tolist())))
"""
    assert finished(run(torch_runner, code)) == "2 True 1 True [0, 1, 2, 3, 4, 5]\n"


def test_lines_that_name_images(torch_runner: Runner) -> None:
    pytest.importorskip("PIL")
    code = """
from PIL import Image
names, angles = [], []
with open("drives/data.txt") as lines:
    for line in lines:
        names.append("drives/" + line.split()[0])
        angles.append(float(line.split()[1]))
print(len(names) == len(angles), Image.open(names[3]).size)
"""
    assert finished(run(torch_runner, code)) == "True (64, 64)\n"


def test_folders_of_images(torch_runner: Runner) -> None:
    pytest.importorskip("PIL")
    code = """
import os
from PIL import Image
labels = []
for name in os.listdir("train"):
    picture = Image.open("train/" + name).resize((32, 32))
    labels.append("dog" in name)
    if "cat" in name:
        size = picture.size
print(size, 0 < sum(labels) < len(labels))
"""
    assert finished(run(torch_runner, code)) == "(32, 32) True\n"


CROPS = b"""
import os
from PIL import Image
from cutting import cut
for name in os.listdir("train"):
    cut(Image.open("train/" + name))
"""


@pytest.mark.parametrize(
    "message",
    [
        "Required crop size (96, 112) is larger than input image size (64, 64)",
        "Required crop size (96, 112) is larger then input image size (64, 64)",
        "Need value.shape >= size, got  [64 64 3] [96 112 3]",
    ],
)
def test_images_are_made_anew_where_a_run_cut_more_out_of_them(message: str) -> None:
    crash = Trace(RunOutcome.CRASHED, crash=Crash("ValueError", message))
    case = Case(Source.from_bytes(CROPS, "program.py"), (crash,), lambda name: True)
    (step,) = input_data.steps(case)
    assert isinstance(step, EditStep) and "images of 96x112" in step.what


def test_images_are_as_large_as_a_module_of_the_program_cuts_them() -> None:
    cutting = b"from torchvision.transforms import RandomCrop\ndef cut(image, size=80):\n    return RandomCrop((size, size))(image)\n"
    source = Source.from_bytes(CROPS, "program.py").along_with([Source.from_bytes(cutting, "cutting.py")])
    (step,) = input_data.steps(Case(source, (), lambda name: True))
    assert isinstance(step, EditStep) and "images of 80x80" in step.what


@pytest.mark.parametrize("pattern", [r"^pets/(.*)_\d+\.jpg$", r"/([^/]+)-\d+.jpg$", r"^pets/(\d+)_(\w+)\.jpg$"])
def test_images_are_named_as_a_pattern_of_the_program_has_it(torch_runner: Runner, pattern: str) -> None:
    pytest.importorskip("PIL")
    code = f"""
import os, re
from PIL import Image
names = [os.path.join("pets", name) for name in os.listdir("pets") if name.endswith(".jpg")]
sizes = {{Image.open(name).size for name in names}}
print({{re.search({pattern!r}, name) is not None for name in names}})
"""
    assert finished(run(torch_runner, code)) == "{True}\n"


def test_a_folder_that_the_program_moves_files_into_is_there_and_empty(torch_runner: Runner) -> None:
    code = """
import glob, shutil, torch
texts = glob.glob("train/*.txt")
for path in texts[:1]:
    shutil.move(path, "val")

def rows(folder):
    return [open(path).read() for path in glob.glob("%s/*.txt" % folder)]

print(len(rows("val")), len(rows("train")) == len(texts) - 1)
"""
    assert finished(run(torch_runner, code)) == "1 True\n"


def test_a_file_of_tokens_that_is_mapped(torch_runner: Runner) -> None:
    code = """
import os
import numpy as np, torch
folder = os.path.join("data", "text")

def batch(split):
    data = np.memmap(os.path.join(folder, f"{split}.bin"), dtype=np.uint16, mode="r")
    return torch.from_numpy(data[:64].astype(np.int64)), len(data)

train, count = batch("train")
val, _ = batch("val")
table = np.fromfile("table.bin", dtype="int32")
print(train.dtype, count >= 200000, 0 <= int(train.min()) and int(train.max()) < 60, bool((train != val).any()), table.dtype)
"""
    assert finished(run(torch_runner, code)) == "torch.int64 True True True int32\n"


def test_records_that_a_program_only_hands_on_to_a_data_set() -> None:
    steps, _ = plan(
        "import json\nfrom datasets import load_dataset\nrows = json.load(open('a.json')) + json.load(open('b.json'))\n"
        "json.dump(rows, open('all.json', 'w'))\ndata = load_dataset('json', data_files='all.json')\n"
        "data = data['train'].train_test_split(test_size=1500).map(lambda row: {'n': row['label'] + len(row['input'])})\n"
    )
    made = [step.scaffold.start for step in steps if "made_json" in step.scaffold.start]
    assert made == [
        f"made_json('{name}.json', made_records(['label', 'input'], ['label', 'text'], 3000))" for name in "ab"
    ]


def test_folders_and_files_that_pathlib_names(torch_runner: Runner) -> None:
    pytest.importorskip("PIL")
    code = """
import json, os
from pathlib import Path
from PIL import Image
from torch.utils.data import Dataset

class Images(Dataset):
    def __init__(self, folder):
        self.paths = []
        for path in Path(f"{folder}").glob("**/*"):
            if os.path.splitext(path)[1].lower() in (".jpg", ".png"):
                self.paths.append(path)
    def __len__(self):
        return len(self.paths)
    def __getitem__(self, index):
        return Image.open(self.paths[index]).convert("RGB")

images = Images("pictures")
kinds = {}
for folder in sorted(Path("others").iterdir()):
    for path in folder.iterdir():
        kinds[folder.name] = Image.open(path).size
root = Path("data") / "train"
words = json.loads((root / "words.json").read_text())
with (root / "rows.json").open() as file:
    texts = [row["text"] for row in json.load(file)]
print(len(images) > 4, images[0].size, len(kinds), len(words["of"]) > 1, len(texts[0]) > 1)
"""
    assert finished(run(torch_runner, code)) == "True (64, 64) 2 True True\n"


def test_a_folder_to_write_into_is_made() -> None:
    steps, _ = plan("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.savefig('figures/loss.png')\n")
    assert [step.scaffold.start for step in steps] == ["made_folder('figures')"]
    assert not steps[0].invented


# --- what is drawn while the program runs


@pytest.mark.parametrize(
    "drawn",
    [
        'np.random.choice(["center", "left", "right"])',
        'random.choice(("center", "left", "right"))',
        'np.random.choice(["center", "left", "right"], 1)[0]',
        "CAMERAS[random.randint(0, 2)]",
        "CAMERAS[np.random.randint(3)]",
    ],
)
def test_a_column_that_is_drawn_is_any_of_them(drawn: str) -> None:
    code = f"""
import random
import numpy as np
import pandas as pd
from keras.preprocessing.image import load_img
CAMERAS = ["center", "left", "right"]
def image_of(row):
    camera = {drawn}
    return load_img("log/" + row[camera].strip()), row["steering"]
for index, row in pd.read_csv("log/driving_log.csv").iterrows():
    image_of(row)
"""
    steps, missing = plan(code)
    assert not missing
    for name in ("center", "left", "right"):
        assert f"{name} (file)" in steps[0].what
    assert "steering (number)" in steps[0].what


def test_a_place_that_is_drawn_is_any_of_them() -> None:
    code = """
import csv, random
import cv2
with open("log.csv") as file:
    lines = [line for line in csv.reader(file)]
for line in lines:
    image = cv2.imread("IMG/" + line[random.randint(0, 2)])
    angle = float(line[3])
"""
    steps, missing = plan(code)
    assert not missing
    assert "3 file, 1 number" in steps[0].what


# --- series with their class in the first column, and data that a condition chooses


def test_series_behind_their_class(torch_runner: Runner) -> None:
    code = """
import numpy as np
short = False
if short:
    train = np.loadtxt("short_TRAIN", delimiter=",")
    rest = np.loadtxt("short_TEST", delimiter=",")
else:
    train = np.loadtxt("UCR/Two_Patterns_TRAIN", delimiter=",")
    rest = np.loadtxt("UCR/Two_Patterns_TEST", delimiter=",")
test, check = np.split(rest, 2)
for part in (train, test, check):
    X, labels = part[:, 1:], part[:, 0] - 1
    print(X.shape, labels.min())
    rows, length = X.shape
    start = np.random.choice(length - 64, 1)
"""
    trace = run(torch_runner, code)
    assert finished(trace) == "(400, 128) 0.0\n(200, 128) 0.0\n(200, 128) 0.0\n"
    assert len(plan(code)[0]) == 4


def test_a_series_is_as_long_as_its_placeholder() -> None:
    code = """
import numpy as np
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 96])
y = tf.placeholder(tf.int64, [None])
data = np.genfromtxt("Computers_TRAIN", delimiter=",")
with tf.Session() as session:
    session.run(x, feed_dict={x: data[:, 1:], y: data[:, 0]})
"""
    steps, missing = plan(code)
    assert not missing
    assert "97 columns" in steps[0].what


def test_columns_that_are_open_are_some() -> None:
    for taken in ("data[:, 0], data[:, 1:]", "data[:, -1], data[:, :-1]"):
        steps, missing = plan(f'import numpy as np\ndata = np.loadtxt("table")\ny, X = {taken}\nprint(X.shape)\n')
        assert not missing
        assert "9 columns" in steps[0].what


def test_two_ways_to_read_the_same() -> None:
    code = """
import os, pickle
import numpy as np
from keras.models import Sequential
from keras.layers import Dense
if os.path.exists("x.npy"):
    x = np.load("x.npy")
else:
    x = pickle.load(open("x.pkl", "rb"))
y = np.load("y.npy")
model = Sequential([Dense(1, input_shape=(12,))])
model.compile(loss="mse", optimizer="sgd")
model.fit(x, y)
"""
    steps, missing = plan(code)
    assert not missing
    assert [step.what.split(":")[0] for step in steps] == ["`x.npy`", "`x.pkl`", "`y.npy`"]


def test_a_style_sheet_is_empty_and_the_name_of_a_style_is_no_file() -> None:
    code = """
import matplotlib.pyplot as plt
plt.style.use("ggplot")
plt.style.use("paper.mplstyle")
"""
    steps, missing = plan(code)
    assert ([step.what for step in steps], missing) == (["`paper.mplstyle`: an empty style sheet"], [])
