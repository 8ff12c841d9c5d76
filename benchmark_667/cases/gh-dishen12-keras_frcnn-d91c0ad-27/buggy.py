"""Detection head of a small Faster R-CNN, trained alone on pooled regions."""
from __future__ import print_function

import numpy as np
from keras import Model, optimizers
from keras.layers import Conv2D, Dense, Flatten, Input, TimeDistributed
from keras import ops

NUM_ROIS = 8
POOL = 7
CLASSES = ['bg', 'disc', 'cross', 'frame']


def classifier_layers(x):
    x = TimeDistributed(Conv2D(12, (3, 3), activation='relu', kernel_initializer='he_normal'), name='res5a')(x)
    x = TimeDistributed(Conv2D(24, (3, 3), activation='relu', kernel_initializer='he_normal'), name='res5b')(x)
    return x


def classifier(input_rois, nb_classes=21):
    out = classifier_layers(input_rois)
    out = TimeDistributed(Flatten(), name='td_flatten')(out)

    out_class = TimeDistributed(Dense(nb_classes, activation='softmax', init='zeros'), name='dense_class')(out)
    # note: no regression target for bg class
    out_regr = TimeDistributed(Dense(4 * (nb_classes - 1), kernel_initializer='zeros'), name='dense_regress')(out)
    return [out_class, out_regr]


def class_loss_regr(num_classes):
    """Smooth L1 on the boxes of the class that is there; y_true holds the labels, then the coordinates."""
    n = 4 * num_classes

    def loss(y_true, y_pred):
        x = y_true[..., n:] - y_pred
        x_abs = ops.abs(x)
        smooth = ops.where(x_abs <= 1.0, 0.5 * x * x, x_abs - 0.5)
        return ops.sum(y_true[..., :n] * smooth) / (1e-4 + ops.sum(y_true[..., :n]))

    return loss


def draw(kind):
    roi = np.random.normal(0, 0.1, (POOL, POOL, 3))
    r, c = np.mgrid[:POOL, :POOL] - 3
    dr, dc = np.random.randint(-1, 2, 2)
    shape = {
        'disc': (r - dr) ** 2 + (c - dc) ** 2 < 5,
        'cross': (r == dr) | (c == dc),
        'frame': np.maximum(abs(r - dr), abs(c - dc)) == 2,
        'bg': np.zeros_like(r, bool),
    }[kind]
    roi[shape] += 1
    return roi, (dr / 3.0, dc / 3.0, 0.5, 0.5)


def batch(n):
    k = len(CLASSES)
    rois = np.zeros((n, NUM_ROIS, POOL, POOL, 3), 'float32')
    y_class = np.zeros((n, NUM_ROIS, k), 'float32')
    y_regr = np.zeros((n, NUM_ROIS, 8 * (k - 1)), 'float32')
    for i in range(n):
        for j in range(NUM_ROIS):
            number = np.random.randint(k)
            rois[i, j], box = draw(CLASSES[number])
            y_class[i, j, number] = 1
            if number > 0:
                at = 4 * (number - 1)
                y_regr[i, j, at:at + 4] = 1
                y_regr[i, j, 4 * (k - 1) + at:4 * (k - 1) + at + 4] = box
    return rois, y_class, y_regr


if __name__ == '__main__':
    roi_input = Input(shape=(NUM_ROIS, POOL, POOL, 3))
    model = Model(roi_input, classifier(roi_input, nb_classes=len(CLASSES)))
    losses = ['categorical_crossentropy', class_loss_regr(len(CLASSES) - 1)]
    model.compile(optimizer=optimizers.Adam(3e-3), loss=losses)

    for step in range(40):
        rois, y_class, y_regr = batch(8)
        loss = model.train_on_batch(rois, [y_class, y_regr])
        if step % 10 == 0:
            print('step', step, 'losses', [round(float(l), 4) for l in loss])

    rois, y_class, _ = batch(20)
    found = model.predict(rois, verbose=0)[0].argmax(-1)
    print('mean class accuracy', (found == y_class.argmax(-1)).mean())
