"""Harness for torch and Keras: constructs, feeds and trains networks that a program defines and never uses.

A harness must not cause a failure of its own: an input of unknown form is not fed, and the loss follows from the form
of the output. Where only the input size is unknown, sizes are tried out beforehand, on a copy and unseen by the probe.
"""

from dnnfix.reproduce.standins.learnable import made_images, made_sequences, made_table, made_targets, made_tokens


def made_network(build, feeds, shapes=None, classifier=False, guesses=0):
    """Train the model or layer that `build` returns on synthetic data for a moment; prints to standard error why where
    it cannot.

    `feeds` tells for each class of the program what its `forward` does first with its inputs. `shapes` are the stated
    shapes of the inputs, without the batch. `classifier` says that the program speaks of classes. Sizes of which some
    are guessed may not go together, and what fails over that is not the program's fault.
    """
    import sys

    try:
        model = build()
    except (ValueError, RuntimeError, AssertionError, IndexError, ZeroDivisionError) as error:
        if not guesses:
            raise
        return _made_says("nothing could be built with guessed sizes: %s" % error)
    torch = sys.modules.get("torch")
    if hasattr(model, "fit") and hasattr(model, "layers"):
        return _made_keras_training(model, feeds, shapes, guesses > 1)
    if hasattr(model, "compute_output_shape") and hasattr(model, "weights"):
        return _made_keras_layer(model, shapes)
    if torch is not None and isinstance(model, torch.nn.Module):
        return _made_torch_training(model, feeds, shapes, classifier, guesses > 1)
    return _made_says("what was built is no model: %s" % type(model).__name__)


def _made_says(text):
    import sys

    sys.stderr.write("dnnfix reproduce: %s\n" % text)


def _made_steps():
    """How many steps to train, and what tells that the training is over."""
    import builtins

    over = getattr(builtins, "__dnnfix_over__", None)
    return (60, lambda: False) if over is None else (400, over)


def made_is_over():
    """Whether a run has trained as much as it was asked to."""
    return _made_steps()[1]()


# What goes into a torch module: a list of sizes, with "B" for the batch, "S" and "L" for free sizes and lengths, and
# the number of different tokens where it takes integers.


def _made_own(module, feeds):
    """What the table says of the class of a module, where that is one of the program's."""
    for kind in type(module).__mro__:
        library = kind.__module__.partition(".")[0] in ("torch", "keras", "tensorflow", "builtins")
        if kind.__name__ in feeds and not library:
            return feeds[kind.__name__]
    return None


def _made_form(module, feeds, place=0, depth=0):
    """The form of one input of a module, as (sizes, tokens); None where that cannot be told."""
    if depth > 12:
        return None
    inputs = _made_own(module, feeds)
    if inputs is not None:
        if place >= len(inputs):
            return None
        _name, operations, layer, inner_place, rank, known, _required = inputs[place]
        inner = _made_attribute(module, layer) if known and layer else None
        form = _made_form(inner, feeds, inner_place, depth + 1) if inner is not None else None
        form = _made_undone(form, operations)
        if form is not None and rank is not None and not operations and len(form[0]) < rank:
            form = (form[0][:1] + ["L"] * (rank - len(form[0])) + form[0][1:], form[1])
        return form
    name = _made_kind(module)
    children = list(module.children())
    if name in ("Sequential", "ModuleList", "DataParallel"):
        return _made_form_of_chain(children, feeds, depth)
    if place:
        return None
    if not name and len(children) == 1:  # a class of another file around one layer
        return _made_form(children[0], feeds, 0, depth + 1)
    return _made_library_form(module, name)


def _made_kind(module):
    """The layer of torch that a module is, by its name; none where a class of the user's says what goes into it."""
    for kind in type(module).__mro__:
        if kind.__module__.partition(".")[0] == "torch":
            return kind.__name__
        if "forward" in vars(kind):
            break
    return ""


def _made_form_of_chain(layers, feeds, depth):
    """The form that the first layer of a chain with sizes of its own takes; what does not change a shape is passed."""
    flat = False
    for layer in layers:
        if _made_kind(layer) == "Flatten":
            flat = True
            continue
        form = _made_form(layer, feeds, 0, depth + 1)
        if form is not None:
            return form if not flat or len(form[0]) == 2 else None
        if list(layer.parameters()) or _made_own(layer, feeds) is not None:
            return None
    return None


def _made_library_form(module, name):
    """The form that a layer of torch takes."""
    if name.startswith(("Conv", "LazyConv")) and name[-2:] in ("1d", "2d", "3d"):
        free = {"1": ["L"], "2": ["S", "S"], "3": ["V", "V", "V"]}[name[-2]]
        if "Transpose" in name:
            free = ["Z"] * len(free)
        return ["B", module.in_channels] + free, None
    if name in ("Linear", "NonDynamicallyQuantizableLinear"):
        return ["B", module.in_features], None
    if name in ("BatchNorm2d", "InstanceNorm2d", "SyncBatchNorm"):
        return ["B", module.num_features, "S", "S"], None
    if name == "BatchNorm1d":
        return ["B", module.num_features], None
    if name == "BatchNorm3d":
        return ["B", module.num_features, "V", "V", "V"], None
    if name == "GroupNorm":
        return ["B", module.num_channels, "S", "S"], None
    if name == "LayerNorm":
        return ["B"] + list(module.normalized_shape), None
    if name in ("Embedding", "EmbeddingBag"):
        return ["B", "L"], module.num_embeddings
    if name in ("LSTM", "GRU", "RNN"):
        return (["B", "L"] if module.batch_first else ["L", "B"]) + [module.input_size], None
    if name in ("LSTMCell", "GRUCell", "RNNCell"):
        return ["B", module.input_size], None
    if name == "MultiheadAttention":
        return (["B", "L"] if getattr(module, "batch_first", False) else ["L", "B"]) + [module.embed_dim], None
    if name in ("TransformerEncoder", "TransformerEncoderLayer"):
        layer = module.layers[0] if name == "TransformerEncoder" else module
        return _made_library_form(layer.self_attn, "MultiheadAttention")
    return None


def _made_attribute(module, path):
    """What stands at a path of attributes and indices."""
    for part in path.split("."):
        try:
            if part.isdigit():
                module = list(module.values())[int(part)] if hasattr(module, "values") else module[int(part)]
            else:
                module = getattr(module, part)
        except (AttributeError, IndexError, KeyError, TypeError):
            return None
    return module if hasattr(module, "children") else None


def _made_undone(form, operations):
    """The form before operations on it; None where that cannot be told."""
    for name, numbers in reversed(operations):
        if form is None:
            return None
        sizes, tokens = list(form[0]), form[1]
        rank = len(sizes)
        if name == "flatten":
            if rank != 2:
                return None
        elif name == "reshape":
            total = 1
            for number in numbers:
                total *= number
            sizes = ["B", total]
        elif name == "unsqueeze":
            axis = numbers[0] + rank if numbers[0] < 0 else numbers[0]
            if not 0 <= axis < rank:
                return None
            del sizes[axis]
        elif name == "squeeze":
            sizes.insert(numbers[0] + rank + 1 if numbers[0] < 0 else numbers[0], 1)
        elif name == "permute" and len(numbers) == rank:
            for place, axis in enumerate(numbers):
                sizes[axis] = form[0][place]
        elif name == "transpose" and len(numbers) == 2 and max(numbers) < rank:
            sizes[numbers[0]], sizes[numbers[1]] = sizes[numbers[1]], sizes[numbers[0]]
        elif name != "integers":
            return None
        form = sizes, tokens
    return form


_made_sizes = (32, 28, 64, 224, 227, 299, 96, 128, 48, 84, 256, 16, 100, 50, 150, 200, 512)
_made_lengths = (20, 32, 50, 100, 10, 64, 128, 16, 8, 256, 512, 30, 40, 784, 1000)
_made_volumes = (16, 32, 8, 64)


def _made_choices(model, forms):
    """The sizes to try, as dictionaries of what B, S, L, Z and V stand for, the usual ones first."""
    free = {size for sizes, _tokens in forms for size in sizes if isinstance(size, str)}
    own = getattr(model, "batch_size", None)
    batches = [own] if isinstance(own, int) and 0 < own <= 64 else [8, 1]
    ranges = {"S": _made_sizes, "L": _made_lengths, "V": _made_volumes, "Z": (1, 4, 7, 8, 32)}
    varied = [name for name in "SLVZ" if name in free]
    longest = max([len(ranges[name]) for name in varied] or [1])
    for number in range(longest):
        for batch in batches:
            choice = {name: ranges[name][min(number, len(ranges[name]) - 1)] for name in varied}
            choice["B"] = batch
            yield choice


def _made_inputs(forms, choice, samples, classes, seed=0):
    """Arrays with the samples along the first axis, the axes on which the batches lie, and class indices."""
    import numpy

    arrays, axes, labels = [], [], None
    for number, (sizes, tokens) in enumerate(forms):
        axis = sizes.index("B") if "B" in sizes else 0
        shape = [choice.get(size, size) for place, size in enumerate(sizes) if place != axis]
        flat = int(numpy.prod(shape)) if shape else 1
        if tokens is not None:
            x, y = made_tokens(samples, max(1, flat), tokens, classes, seed + number, first=1)
        elif len(shape) > 2:
            x, y = made_images(samples, tuple(shape), classes, seed + number, "float32")
        elif len(shape) == 2:
            x, y = made_sequences(samples, shape[0], shape[1], classes, seed + number)
        else:
            x, y = made_table(samples, max(1, flat), classes, seed + number)
        arrays.append(x.reshape([samples] + shape))
        axes.append(axis)
        labels = y if labels is None else labels
    return arrays, axes, labels


def _made_batch(arrays, axes, rows):
    import numpy
    import torch

    return [
        torch.from_numpy(numpy.ascontiguousarray(numpy.moveaxis(array[rows], 0, axis)))
        for array, axis in zip(arrays, axes)
    ]


def _made_rehearsed(model, inputs):
    """What a copy of a model gives for inputs, and the error where it fails; nobody sees it, and no random number is used."""
    import builtins
    import contextlib
    import copy
    import io

    import torch

    unseen = getattr(builtins, "__dnnfix_rehearse__", contextlib.nullcontext)
    with unseen(), torch.random.fork_rng(devices=[]), contextlib.redirect_stdout(io.StringIO()):
        try:
            with torch.no_grad():
                return copy.deepcopy(model)(*inputs), None
        except Exception as error:  # noqa: BLE001 - whatever the program raises
            return None, error


def _made_cause(error):
    """What an error says, without the shapes in it that follow from the size of the input."""
    import re

    text = re.sub(r"\[[^\]]*\]|got input of size.*", "", str(error))
    return type(error).__name__ + ": " + text


def _made_torch_training(model, feeds, shapes, classifier, guessed):
    inputs = _made_own(model, feeds)
    needed = [number for number, one in enumerate(inputs) if one[6]] if inputs is not None else [0]
    forms, parts = [], []  # the parts are what a call takes in order: the number of a form, or what makes a state
    for number in needed:
        form = _made_form(model, feeds, number)
        if shapes and number < len(shapes):
            form = (["B"] + list(shapes[number]), form[1] if form is not None else None)
        maker = _made_state_maker(model, inputs[number]) if inputs is not None and form is None else None
        if maker is None and form is None:
            return _made_says(
                "%s is built, but what goes into its %s is not told by anything"
                % (type(model).__name__, inputs[number][0] if inputs is not None else "forward")
            )
        parts.append(maker if form is None else len(forms))
        forms += [form] if form is not None else []
    if not forms:
        return _made_says("%s takes no input that could be made" % type(model).__name__)
    chosen, output, causes = None, None, []
    for choice in _made_choices(model, forms):
        arrays, axes, _labels = _made_inputs(forms, choice, choice["B"], 2)
        given = _made_arguments(_made_batch(arrays, axes, slice(None)), parts, choice["B"])
        output, error = _made_rehearsed(model, given)
        if error is None:
            chosen = choice
            break
        causes.append((choice["B"], _made_cause(error)))
        if len(causes) >= 8 and len({cause for batch, cause in causes if batch == causes[0][0]}) == 1:
            break
    if chosen is None:
        alike = {cause for batch, cause in causes if batch == causes[0][0]}
        if len(alike) > 1 or guessed:
            return _made_says("no usual sizes go through %s; state the shape of its input" % type(model).__name__)
        chosen = next(_made_choices(model, forms))  # it fails whatever the size: that is the program's own doing
    return _made_trained_torch(model, forms, parts, chosen, output, classifier)


def _made_arguments(tensors, parts, batch):
    """What a call takes, in order."""
    return [tensors[part] if isinstance(part, int) else part(batch) for part in parts]


def _made_state_maker(model, one):
    """What makes the hidden state that a recurrent model is called with; None for an input that is none."""
    import inspect

    import torch

    name, _operations, path, place = one[:4]
    layer = _made_attribute(model, path) if path else None
    kind = type(layer).__name__
    recurrent = place == 1 and kind in ("LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell")
    if not recurrent and not name.lower().startswith(("hid", "prev", "state", "h_")):
        return None
    own = next((getattr(model, n) for n in ("init_hidden", "initHidden", "init_state") if hasattr(model, n)), None)
    if own is not None:
        count = len(inspect.signature(own).parameters)
        return (lambda batch: own(batch)) if count else (lambda batch: own())
    if not recurrent:
        return None

    def zeros(batch):
        if kind.endswith("Cell"):
            state = torch.zeros(batch, layer.hidden_size)
        else:
            state = torch.zeros(layer.num_layers * (2 if layer.bidirectional else 1), batch, layer.hidden_size)
        return (state, state.clone()) if kind.startswith("LSTM") else state

    return zeros


def _made_tensors(output):
    """The floating tensors of an output, whatever it is packed in."""
    if hasattr(output, "is_floating_point"):
        return [output] if output.is_floating_point() else []
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, (list, tuple)):
        return [tensor for part in output for tensor in _made_tensors(part)]
    return []


def _made_trained_torch(model, forms, parts, choice, output, classifier):
    import time

    import torch

    batch = choice["B"]
    count = batch * 12
    tensors = _made_tensors(output)
    width = tensors[0].shape[-1] if len(tensors) == 1 and tensors[0].dim() == 2 else 0
    arrays, axes, labels = _made_inputs(forms, choice, count, width if 1 < width <= 1000 else 2)
    smooth = 1.0 / (1.0 + _made_exponential(-made_targets(arrays[0], 0)))
    model.train()
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(parameters, lr=0.002) if parameters else None
    steps, over = _made_steps()
    begun = time.monotonic()
    for step in range(steps):
        if over():
            break
        rows = slice(step % 12 * batch, step % 12 * batch + batch)
        result = model(*_made_arguments(_made_batch(arrays, axes, rows), parts, batch))
        if optimizer is None:
            break
        loss = _made_loss(result, torch.from_numpy(labels[rows]), torch.from_numpy(smooth[rows]), classifier)
        if loss is None or not loss.requires_grad:
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 2:  # a large network gets fewer steps, so that it ends within the time of a run
            steps = min(steps, max(6, int(24.0 / max(1e-3, time.monotonic() - begun))))
    return model


def _made_exponential(values):
    import numpy

    return numpy.exp(numpy.clip(values, -30, 30)).astype("float32")


def _made_loss(result, labels, smooth, classifier):
    """The loss that the form of an output asks for; a plain regression where it could be anything."""
    import torch

    tensors = _made_tensors(result)
    if not tensors:
        return None
    first = tensors[0]
    if len(tensors) == 1 and first.dim() == 0:
        return first
    if len(tensors) == 1 and first.dim() == 2 and first.shape[0] == len(labels) and first.shape[1] > 1:
        values = first.detach()
        total = values.sum(dim=1)
        if bool((values >= 0).all()) and bool(((total - 1).abs() < 1e-3).all()):
            wanted = torch.zeros_like(first).scatter_(1, labels.view(-1, 1), 1.0)
            return ((first - wanted) ** 2).sum(dim=1).mean()
        if bool((values <= 0).all()) and bool(((values.exp().sum(dim=1) - 1).abs() < 1e-3).all()):
            return torch.nn.functional.nll_loss(first, labels)
        last = type(first.grad_fn).__name__
        if classifier and ("Addmm" in last or "Linear" in last or last.startswith("Mm")):
            return torch.nn.functional.cross_entropy(first, labels)
    total = None
    for tensor in tensors:
        if not tensor.requires_grad:
            continue
        axis = next((place for place, size in enumerate(tensor.shape) if size == len(smooth)), None)
        wanted = (
            smooth.to(tensor.dtype).view([-1 if place == axis else 1 for place in range(tensor.dim())]) * 0.8 + 0.1
            if axis is not None
            else torch.full_like(tensor, 0.5)
        )
        part = ((tensor - wanted.expand_as(tensor)) ** 2).mean()
        total = part if total is None else total + part
    return total


# Keras


def _made_keras_shapes(model, shapes):
    """The shapes of a built model's inputs, without the batch; a free size becomes a usual one."""
    found = []
    for number, one in enumerate(model.inputs):
        shape = tuple(one.shape)[1:]
        free = {1: 20, 2: 20, 3: 32, 4: 16}.get(len(shape), 8)
        stated = shapes[number] if shapes and number < len(shapes) and len(shapes[number]) == len(shape) else shape
        found.append(tuple(free if size is None else int(size) for size in stated))
    return found


def _made_keras_training(model, feeds, shapes, guessed=False):
    import numpy

    tokens = [layer.input_dim for layer in model.layers if type(layer).__name__ == "Embedding"]
    if getattr(model, "inputs", None):
        wanted = _made_keras_shapes(model, shapes)
        outputs = [tuple(one.shape) for one in model.outputs]
    elif shapes:
        wanted, outputs = list(shapes), None
    else:
        wanted, outputs = _made_keras_unbuilt(model, feeds), None
        if wanted is None:
            return _made_says("%s is built, but what goes into it is not told by anything" % type(model).__name__)
    integers = [bool(tokens) and (len(shape) == 1 or outputs is None) for shape in wanted]
    size = max(numpy.prod(shape) for shape in wanted)
    count, batch = (256, 32) if size <= 10000 else (64, 8) if size <= 30000 else (12, 1)
    forms = [(["B"] + list(s), min(tokens) if whole else None) for s, whole in zip(wanted, integers)]
    arrays, _axes, _labels = _made_inputs(forms, {}, count, 2)
    if outputs is None:
        try:
            result = model(arrays[0][:8] if len(arrays) == 1 else [array[:8] for array in arrays])
        except (ValueError, RuntimeError, AssertionError) as error:
            if not guessed:
                raise
            return _made_says("nothing goes through %s with guessed sizes: %s" % (type(model).__name__, error))
        outputs = [tuple(one.shape) for one in (result if isinstance(result, (list, tuple)) else [result])]
    losses = _made_keras_losses(model, outputs)
    targets = [_made_keras_target(arrays[0], shape, loss) for shape, loss in zip(outputs, losses)]
    epochs = 3 if _made_steps()[0] == 60 else 100
    model.fit(
        arrays if len(arrays) > 1 else arrays[0],
        targets if len(targets) > 1 else targets[0],
        batch_size=batch,
        epochs=epochs,
        verbose=0,
        callbacks=[_made_time_limit()],
    )
    return model


def _made_time_limit():
    """Ends the training of a large network after some seconds, so that it fits into the time of a run."""
    import time

    import keras

    class Limit(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            self.begun, self.done = time.monotonic(), 0

        def on_train_batch_end(self, batch, logs=None):
            self.done += 1
            passed = time.monotonic() - self.begun
            if passed + passed / self.done > 5.0:  # the next batch would end later than that
                self.model.stop_training = True

    return Limit()


def _made_keras_unbuilt(model, feeds):
    """The shape of the input of a model that has seen none, after the first layer that takes it."""
    inputs = _made_own(model, feeds)
    if inputs is None:
        layer = model.layers[0] if type(model).__name__ == "Sequential" and model.layers else None
    else:
        needed = [one for one in inputs if one[6]]
        if len(needed) != 1 or not needed[0][5] or needed[0][1]:
            return None
        layer = model
        for part in (needed[0][2] or "?").split("."):
            layer = layer[int(part)] if part.isdigit() and hasattr(layer, "__getitem__") else getattr(layer, part, None)
    name = type(layer).__name__
    if name == "Sequential" and layer is not model:
        return _made_keras_unbuilt(layer, {})
    known = {
        "Dense": (16,),
        "Embedding": (20,),
        "LSTM": (20, 8),
        "GRU": (20, 8),
        "SimpleRNN": (20, 8),
        "Conv1D": (64, 8),
    }
    if name == "Flatten":
        return [(28, 28)]
    if name.startswith(("Conv2D", "SeparableConv2D", "DepthwiseConv2D")):
        return [(32, 32, 3)]
    return [known[name]] if name in known else None


def _made_keras_losses(model, outputs):
    """The loss of each output by its name; a model that is not compiled is compiled for what its last layer gives."""
    if getattr(model, "optimizer", None) is None:
        chosen = []
        for number, shape in enumerate(outputs):
            layer = model.layers[-1] if len(outputs) == 1 and model.layers else None
            name = getattr(getattr(layer, "activation", None), "__name__", "")
            several = (shape[-1] or 1) > 1
            chosen.append(
                "categorical_crossentropy"
                if name == "softmax" and several
                else "binary_crossentropy"
                if name == "sigmoid"
                else "mean_squared_error"
            )
        model.compile(optimizer="adam", loss=chosen if len(chosen) > 1 else chosen[0])
        return chosen
    loss = getattr(model, "loss", None)
    if isinstance(loss, dict):
        loss = list(loss.values())
    losses = list(loss) if isinstance(loss, (list, tuple)) else [loss] * len(outputs)
    names = [one if isinstance(one, str) else getattr(one, "__name__", "") or type(one).__name__ for one in losses]
    return [name.lower().replace("_", "") for name in names]


def _made_keras_target(x, shape, loss):
    """Targets of the kind that a loss wants, for outputs of a shape."""
    import numpy

    shape = tuple(20 if size is None else int(size) for size in shape[1:])
    name = loss.replace("_", "")
    places = int(numpy.prod(shape[:-1])) if len(shape) > 1 else 1
    classes = shape[-1] if shape else 1
    if "categorical" in name:
        labels = made_targets(x, classes)
        labels = numpy.repeat(labels, places).reshape((len(x),) + shape[:-1])
        return labels if "sparse" in name else numpy.eye(classes, dtype="float32")[labels]
    smooth = 1.0 / (1.0 + _made_exponential(-made_targets(x, 0)))
    if "binary" in name or "hinge" in name:
        smooth = (smooth > 0.5).astype("float32")
    wanted = numpy.repeat(smooth, int(numpy.prod(shape)) if shape else 1).reshape((len(x),) + shape)
    return wanted.astype("float32")


def _made_keras_layer(layer, shapes):
    """Put a layer into a model of its own and train that."""
    import sys

    if not shapes:
        return _made_says("%s is built, but what goes into it is not told by anything" % type(layer).__name__)
    keras = sys.modules.get("keras") or sys.modules["tensorflow"].keras
    inputs = [keras.Input(shape=tuple(shape)) for shape in shapes]
    model = keras.Model(inputs, layer(inputs[0] if len(inputs) == 1 else inputs))
    return _made_keras_training(model, {}, shapes)


# Functions that train, alone


def made_training_loader(shape, classes=10, batch=16, samples=256, tokens=0, floats=False):
    """A data loader of torch with learnable samples: images, rows or token ids with class indices or float targets."""
    import torch

    form = (["B"] + list(shape), tokens or None)
    arrays, _axes, labels = _made_inputs([form], {}, samples, max(2, classes))
    targets = torch.from_numpy(labels)
    if floats:
        targets = (
            targets.float().view(-1, 1)
            if classes <= 2
            else torch.from_numpy(made_targets(arrays[0], 0, dtype="float32"))
        )
    data = torch.utils.data.TensorDataset(torch.from_numpy(arrays[0]), targets)
    return torch.utils.data.DataLoader(data, batch_size=batch, shuffle=True)


def made_classifier(shape, classes=10, last=""):
    """A small torch network for such samples: two layers, and after them what the program's loss expects."""
    import torch

    size = 1
    for length in shape:
        size *= length
    layers = [torch.nn.Flatten(), torch.nn.Linear(size, 32), torch.nn.ReLU(), torch.nn.Linear(32, classes)]
    if last == "log_softmax":
        layers.append(torch.nn.LogSoftmax(dim=1))
    elif last == "sigmoid":
        layers.append(torch.nn.Sigmoid())
    return torch.nn.Sequential(*layers)


def made_input_of(layer):
    """A batch of what a layer of torch takes."""
    form = _made_form(layer, {})
    if form is None:
        raise TypeError("nothing tells what goes into %s" % type(layer).__name__)
    arrays, axes, _labels = _made_inputs([form], next(_made_choices(layer, [form])), 8, 2)
    return _made_batch(arrays, axes, slice(None))[0]


def made_reader(tokens=100, classes=10):
    """A small network of torch that reads rows of token ids."""
    import torch

    class Mean(torch.nn.Module):
        def forward(self, x):
            return x.mean(dim=1)

    return torch.nn.Sequential(torch.nn.Embedding(tokens, 16), Mean(), torch.nn.Linear(16, classes))


def made_partner(length=20, tokens=10):
    """A small torch network instead of one from another file: it returns numbers, samples and losses."""
    import torch

    class Partner(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(1))

        def forward(self, *inputs):
            given = [one for one in inputs if isinstance(one, torch.Tensor)]
            return self.scale * (given[0].float() if given else torch.ones(8, tokens))

        def __getattr__(self, name):
            if "loss" in name.lower() or "nll" in name.lower():
                return lambda *inputs, **named: (self.forward(*inputs) ** 2).mean()
            if "sample" in name.lower() or "generate" in name.lower():
                return lambda count=8, *rest, **named: (torch.arange(int(count) * length) % tokens).view(-1, length)
            return super().__getattr__(name)

    return Partner()


def made_named_batches(inputs, targets, turned, lowest=0, tokens=100, classes=10, batch=16, length=12, samples=256):
    """A loader of torch whose batches have named parts, as those of torchtext: token ids, where asked for with the time
    first, and classes from the lowest on."""
    import types

    import torch

    x, y = made_tokens(samples, length, tokens, classes, 0, first=1)
    data = torch.utils.data.TensorDataset(torch.from_numpy(x).long(), torch.from_numpy(y).long() + lowest)

    def together(rows):
        ids = torch.stack([row[0] for row in rows])
        labels = torch.stack([row[1] for row in rows])
        parts = {inputs: ids.t().contiguous() if turned else ids, targets: labels}
        return types.SimpleNamespace(batch_size=len(rows), **parts)

    return torch.utils.data.DataLoader(data, batch_size=batch, shuffle=True, collate_fn=together)


def made_loader_for(model, feeds, floats=False):
    """A loader with samples that fit a network and targets that fit its output; `None` where their form is unknown."""
    import torch

    inputs = _made_own(model, feeds)
    needed = [number for number, one in enumerate(inputs) if one[6]] if inputs is not None else [0]
    form = _made_form(model, feeds, needed[0]) if len(needed) == 1 else None
    if form is None or form[0][0] != "B":
        return _made_says("what goes into %s is not told by anything" % type(model).__name__)
    output, chosen = None, next(_made_choices(model, [form]))
    for choice in _made_choices(model, [form]):
        arrays, axes, _labels = _made_inputs([form], choice, choice["B"], 2)
        output, error = _made_rehearsed(model, _made_batch(arrays, axes, slice(None)))
        if error is None:
            chosen = choice
            break
    tensors = _made_tensors(output)
    width = tensors[0].shape[-1] if tensors and tensors[0].dim() > 1 else 1
    arrays, _axes, labels = _made_inputs([form], chosen, 16 * chosen["B"], max(2, width))
    targets = torch.from_numpy(labels)
    if floats and tensors:
        smooth = 1.0 / (1.0 + _made_exponential(-made_targets(arrays[0], 0)))
        shape = [len(smooth)] + list(tensors[0].shape[1:])
        targets = torch.from_numpy(smooth).view([-1] + [1] * (len(shape) - 1)).expand(shape).contiguous()
    data = torch.utils.data.TensorDataset(torch.from_numpy(arrays[0]), targets)
    return torch.utils.data.DataLoader(data, batch_size=chosen["B"], shuffle=True)


class made_listener:
    """A writer or logger that accepts every call and has every attribute."""

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None
