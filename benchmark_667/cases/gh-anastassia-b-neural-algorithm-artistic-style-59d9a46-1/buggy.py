# Paints the content of one picture in the style of another. The picture to be painted is the weights of a layer.
import numpy as np
from keras import ops
from keras.layers import AveragePooling2D, Conv2D, Dense, Input, Lambda, Reshape
from keras.models import Model
from keras.optimizers import Adam

HEIGHT, WIDTH = 24, 32


def content_picture():
    rows, cols = np.mgrid[:HEIGHT, :WIDTH]
    house = (rows > 10) & (abs(cols - 16) < 8) | (rows > abs(cols - 16) * 0.8 + 3) & (rows <= 10)
    picture = np.full((HEIGHT, WIDTH, 3), 0.3)
    picture[house] = [0.8, 0.5, 0.3]
    return picture


def style_picture():
    rows, cols = np.mgrid[:HEIGHT, :WIDTH]
    waves = np.sin(cols * 0.9 + 2 * np.sin(rows * 0.5))
    return np.stack([0.5 + 0.4 * waves, 0.5 - 0.2 * waves, 0.6 + 0.3 * np.cos(rows * 0.7)], axis=-1)


def gram(features):
    flat = ops.reshape(features, (-1, features.shape[1] * features.shape[2], features.shape[3]))
    return ops.matmul(ops.transpose(flat, (0, 2, 1)), flat) / (features.shape[1] * features.shape[2])


def feature_network():
    """Random filters that stay as they are do for textures as small as these."""
    picture = Input(shape=(HEIGHT, WIDTH, 3))
    conv1 = Conv2D(12, 3, padding='same', activation='relu', kernel_initializer='he_normal')(picture)
    pooled = AveragePooling2D(2)(conv1)
    conv2 = Conv2D(16, 3, padding='same', activation='relu', kernel_initializer='he_normal')(pooled)
    style1 = Lambda(gram, output_shape=(12, 12))(conv1)
    style2 = Lambda(gram, output_shape=(16, 16))(conv2)
    model = Model(picture, [conv2, style1, style2])
    model.trainable = False
    return model


features_of = feature_network()
content_target = features_of.predict(content_picture()[None], verbose=0)[0]
style_targets = features_of.predict(style_picture()[None], verbose=0)[1:]
targets = [content_target, *style_targets]
print([value.shape for value in targets])

switch = Input(shape=(1,))
canvas = Dense(HEIGHT * WIDTH * 3, activation='linear', use_bias=False)

pixels = canvas(switch)
picture = Reshape((24, 23, 3))(pixels)

content_features, *style_features = features_of(picture)
outputs = [content_features, *style_features]

painter = Model(inputs=switch, outputs=outputs)
painter.compile(optimizer=Adam(0.03), loss=['mse', 'mse', 'mse'], loss_weights=[1.0, 5.0, 5.0])

canvas.set_weights([np.random.uniform(0.4, 0.6, (1, HEIGHT * WIDTH * 3))])
ones = np.ones((1, 1))
for step in range(1, 101):
    losses = np.ravel(painter.train_on_batch(ones, targets))
    if step % 25 == 0:
        print('step %3d  loss %.4f' % (step, losses[0]))

painting = np.clip(canvas.get_weights()[0].reshape(HEIGHT, WIDTH, 3), 0, 1)
print('mean colour', painting.mean(axis=(0, 1)).round(2))
