"""Sessions made for Keras alone: which are removed, and which the program uses for more."""

from __future__ import annotations

import pytest

from dnnfix.detect.versioning.migration import edits_of, migration
from dnnfix.source.edits import apply_edits
from dnnfix.source.program import Source
from dnnfix.subject import Subject
from dnnfix_legacy.rules.session_for_settings import SessionForSettings

HEAD = """\
import numpy as np
import random
import tensorflow as tf
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
"""
MODEL = "\nmodel = Sequential([Dense(1, input_shape=(4,))])\n"


def settled(text: str) -> tuple[list[str], str]:
    """What the template says that it does, and the program then."""
    source = Source.from_bytes(text.encode(), "program.py")
    hits = [hit for hit in migration(Subject(source)) if hit.what == SessionForSettings.message]
    return [hit.title for hit in hits], apply_edits(source, edits_of(source, tuple(hits))).decode()


@pytest.mark.parametrize(
    "beside",
    [
        "    random.seed(1)\n    np.random.seed(1)\n    tf.set_random_seed(1)\n",
        "    print('a session')\n",
        "    open('log', 'w').write('made')\n",
        "    global made\n    made = True\n",
        "    seeds = random.seed(1)\n",
        "    for part in (1, 2):\n        pass\n",
    ],
)
def test_a_function_that_does_more_than_make_the_session_stays(beside: str) -> None:
    made = f"def seeded_session():\n{beside}    return tf.Session(config=tf.ConfigProto())\n"
    assert settled(HEAD + made + "K.set_session(seeded_session())\n" + MODEL) == (
        [],
        HEAD + made + "K.set_session(seeded_session())\n" + MODEL,
    )


@pytest.mark.parametrize(
    "session",
    [
        "config = tf.ConfigProto()\nconfig.gpu_options.visible_device_list = '0,1'\nK.set_session(tf.Session(config=config))\n",
        "config = tf.ConfigProto()\nconfig.gpu_options.visible_device_list = str(device)\nK.set_session(tf.Session(config=config))\n",
        "config = tf.ConfigProto()\nconfig.graph_options.optimizer_options.global_jit_level = 1\nK.set_session(tf.Session(config=config))\n",
        "config = tf.ConfigProto(device_count=counts())\nK.set_session(tf.Session(config=config))\n",
        "config = tf.ConfigProto(**settings)\nK.set_session(tf.Session(config=config))\n",
        "K.set_session(tf.Session(config=configured()))\n",
        "K.set_session(tf.Session('grpc://there'))\n",
        "config = tf.ConfigProto()\nif grows:\n    config.gpu_options.allow_growth = True\nK.set_session(tf.Session(config=config))\n",
        "config = tf.ConfigProto()\nconfig.gpu_options.allow_growth = ask()\nK.set_session(tf.Session(config=config))\n",
        "Dense(2)\nK.set_session(tf.Session(config=tf.ConfigProto(device_count={'GPU': 0})))\n",
        "def get():\n    return tf.Session(config=tf.ConfigProto())\n\nK.set_session(get(print(1)))\n",
        "sess = tf.InteractiveSession()\nK.set_session(sess)\nprint(some.eval({there: 1}))\n",
        "sess = tf.InteractiveSession()\nK.set_session(sess)\nstep.run()\n",
    ],
)
def test_what_has_no_counterpart_keeps_the_session(session: str) -> None:
    assert settled(HEAD + session + MODEL) == ([], HEAD + session + MODEL)


def test_the_devices_are_said() -> None:
    config = "K.set_session(tf.Session(config=tf.ConfigProto({})))\n"
    titles, program = settled(HEAD + config.format("device_count={'GPU': 1, 'CPU': 8}") + MODEL)
    assert titles == ["apply the settings without a session"]
    assert "tf.config.set_visible_devices(tf.config.list_physical_devices('GPU')[:1], 'GPU')\n" in program
    _, program = settled(HEAD + config.format("gpu_options=tf.GPUOptions(visible_device_list='2')") + MODEL)
    assert "tf.config.set_visible_devices(tf.config.list_physical_devices('GPU')[2:3], 'GPU')\n" in program


@pytest.mark.parametrize(
    ("session", "title"),
    [
        (
            (
                "sess = tf.Session(graph=tf.get_default_graph(), config=tf.ConfigProto(intra_op_parallelism_threads=1))\n"
                "K.set_session(sess)\n"
            ),
            "apply the settings without a session",
        ),
        (
            (
                "if K.backend() == 'tensorflow':\n    config = tf.ConfigProto(allow_soft_placement=True)\n"
                "    config.gpu_options.per_process_gpu_memory_fraction = 0.3\n    K.set_session(tf.Session(config=config))\n"
            ),
            "apply the settings without a session",
        ),
        (
            (
                "config = tf.ConfigProto()\nconfig.gpu_options.allocator_type = 'BFC'\n"
                "config.gpu_options.allow_growth = True\nK.tensorflow_backend.set_session(tf.Session(config=config))\n"
            ),
            "apply the settings without a session, without allocator_type",
        ),
    ],
)
def test_sessions_as_programs_have_them(session: str, title: str) -> None:
    titles, program = settled(HEAD + session + MODEL)
    assert titles == [title]
    assert "tf.config." in program and "Session" not in program


def test_settings_are_said_at_the_start_of_a_function_that_runs_first() -> None:
    main = "def main():\n    config = tf.ConfigProto()\n    config.gpu_options.allow_growth = True\n    K.set_session(tf.Session(config=config))\n"
    end = "    return Sequential([Dense(1)])\n\n\nmain()\n"
    titles, program = settled(HEAD + main + end)
    assert titles == ["apply the settings without a session"]
    assert "    for gpu in tf.config.list_physical_devices('GPU'):\n        tf.config" in program
    titles, program = settled(HEAD + main.replace("    config =", "    Dense(1)\n    config =", 1) + end)
    assert titles == ["remove the session, without allow_growth"]
    assert "config" not in program
    titles, _ = settled(HEAD + main + end + "main()\n")
    assert titles == ["remove the session, without allow_growth"]


@pytest.mark.parametrize(
    ("first", "early"), [("seeds()", True), ("build()", False), ("Net()", False), ("twice()", False)]
)
def test_what_a_function_of_the_program_runs_before_is_looked_into(first: str, early: bool) -> None:
    own = (
        "class Net(Sequential):\n    pass\n\n\ndef seeds():\n    np.random.seed(1)\n\n\ndef build():\n    return Dense(1)\n\n\n"
        "def twice():\n    build()\n\n\n"
    )
    setup = "def setup():\n    K.set_session(tf.Session(config=tf.ConfigProto(allow_soft_placement=True)))\n\n\n"
    main = f"def main():\n    {first}\n    setup()\n\n\nmain()\n"
    titles, program = settled(HEAD + own + setup + main)
    assert ("set_soft_device_placement" in program) == early
    assert titles == [
        "apply the settings without a session" if early else "remove the session, without allow_soft_placement"
    ]


def test_a_function_of_nothing_but_the_session_stays_a_function() -> None:
    setup = "def setup():\n    config = tf.ConfigProto()\n    K.set_session(tf.Session(config=config))\n\n\nsetup()\n"
    titles, program = settled(HEAD + setup + MODEL)
    assert titles == ["remove the session"]
    compile(program, "program.py", "exec")


def test_sessions_of_compat_v1_that_keras_is_not_given_still_work() -> None:
    healthy = """\
from tensorflow.compat.v1 import ConfigProto, InteractiveSession
from keras.layers import Dense

config = ConfigProto()
config.gpu_options.allow_growth = True
session = InteractiveSession(config=config)
print(Dense(1))
"""
    assert settled(healthy) == ([], healthy)
    assert not list(migration(Subject(Source.from_bytes(healthy.encode(), "program.py"))))
    given = healthy.replace("print", "import keras\nkeras.backend.set_session(session)\nprint")
    titles, program = settled(given)
    assert titles and "InteractiveSession" not in program.partition("\n")[2]
