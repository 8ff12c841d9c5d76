import random

import numpy as np
from keras import layers, models

# Street scenes with the label ids of the dataset that they imitate.
PERSON, CAR, ROAD, SKY = 24, 26, 7, 23
HEIGHT, WIDTH = 16, 32
NAMES = ['background', 'person', 'car', 'road']


def street(n):
    x = np.random.normal(0, 6, (n, HEIGHT, WIDTH, 3)) + np.array([130, 170, 220])
    y = np.full((n, HEIGHT, WIDTH, 1), SKY, dtype='uint8')
    for img, ids in zip(x, y):
        horizon = random.randint(7, 9)
        img[horizon:] += (-60, -95, -145)
        ids[horizon:] = ROAD
        left = random.randint(0, WIDTH - 10)
        img[horizon:horizon + 5, left:left + 9] += (130, -40, -40)
        ids[horizon:horizon + 5, left:left + 9] = CAR
        col = random.randint(0, WIDTH - 3)
        img[horizon - 3:horizon + 4, col:col + 3] = (40, 30, 160)
        ids[horizon - 3:horizon + 4, col:col + 3] = PERSON
    return np.clip(x, 0, 255).astype('float32'), y


def masks_of(ids):
    """A map for each of the four names, from the label ids of some images."""
    ids = ids[..., 0]
    person, car, road = ids == PERSON, ids == CAR, ids == ROAD
    masks = np.zeros((len(ids), HEIGHT, WIDTH, len(NAMES)), dtype='float32')
    masks[:, :, :, 0] = ~(person | car | road)
    masks[:, :, :, 1] = person
    masks[:, :, :, 2] = car
    masks[:, :, 3] = road
    return masks


def endless_batches(images, ids, size):
    """Shuffled batches for fit, every other one mirrored."""
    while True:
        for rows in np.array_split(np.random.permutation(len(images)), len(images) // size):
            x, y = images[rows] / 255.0, masks_of(ids[rows])
            if random.random() < 0.5:
                x, y = x[:, :, ::-1].copy(), y[:, :, ::-1].copy()
            yield x, y


def fcn():
    inputs = layers.Input((HEIGHT, WIDTH, 3))
    down = layers.Conv2D(8, 3, strides=2, padding='same', activation='relu')(inputs)
    deep = layers.Conv2D(16, 3, padding='same', activation='relu')(down)
    up = layers.UpSampling2D(2)(deep)
    merged = layers.Concatenate()([up, inputs])
    out = layers.Conv2D(16, 3, padding='same', activation='relu')(merged)
    out = layers.Conv2D(len(NAMES), 1, activation='softmax')(out)
    return models.Model(inputs, out)


if __name__ == '__main__':
    batch = 10
    x_imgs, y_imgs = street(100)
    model = fcn()
    model.compile(optimizer='adam', loss='categorical_crossentropy', metrics=['accuracy'])
    model.fit(endless_batches(x_imgs, y_imgs, batch), steps_per_epoch=len(x_imgs) // batch, epochs=6, verbose=2)

    x_val, y_val = street(20)
    predicted = model.predict(x_val / 255.0, verbose=0).argmax(axis=-1)
    wanted = masks_of(y_val).argmax(axis=-1)
    for i, name in enumerate(NAMES):
        both = np.sum((predicted == i) & (wanted == i))
        print('%-10s IoU %.2f' % (name, both / np.sum((predicted == i) | (wanted == i))))
