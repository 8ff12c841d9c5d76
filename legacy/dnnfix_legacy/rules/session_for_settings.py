"""`set_session(tf.Session(config=config))`: a session made only for the settings of Keras."""

from __future__ import annotations

from collections.abc import Iterator

from dnnfix.api import ApiChange, Hit, Subject
from dnnfix.detect.versioning.migration import NO_CLAIMS, Claims
from dnnfix_legacy.graphs.programs import session_alone
from dnnfix_legacy.graphs.sessions import SESSIONS


class SessionForSettings(ApiChange):
    """Programs of Keras 2 made a session of TensorFlow to say how much of the GPU or how many threads are taken.

    Keras 3 has no session to be given, and TensorFlow 2 none to be made. The settings are said by functions of
    `tf.config`: memory that grows, the numbers of threads, the devices. A share of the memory (TensorFlow 2 knows sizes
    only) becomes memory that grows. Such a session also gave the weights their first values, which Keras 3 does itself.
    TensorFlow takes settings only before its first operation: where something of Keras may run before them, those of
    memory and threads go, as the patch says, and those of devices keep the session. So do settings that TensorFlow 2 has
    no more, and a function that does more than make the session. A session that the program uses for more, also without
    its name (`y.eval()`), is left to the templates for graphs, and one of `tensorflow.compat.v1` still works.

    Fix safety: unsafe: memory that is taken, threads and devices can differ from what they were.

    References: https://keras.io/guides/migrating_to_keras_3/, https://www.tensorflow.org/guide/gpu,
    https://www.tensorflow.org/api_docs/python/tf/config/threading.
    """

    code = "DNF547"
    name = "session-for-settings"
    message = "Keras 3 has no session; TensorFlow 2 has functions for these settings"
    triggers = ("set_session", "Session", "InteractiveSession")

    def claims(self, subject: Subject) -> Claims:
        """The names of sessions, and what stands in the statements that go along with the session."""
        session = session_alone(subject.source)
        return Claims(SESSIONS, session.sites) if session is not None and session.sites else NO_CLAIMS

    def hits(self, subject: Subject) -> Iterator[Hit]:
        """Each place where the session is given to Keras, or made and given nowhere."""
        settings = session_alone(subject.source)
        if settings is None or settings.decline:
            return  # what is used of sessions is spoken of as names that are gone
        for place in settings.places:
            yield Hit(
                subject.source.site(place),
                self.message,
                title=settings.title,
                edits=settings.edits,
                removed={"keras": "3.0", "tensorflow": "2.0"},
            )

    programs = """
=== example: memory that grows
import tensorflow as tf
- from keras.backend.tensorflow_backend import set_session
from keras.models import Sequential
from keras.layers import Dense

- config = tf.ConfigProto()
- config.gpu_options.allow_growth = True  # not all of it
- config.log_device_placement = False
- sess = tf.Session(config=config)
- set_session(sess)
+ for gpu in tf.config.list_physical_devices('GPU'):
+     tf.config.experimental.set_memory_growth(gpu, True)
+ tf.debugging.set_log_device_placement(False)

model = Sequential([Dense(1, input_shape=(4,))])

=== example: in one expression, by the module, with one thread
import numpy as np
import tensorflow as tf
from keras import backend as K
from keras.layers import Dense

np.random.seed(1)
- K.set_session(tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)))
- tf.set_random_seed(1)
+ tf.config.threading.set_intra_op_parallelism_threads(1)
+ tf.config.threading.set_inter_op_parallelism_threads(1)
+ tf.random.set_seed(1)
print(Dense(1), K.floatx())

=== example: a share of the memory
import tensorflow as tf
from keras.layers import Dense
- import keras.backend.tensorflow_backend as KTF

- gpu_options = tf.GPUOptions(per_process_gpu_memory_fraction=0.3)
- session = tf.InteractiveSession(config=tf.ConfigProto(gpu_options=gpu_options))
- KTF.set_session(session)
+ for gpu in tf.config.list_physical_devices('GPU'):
+     tf.config.experimental.set_memory_growth(gpu, True)
print(Dense(1))

=== example: in a function, and the first values of the weights
- import tensorflow as tf
- from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential


def build():
-     session = tf.Session()
-     K.set_session(session)
    model = Sequential([Dense(1, input_shape=(4,))])
-     session.run(tf.global_variables_initializer())
    return model


build().predict([[1, 2, 3, 4]])

=== example: a function that makes the session
import os
import tensorflow as tf
import keras
- import keras.backend.tensorflow_backend as KTF


- def get_session(gpu_fraction=0.3):
-     num_threads = os.environ.get("OMP_NUM_THREADS")
-     gpu_options = tf.GPUOptions(per_process_gpu_memory_fraction=gpu_fraction)
-     if num_threads:
-         return tf.Session(config=tf.ConfigProto(gpu_options=gpu_options, intra_op_parallelism_threads=num_threads))
-     else:
-         return tf.Session(config=tf.ConfigProto(gpu_options=gpu_options))


- KTF.set_session(get_session())
+ for gpu in tf.config.list_physical_devices('GPU'):
+     tf.config.experimental.set_memory_growth(gpu, True)
print(os.name, keras.layers.Dense(1))

=== reject: TensorFlow 2
import tensorflow as tf
from keras.layers import Dense

for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)
print(Dense(1))

=== reject: a session that is used for more
import tensorflow as tf
from keras import backend as K
from keras.layers import Dense

x = tf.placeholder(tf.float32, [None, 4])
y = Dense(1)(x)
session = tf.Session()
K.set_session(session)
print(session.run(y, {x: [[1, 2, 3, 4]]}))

=== reject: a session of compat.v1, which still works
from tensorflow.compat.v1 import ConfigProto, InteractiveSession
from keras.layers import Dense

config = ConfigProto()
config.gpu_options.allow_growth = True
session = InteractiveSession(config=config)
print(Dense(1))

=== reject: the function that makes the session sets the seeds
import random
import numpy as np
import tensorflow as tf
from keras import backend as K


def seeded_session():
    random.seed(1)
    np.random.seed(1)
    return tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=1))


K.set_session(seeded_session())

=== reject: a session of another library
import keras
from requests import Session

session = Session()
session.headers["a"] = "b"
keras.backend.set_floatx("float32")
"""
