"""The call in flight when a Keras program crashes."""

from __future__ import annotations

from tests.observing import Observe


def test_a_layer_refused_while_the_model_is_written(observe: Observe) -> None:
    run = observe(
        """
        from keras import Sequential
        from keras.layers import Conv2D, Dense, Input
        model = Sequential([Input((28, 28))])
        model.add(Conv2D(32, 3))
        """
    )
    call = run.crash["call"]
    assert (call["name"], run.text(call["made_at"])) == ("keras.layers.Conv2D", "Conv2D(32, 3)")
    assert call["args"]["filters"] == 32
    assert call["inputs"][0]["shape"] == [None, 28, 28]
    assert run.text(run.crash["frames"][-1]["site"]) == "model.add(Conv2D(32, 3))"


def test_a_layer_refused_in_a_graph(observe: Observe) -> None:
    run = observe(
        """
        import keras
        from keras import layers
        a = layers.Dense(4)(keras.Input((3,)))
        b = layers.Dense(5)(keras.Input((3,)))
        out = layers.add([a, b])
        """
    )
    call = run.crash["call"]
    assert call["name"] == "keras.layers.Add"
    assert [v["shape"] for v in call["inputs"]] == [[None, 4], [None, 5]]
    assert [run.producer(v) for v in call["inputs"]] == ["keras.layers.Dense"] * 2


def test_a_constructor_that_lacks_an_argument(observe: Observe) -> None:
    run = observe("from keras.layers import Dense\nlayer = Dense(output_dim=3, activation='relu')\n")
    call = run.crash["call"]
    assert (call["name"], run.text(call["site"])) == ("keras.layers.Dense", "Dense(output_dim=3, activation='relu')")
    assert call["args"]["output_dim"] == 3 and call["args"]["activation"] == "relu"


def test_data_that_the_first_layer_does_not_take(observe: Observe) -> None:
    run = observe(
        """
        import keras, numpy as np
        data = np.random.rand(64, 12)
        model = keras.Sequential([keras.layers.Dense(4, input_shape=(8,)), keras.layers.Dense(1)])
        model.compile("adam", "mse")
        model.fit(data, np.zeros(64))
        """
    )
    call = run.crash["call"]
    assert run.text(call["made_at"]) == "keras.layers.Dense(4, input_shape=(8,))"
    value = call["inputs"][0]
    assert (value["shape"], value["origin"], run.text(value["site"])) == ([32, 12], "data", "data")


def test_a_loss_that_does_not_take_the_targets(observe: Observe) -> None:
    run = observe(
        """
        import keras, numpy as np
        labels = np.random.randint(0, 4, 64)
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4, activation="softmax")])
        model.compile("adam", loss="categorical_crossentropy")
        model.fit(np.random.rand(64, 8), labels)
        """
    )
    call = run.crash["call"]
    assert (call["name"], run.text(call["site"])) == (
        "keras.losses.CategoricalCrossentropy",
        '"categorical_crossentropy"',
    )
    prediction, target = call["inputs"]
    assert prediction["shape"] == [32, 4] and run.producer(prediction) == "keras.layers.Dense"
    assert (target["shape"], target["distinct"], run.text(target["site"])) == ([32], 4, "labels")


def test_data_that_do_not_fit_together(observe: Observe) -> None:
    run = observe(
        """
        import keras, numpy as np
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
        model.compile("adam", loss="mse")
        model.fit(np.random.rand(64, 8), np.random.rand(60))
        """
    )
    call = run.crash["call"]
    assert call["name"] == "keras.Model.fit"
    assert [v["shape"] for v in call["inputs"]] == [[64, 8], [60]]


def test_a_call_within_a_user_model_after_the_recorded_steps(observe: Observe) -> None:
    run = observe(
        """
        import keras, numpy as np
        class Net(keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = keras.layers.Dense(2)
            def call(self, x):
                return self.dense(x)
        net = Net()
        net.compile("sgd", "mse")
        net.fit(np.random.rand(64, 3), np.random.rand(64, 2), batch_size=8)
        net(np.zeros((5, 4)))
        """,
        steps=5,
    )
    call = run.crash["call"]
    assert (call["name"], run.text(call["site"]), call["scope"]) == ("keras.layers.Dense", "self.dense(x)", ["Net"])
    assert call["inputs"][0]["shape"] == [5, 4]


def test_frames_inside_keras_are_not_hidden_from_the_probe_and_messages_are_plain(observe: Observe) -> None:
    run = observe("import keras\nkeras.ops.matmul(keras.ops.ones((2, 3)), keras.ops.ones((4, 5)))\n")
    assert run.crash["call"]["name"] == "keras.ops.matmul"
    assert [v["shape"] for v in run.crash["call"]["inputs"]] == [[2, 3], [4, 5]]
    assert "Exception encountered" not in run.crash["message"]
