"""Stubs for pretrained weights, downloaded or from a missing file: networks keep their random initialization."""

from dnnfix.reproduce.standins.wrapping import made_arguments, made_wraps

_made_downloads: dict = {}


def made_weights_file(original):
    """Stub for Keras's `get_file`: files of weights are only named, the index of classes is written."""

    @made_wraps(original)
    def get_file(*args, **kwargs):
        given = made_arguments(original, args, kwargs) or {}
        name = str(given.get("fname") or str(given.get("origin")).rpartition("/")[2])
        if name.endswith("imagenet_class_index.json"):
            return _made_class_index()
        if not name.endswith((".h5", ".hdf5", ".keras", ".weights.h5")):
            return original(*args, **kwargs)
        path = "made/" + name.rpartition("/")[2]
        _made_downloads[path] = True
        return path

    return get_file


def _made_class_index():
    """A file that names the 1000 classes of ImageNet: made-up names."""
    import json
    import os

    os.makedirs("made", exist_ok=True)
    path = os.path.join("made", "imagenet_class_index.json")
    with open(path, "w") as file:
        json.dump({str(number): ["n%08d" % number, "class_%d" % number] for number in range(1000)}, file)
    return path


def made_weights_left(*paths):
    """Stub for a model class of Keras: weights from these missing files are not loaded."""

    def stand_in(cls):
        import os

        owner = next(base for base in cls.__mro__ if "load_weights" in vars(base))
        original = owner.load_weights

        def load_weights(self, filepath, *args, **kwargs):
            path = str(filepath)
            if (path in _made_downloads or path in paths) and not os.path.exists(path):
                return None
            return original(self, filepath, *args, **kwargs)

        owner.load_weights = made_wraps(original)(load_weights)
        return cls

    return stand_in


def made_checkpoint_left(cls):
    """Stub for TensorFlow's `Saver`: without a checkpoint, variables that have no value yet get their first one."""
    original = cls.restore

    def restore(self, sess, save_path):
        import tensorflow.compat.v1 as tf

        if save_path is not None and tf.train.checkpoint_exists(save_path):
            return original(self, sess, save_path)
        with sess.graph.as_default():
            variables = tf.global_variables()
            known = sess.run([tf.is_variable_initialized(variable) for variable in variables])
            sess.run(tf.variables_initializer([one for one, there in zip(variables, known) if not there]))
        return None

    cls.restore = made_wraps(original)(restore)
    return cls


class _MadeWeights(dict):
    """A file of weights that nobody has. What is asked of it by name is such a thing too, numbers are 0."""

    def __missing__(self, key):
        text = str(key).lower()
        counts = ("epoch", "step", "iter", "loss", "acc", "best", "prec", "score", "lr", "err")
        state = any(word in text for word in ("state", "model", "optim", "dict", "weight", "net", "sched", "_par"))
        return 0 if any(word in text for word in counts) and not state else _MadeWeights()

    def __contains__(self, key):
        return True

    def get(self, key, default=None):
        return self[key]


def made_weights_from_web(original):
    """Stub for PyTorch's functions that download weights."""

    @made_wraps(original)
    def load(*args, **kwargs):
        return _MadeWeights()

    return load


def made_loaded_network(path, outputs):
    """Stub for Keras's `load_model` with a missing file: a network of one layer that accepts rows of any length."""

    def stand_in(original):
        import os

        @made_wraps(original)
        def load_model(filepath, *args, **kwargs):
            if str(filepath) != path or os.path.exists(path):
                return original(filepath, *args, **kwargs)
            import keras

            ending = "softmax" if outputs > 1 else "sigmoid"
            return keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(outputs, activation=ending)])

        return load_model

    return stand_in


def made_saved_weights(*paths):
    """Stub for `torch.load`, for files that are nowhere."""

    def stand_in(original):
        import os

        @made_wraps(original)
        def load(f, *args, **kwargs):
            path = os.fspath(f) if isinstance(f, (str, os.PathLike)) else None
            if path in paths and not os.path.exists(path):
                return _MadeWeights()
            return original(f, *args, **kwargs)

        return load

    return stand_in


def made_state_kept(cls):
    """Stub for a class of PyTorch with a state: synthetic weights leave it unchanged."""
    original = cls.load_state_dict

    def load_state_dict(self, state_dict, *args, **kwargs):
        if isinstance(state_dict, _MadeWeights):
            state_dict = self.state_dict()
        return original(self, state_dict, *args, **kwargs)

    cls.load_state_dict = made_wraps(original)(load_state_dict)
    return cls


def made_without_weights(original):
    """Stub for `timm.create_model`: the network with random weights."""

    @made_wraps(original)
    def create_model(*args, **kwargs):
        kwargs.pop("pretrained", None)
        return original(args[0], False, *args[2:], **kwargs) if len(args) > 1 else original(*args, **kwargs)

    return create_model


def made_hub(original):
    """Stub for `torch.hub.load`: networks of torchvision are built by the package that is installed."""

    @made_wraps(original)
    def load(repo_or_dir, model, *args, **kwargs):
        if not str(repo_or_dir).startswith("pytorch/vision"):
            return original(repo_or_dir, model, *args, **kwargs)
        import torchvision

        for name in ("source", "trust_repo", "force_reload", "verbose", "skip_validation"):
            kwargs.pop(name, None)
        return getattr(torchvision.models, model)(*args, **kwargs)

    return load
