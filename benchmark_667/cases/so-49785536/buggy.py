import numpy as np
from keras import Sequential
from keras.callbacks import Callback, ReduceLROnPlateau
from keras.layers import Dense, Input, LSTM
from keras.optimizers import Adam

WINDOW = 12


class LearningRateLog(Callback):
    """Writes a line for every epoch, so that the drops can be found in the log afterwards."""

    def on_epoch_end(self, epoch, logs=None):
        rate = self.model.optimizer.learning_rate
        print(f"epoch {epoch + 1}: val_loss {logs['val_loss']:.4f}, learning rate {rate}")


def power_demand(hours):
    """Hourly demand with a daily rhythm, a weekly one and some noise."""
    t = np.arange(hours)
    daily = np.sin(2 * np.pi * t / 24)
    weekly = 0.4 * np.cos(2 * np.pi * t / 168)
    return daily + weekly + np.random.normal(0, 0.05, size=hours)


def windows(series):
    x = np.stack([series[i:i + WINDOW] for i in range(len(series) - WINDOW)])
    return x[..., np.newaxis].astype("float32"), series[WINDOW:].astype("float32")


x, y = windows(power_demand(500))
split = 400
model = Sequential([
    Input(shape=(WINDOW, 1)),
    LSTM(8),
    Dense(1),
])
model.compile(loss="mse", optimizer=Adam(learning_rate=0.02))
model.fit(
    x[:split], y[:split],
    validation_data=(x[split:], y[split:]),
    epochs=6,
    batch_size=50,
    verbose=0,
    callbacks=[
        ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=1, min_delta=0.05),
        LearningRateLog(),
    ],
)
print("test mse %.4f" % model.evaluate(x[split:], y[split:], verbose=0))
