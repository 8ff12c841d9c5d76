"""The calls of a Keras program: graphs as they are written, and what the first batches did."""

from __future__ import annotations

from tests.keras.test_components import SEQUENTIAL
from tests.observing import Observe

FUNCTIONAL = """
    import keras, numpy as np
    from keras import layers, ops
    first = keras.Input((8,))
    second = keras.Input((4,))
    hidden = layers.Dense(16)(first)
    dead = layers.Dense(5)(first)
    hidden = hidden + layers.Dense(16)(hidden)
    hidden = ops.relu(hidden)
    joined = layers.concatenate([hidden, second])
    model = keras.Model([first, second], layers.Dense(1, activation="sigmoid")(joined))
    model.compile("adam", "binary_crossentropy")
    a, b, y = np.random.rand(32, 8), np.random.rand(32, 4), np.random.randint(0, 2, (32, 1))
    model.fit([a, b], y, batch_size=16)
"""


def test_a_graph_is_recorded_as_it_is_written(observe: Observe) -> None:
    run = observe(FUNCTIONAL)
    graph = [c for c in run.calls() if c["phase"] == "symbolic"]
    assert [c["name"].rpartition(".")[2] for c in graph] == [
        "Dense", "Dense", "Dense", "add", "relu", "Concatenate", "Dense", "Model",
    ]  # fmt: skip
    assert run.text(graph[0]["site"]) == "layers.Dense(16)(first)"
    assert run.text(graph[0]["made_at"]) == "layers.Dense(16)"
    value = graph[0]["inputs"][0]
    assert (value["origin"], value["shape"], run.text(value["site"])) == ("symbolic", [None, 8], "keras.Input((8,))")
    assert [v["id"] for v in graph[3]["inputs"]] == [graph[0]["outputs"][0]["id"], graph[2]["outputs"][0]["id"]]


def test_a_branch_that_leads_nowhere_has_no_users(observe: Observe) -> None:
    run = observe(FUNCTIONAL)
    used = {v["id"] for c in run.calls() for v in c["inputs"]}
    unused = [c for c in run.calls() if c["phase"] == "symbolic" and any(v["id"] not in used for v in c["outputs"])]
    assert [run.text(c["site"]) for c in unused] == ["layers.Dense(5)(first)"]


def test_the_first_batches_go_through_the_graph_with_the_sites_of_the_graph(observe: Observe) -> None:
    run = observe(FUNCTIONAL)
    batch = [c for c in run.calls(step=0) if c["phase"] == "train"]
    assert [c["name"].rpartition(".")[2] for c in batch] == [
        "Dense", "Dense", "add", "relu", "Concatenate", "Dense", "BinaryCrossentropy",
    ]  # fmt: skip
    assert run.text(batch[1]["site"]) == "layers.Dense(16)(hidden)"
    assert batch[0]["outputs"][0]["shape"] == [16, 16]
    produced = {v["id"]: c["id"] for c in batch for v in c["outputs"]}
    assert all(v["producer"] == produced[v["id"]] for c in batch for v in c["inputs"] if v["origin"] is None)


def test_the_first_layer_takes_the_data_and_the_loss_takes_prediction_and_target(observe: Observe) -> None:
    run = observe(SEQUENTIAL)
    fit = run.call("keras.Model.fit")
    assert [run.text(v["site"]) for v in fit["inputs"]] == ["x", "y"]
    assert fit["inputs"][0]["shape"] == [40, 5] and fit["inputs"][0]["dtype"] == "float64"
    assert (fit["args"]["epochs"], fit["args"]["batch_size"]) == (50, 8)
    layer = next(c for c in run.calls("keras.layers.Dense") if c["phase"] == "train")
    data = layer["inputs"][0]
    assert (data["id"], data["origin"], data["shape"]) == (fit["inputs"][0]["id"], "data", [8, 5])
    prediction, target = run.call("keras.losses.SparseCategoricalCrossentropy")["inputs"]
    assert run.producer(prediction) == "keras.layers.Dense" and prediction["row_sums_to_one"] is True
    assert (target["id"], target["shape"], target["distinct"], target["integral"]) == (
        fit["inputs"][1]["id"],
        [8],
        3,
        True,
    )
    assert (
        run.text(run.call("keras.losses.SparseCategoricalCrossentropy")["site"]) == '"sparse_categorical_crossentropy"'
    )


def test_layers_of_a_sequential_model_are_called_once_each_where_they_are_made(observe: Observe) -> None:
    run = observe(SEQUENTIAL)
    graph = [c for c in run.calls() if c["phase"] == "symbolic"]
    assert [c["name"].rpartition(".")[2] for c in graph] == ["Dense", "Dropout", "Dense", "Sequential"]
    assert [run.text(c["site"]) for c in graph[:2]] == ['Dense(8, activation="relu", input_shape=(5,))', "Dropout(0.5)"]
    assert graph[1]["inputs"][0]["producer"] == graph[0]["id"]


def test_make_believe_calls_of_keras_are_not_recorded(observe: Observe) -> None:
    run = observe(
        """
        import keras, numpy as np
        class Net(keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = keras.layers.Dense(2)
            def call(self, x):
                return keras.ops.tanh(self.dense(x))
        net = Net()
        net.compile("sgd", "mse")
        net.fit(np.random.rand(8, 3), np.random.rand(8, 2), batch_size=8)
        """
    )
    assert [c["name"] for c in run.calls()] == [
        "keras.Model.fit", "keras.layers.Dense", "keras.ops.tanh", "keras.losses.MeanSquaredError",
    ]  # fmt: skip
    dense = run.call("keras.layers.Dense")
    assert (run.text(dense["site"]), dense["scope"], dense["path"]) == ("self.dense(x)", ["Net"], "dense")


def test_data_sets_tables_and_dictionaries_enter_with_the_site_of_the_argument(observe: Observe) -> None:
    run = observe(
        """
        import keras, numpy as np, pandas as pd
        class Batches(keras.utils.PyDataset):
            def __len__(self):
                return 50
            def __getitem__(self, index):
                return np.ones((4, 3), "float32"), np.zeros((4, 1))
        def generate():
            while True:
                yield np.ones((4, 3), "float32"), np.zeros((4, 1))
        def net():
            model = keras.Sequential([keras.Input((3,), name="in"), keras.layers.Dense(1)])
            model.compile("sgd", "mse")
            return model
        net().fit(Batches(workers=4, use_multiprocessing=True))
        net().fit(generate(), steps_per_epoch=3)
        net().fit(pd.DataFrame(np.ones((9, 3), "float32")), pd.Series(range(9)))
        net().fit({"in": np.ones((9, 3))}, np.ones(9))
        """,
        steps=2,
    )
    assert run.outcome == "finished"
    texts = [[run.text(v["site"]) for v in c["inputs"]] for c in run.calls("keras.Model.fit")]
    assert texts[0] == ["Batches(workers=4, use_multiprocessing=True)"]
    assert texts[1] == ["generate()"]
    assert texts[3] == ["np.ones((9, 3))", "np.ones(9)"]
    table = run.calls("keras.Model.fit")[2]["inputs"]
    assert (table[0]["shape"], table[0]["dtype"], table[1]["distinct"]) == ([9, 3], "float32", 9)
    losses = run.calls("keras.losses.MeanSquaredError")
    assert losses[0]["inputs"][1]["origin"] == "data" and losses[0]["inputs"][1]["shape"] == [4, 1]


def test_fit_tells_whether_its_labels_stand_in_order(observe: Observe) -> None:
    run = observe(
        """
        import keras, numpy as np, pandas as pd
        def net(units=1):
            model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(units)])
            model.compile("sgd", "mse")
            return model
        classes, x = np.repeat(np.arange(3), 30), np.zeros((90, 2))
        late = np.repeat([False, True], 50000)
        net().fit(x, classes)
        net().fit(x, np.append(classes[1:], 0))
        net(3).fit(x, np.eye(3)[classes][::-1])
        net().fit(x, pd.Series(classes[::-1], index=classes))
        net().fit(x, np.ones(90))
        net().fit(np.zeros((100000, 2)), late, batch_size=50000)
        net().fit(np.zeros((100001, 2)), np.append(late, False), batch_size=50000)
        """,
        steps=8,
    )
    assert run.outcome == "finished"
    fits = run.calls("keras.Model.fit")
    assert [fit["inputs"][1]["ordered"] for fit in fits] == [True, False, True, True, False, True, False]
    assert [fit["inputs"][0].get("ordered") for fit in fits] == [None] * 7
    assert [fit["args"]["types"]["y"].rpartition(".")[2] for fit in fits[2:4]] == ["ndarray", "Series"]


def test_a_model_of_the_library_stands_for_its_layers(observe: Observe) -> None:
    run = observe(
        """
        import keras
        base = keras.applications.MobileNetV2(weights=None, input_shape=(32, 32, 3), include_top=False)
        image = keras.Input((32, 32, 3))
        pooled = keras.layers.GlobalAveragePooling2D()(base(image, training=False))
        """
    )
    model = run.component("keras.applications.MobileNetV2")
    assert (model["kind"], model["args"]["include_top"], model["args"]["input_shape"]) == ("model", False, [32, 32, 3])
    assert run.text(model["site"]).startswith("keras.applications.MobileNetV2(weights=None")
    assert run.names() == ["keras.applications.MobileNetV2", "keras.layers.GlobalAveragePooling2D"]
    assert run.producer(run.calls()[1]["inputs"][0]) == "keras.applications.MobileNetV2"
