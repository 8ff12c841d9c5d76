"""The head of a detector: for each of a picture's regions, what is in it."""
import numpy as np
from keras.layers import (
    Activation, Add, BatchNormalization, Conv2D, Dense, GlobalAveragePooling2D, Input, TimeDistributed,
)
from keras.models import Model

NUM_ROIS = 4
POOLED = 6
CLASSES = ["nothing", "ring", "cross"]


def identity_block_td(input_tensor, kernel_size, filters, stage, block):
    """A residual block that is applied to each region of interest."""
    nb_filter1, nb_filter2, nb_filter3 = filters
    conv_name_base = "res" + str(stage) + block + "_branch"
    bn_name_base = "bn" + str(stage) + block + "_branch"

    x = TimeDistributed(Conv2D(nb_filter1, 1), name=conv_name_base + "2a")(input_tensor)
    x = TimeDistributed(BatchNormalization(), name=bn_name_base + "2a")(x)
    x = Activation("relu")(x)

    x = TimeDistributed(
        Conv2D(nb_filter2, kernel_size, kernel_size, padding="same"), name=conv_name_base + "2b"
    )(x)
    x = TimeDistributed(BatchNormalization(), name=bn_name_base + "2b")(x)
    x = Activation("relu")(x)

    x = TimeDistributed(Conv2D(nb_filter3, 1), name=conv_name_base + "2c")(x)
    x = TimeDistributed(BatchNormalization(), name=bn_name_base + "2c")(x)

    x = Add()([x, input_tensor])
    return Activation("relu")(x)


def classifier():
    rois = Input((NUM_ROIS, POOLED, POOLED, 1))
    x = TimeDistributed(Conv2D(8, 3, padding="same", activation="relu"), name="stem")(rois)
    x = identity_block_td(x, 3, [6, 6, 8], stage=5, block="b")
    x = TimeDistributed(GlobalAveragePooling2D(), name="avg_pool")(x)
    out_class = TimeDistributed(Dense(len(CLASSES), activation="softmax"), name="dense_class")(x)
    return Model(rois, out_class)


def regions(n):
    r, c = np.mgrid[:POOLED, :POOLED] - np.float64(POOLED - 1) / 2
    ring = np.abs(np.hypot(r, c) - 2) < 0.7
    cross = (np.abs(r) < 1) | (np.abs(c) < 1)
    kinds = np.stack([np.zeros((POOLED, POOLED)), ring, cross])
    what = np.random.randint(len(CLASSES), size=(n, NUM_ROIS))
    rois = kinds[what] + 0.25 * np.random.randn(n, NUM_ROIS, POOLED, POOLED)
    return rois[..., None].astype("float32"), what


rois, what = regions(120)
detector_head = classifier()
detector_head.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
detector_head.fit(rois, what, batch_size=8, epochs=6, verbose=2)

rois, what = regions(40)
found = detector_head.predict(rois, verbose=0).argmax(axis=-1)
print("regions named rightly: %.3f" % np.mean(found == what))
