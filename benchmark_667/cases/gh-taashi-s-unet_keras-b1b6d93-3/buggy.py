# Marks the water in (made-up) satellite pictures, pixel by pixel.
import numpy as np
from keras import layers, models, optimizers

SIZE = 20


def terrain(count):
    """Rough heights; whatever lies lowest is under water, and looks darker."""
    waves = np.random.normal(size=(count, 4, 4))
    smooth = np.repeat(np.repeat(waves, 5, axis=1), 5, axis=2)
    for axis in (1, 2):
        smooth = (smooth + np.roll(smooth, 1, axis) + np.roll(smooth, -1, axis)) / 3
    water = smooth < -0.4
    picture = np.where(water, 0.2, 0.6) + 0.15 * np.random.normal(size=smooth.shape)
    return picture[..., None].astype("float32"), water[..., None].astype("float32")


def build(size, filters=8):
    inputs = layers.Input(shape=(size, size, 1))

    # down: 20 -> 18 -> 9 -> 7
    down1 = layers.Conv2D(filters, 3, activation="relu")(inputs)
    down2 = layers.MaxPooling2D(2)(down1)
    down2 = layers.Conv2D(filters * 2, 3, activation="relu")(down2)

    # up: 7 -> 14, next to the middle of the first map
    up1 = layers.UpSampling2D(2)(down2)
    crop = (down1.shape[1] - up1.shape[1]) // 2
    up1 = layers.concatenate([up1, layers.Cropping2D(crop)(down1)])
    up1 = layers.Conv2D(filters, 3, activation="relu")(up1)

    outputs = layers.Conv2D(1, 1, activation="sigmoid")(up1)

    return models.Model(inputs=inputs, outputs=outputs)


pictures, masks = terrain(300)
model = build(SIZE)
model.compile(optimizer=optimizers.Adam(0.003), loss="mse")
model.fit(pictures[:250], masks[:250], batch_size=25, epochs=6, verbose=2)

guess = model.predict(pictures[250:], verbose=0) > 0.5
print("share of pixels that agree: %.3f" % np.mean(guess == (masks[250:] > 0.5)))
