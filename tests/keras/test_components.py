"""Which objects of a Keras program are recorded, where they were made and with what."""

from __future__ import annotations

from tests.observing import Observe

SEQUENTIAL = """
    import numpy as np
    from keras import Sequential
    from keras.layers import Dense, Dropout

    x, y = np.random.rand(40, 5), np.random.randint(0, 3, 40)
    model = Sequential()
    model.add(Dense(8, activation="relu", input_shape=(5,)))
    model.add(Dropout(0.5))
    model.add(Dense(3, activation="softmax"))
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy", "SparseCategoricalAccuracy"])
    model.fit(x, y, batch_size=8, epochs=50)
"""


def test_a_layer_has_the_site_and_the_arguments_of_its_constructor(observe: Observe) -> None:
    run = observe(SEQUENTIAL)
    last = run.component("keras.layers.Dense", 1)
    assert run.text(last["site"]) == 'Dense(3, activation="softmax")'
    assert (last["args"]["units"], last["args"]["activation"], last["args"]["use_bias"]) == (3, "softmax", True)
    assert last["args"]["kernel_initializer"] == "glorot_uniform"
    assert last["kind"] == "layer"
    assert run.component("keras.layers.Dense")["args"]["input_shape"] == [5]


def test_layers_hang_in_their_model_by_index_and_hold_their_weights(observe: Observe) -> None:
    run = observe(SEQUENTIAL)
    dense, dropout = run.component("keras.layers.Dense", 1), run.component("keras.layers.Dropout")
    model = run.component("keras.models.Sequential")
    assert (dense["attribute"], dropout["attribute"], model["kind"]) == ("2", "1", "model")
    assert dense["parameters"] == ["kernel", "bias"]
    assert model["children"] == [c["id"] for c in run.components.values() if c["kind"] == "layer"]


def test_strings_given_to_compile_become_components_at_their_own_sites(observe: Observe) -> None:
    run = observe(SEQUENTIAL)
    loss = run.component("keras.losses.SparseCategoricalCrossentropy")
    assert run.text(loss["site"]) == '"sparse_categorical_crossentropy"'
    assert (loss["kind"], loss["args"]["from_logits"]) == ("loss", False)
    optimizer = run.component("keras.optimizers.Adam")
    assert (run.text(optimizer["site"]), optimizer["args"]["learning_rate"]) == ('"adam"', 0.001)
    assert len(optimizer["parameters"]) == 4
    assert run.text(run.component("keras.metrics.Accuracy")["site"]) == '"accuracy"'
    assert run.text(run.component("keras.metrics.SparseCategoricalAccuracy")["site"]) == '"SparseCategoricalAccuracy"'


def test_objects_and_functions_given_to_compile_have_the_same_names_as_strings(observe: Observe) -> None:
    run = observe(
        """
        import keras, numpy as np
        from keras.losses import mean_squared_error
        entropy = keras.losses.CategoricalCrossentropy(from_logits=True)
        def mine(y_true, y_pred):
            return keras.ops.mean((y_true - y_pred) ** 2)
        for loss in (entropy, mean_squared_error, mine):
            model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
            model.compile(keras.optimizers.SGD(learning_rate=0.5), loss)
            model.fit(np.random.rand(8, 4), np.eye(2)[[0, 1] * 4])
        """
    )
    losses = [c for c in run.components.values() if c["kind"] == "loss"]
    names = ["keras.losses.CategoricalCrossentropy", "keras.losses.MeanSquaredError", "user.mine"]
    assert [c["name"] for c in losses] == names
    assert run.text(losses[0]["site"]) == "keras.losses.CategoricalCrossentropy(from_logits=True)"
    assert losses[0]["args"]["from_logits"] is True
    assert [c["called"] > 0 for c in losses] == [True] * 3
    assert run.component("keras.optimizers.SGD")["args"]["learning_rate"] == 0.5


def test_a_layer_that_is_never_called_says_so_and_a_wrapped_one_does_not(observe: Observe) -> None:
    run = observe(
        """
        import keras
        from keras import layers
        i = keras.Input((6, 3))
        never = layers.Dense(7)
        x = layers.Bidirectional(layers.LSTM(4))(i)
        model = keras.Model(i, layers.Dense(2)(x))
        """
    )
    assert [c["called"] for c in run.components.values() if c["name"] == "keras.layers.Dense"] == [0, 1]
    assert run.component("keras.layers.LSTM")["called"] is None
    lstm, wrapper = run.component("keras.layers.LSTM"), run.component("keras.layers.Bidirectional")
    assert wrapper["children"] == [lstm["id"]]


def test_a_user_model_has_its_own_arguments_and_its_layers_the_attributes(observe: Observe) -> None:
    run = observe(
        """
        import keras, numpy as np
        class Net(keras.Model):
            def __init__(self, hidden, classes=2):
                super().__init__()
                self.first = keras.layers.Dense(hidden, activation=keras.activations.relu)
                self.rest = [keras.layers.Dense(hidden), keras.layers.Dense(classes)]
            def call(self, x):
                x = self.first(x)
                for layer in self.rest:
                    x = layer(x)
                return x
        net = Net(16)
        net.compile("sgd", "mse")
        net.fit(np.random.rand(8, 3), np.random.rand(8, 2))
        """
    )
    assert run.component("user.Net")["args"] == {"hidden": 16, "classes": 2}
    dense = [c for c in run.components.values() if c["name"] == "keras.layers.Dense"]
    assert [c["attribute"] for c in dense] == ["first", "rest.0", "rest.1"]
    assert dense[0]["args"]["activation"] == "relu"
