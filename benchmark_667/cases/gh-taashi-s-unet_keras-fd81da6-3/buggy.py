"""Mark the beats in a heart signal with a U-Net over time."""
import numpy as np
from keras.layers import Conv1D, Input, MaxPooling1D, UpSampling1D, concatenate
from keras.models import Model

SAMPLES = 96


class BeatNet(object):
    def __init__(self):
        signal = Input((SAMPLES, 1))
        down1 = self._encode(8, signal, pool=False)
        down2 = self._encode(12, down1)
        down3 = self._encode(16, down2)
        up1 = self._decode(12, down3, down2)
        up2 = self._decode(8, up1, down1)
        beat = Conv1D(1, 1, activation="sigmoid")(up2)
        self.network = Model(inputs=signal, outputs=beat)

    def _encode(self, filters, layer, pool=True):
        if pool:
            layer = MaxPooling1D(2)(layer)
        layer = Conv1D(filters, 3, padding="same", activation="relu")(layer)
        return layer

    def _decode(self, filters, layer, skipped):
        layer = UpSampling1D(2)(layer)
        layer = concatenate([layer, skipped])
        layer = Conv1D(filters, 3, strides=3, padding="same", activation="relu")(layer)
        return layer

    def model(self):
        return self.network


def heart_signals(n):
    t = np.arange(SAMPLES)
    signals, beats = np.zeros((n, SAMPLES, 1)), np.zeros((n, SAMPLES, 1))
    for k in range(n):
        pulse = np.random.randint(18, 30)
        for moment in range(np.random.randint(5, pulse), SAMPLES - 3, pulse):
            signals[k, :, 0] += np.exp(-((t - moment) ** 2) / 3.0)
            signals[k, :, 0] += 0.3 * np.exp(-((t - moment - 6) ** 2) / 8.0)
            beats[k, moment - 2 : moment + 3] = 1
    drift = 0.3 * np.sin(t / 15.0 + np.random.uniform(0, 6, (n, 1)))
    signals += drift[..., None] + 0.08 * np.random.randn(n, SAMPLES, 1)
    return signals.astype("float32"), beats.astype("float32")


signals, beats = heart_signals(150)
model = BeatNet().model()
model.compile(optimizer="adam", loss="binary_crossentropy")
model.fit(signals[:120], beats[:120], batch_size=10, epochs=8, verbose=2)

marked = model.predict(signals[120:], verbose=0) > 0.5
print("samples marked as in the reference: %.3f" % np.mean(marked == (beats[120:] > 0.5)))
