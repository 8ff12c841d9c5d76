import numpy as np
from keras.layers import Conv2D, Dense, Flatten, GlobalAveragePooling2D, GlobalMaxPooling2D, Input, MaxPooling2D
from keras.models import Model
from keras.optimizers import Adam


def VGGFace(include_top=True, input_shape=None, pooling=None, classes=40):
    """A small network of the VGG kind. `pooling` (None, avg or max) counts where there is no top."""
    if input_shape is None:
        input_shape = (32, 32, 3) if include_top else (None, None, 3)
    img_input = Input(shape=input_shape)

    x = img_input
    for block, filters in enumerate([8, 16, 16], start=1):
        for i in (1, 2):
            name = 'conv%d_%d' % (block, i)
            x = Conv2D(filters, (3, 3), activation='relu', padding='same', name=name)(x)
        x = MaxPooling2D((2, 2), strides=(2, 2), name='pool%d' % block)(x)

    if include_top:
        x = Flatten(name='flatten')(x)
        x = Dense(64, activation='relu', name='fc4')(x)
        x = Dense(classes, activation='softmax', name='fc5')(x)
    elif pooling == 'avg':
        x = GlobalAveragePooling2D()(x)
    elif pooling == 'max':
        x = GlobalMaxPooling2D()(x)
    return Model(img_input, x, name='vggface_small')


def faces(n, size=32):
    """Drawn faces: the mouth bends up or down."""
    r, c = np.mgrid[:size, :size]
    images = np.random.normal(0.2, 0.05, (n, size, size, 3))
    labels = np.random.randint(0, 2, n)
    for image, smiling in zip(images, labels):
        y, x = np.random.randint(14, 18, 2)
        image[(r - y) ** 2 + (c - x) ** 2 < 150] += np.random.uniform(0.3, 0.5, 3)
        for side in (-5, 5):
            image[(r - y + 4) ** 2 + (c - x - side) ** 2 < 3] = 0
        bend = -1 if smiling else 1
        curve = y + 6 + bend * ((c - x) ** 2 // 12 - 1)
        image[(abs(r - curve) <= 1) & (abs(c - x) <= 6)] = (0.7, 0.1, 0.1)
    return images.astype('float32'), np.eye(2, dtype='float32')[labels]


# custom parameters
nb_class = 2
hidden_dim = 32

x_train, y_train = faces(240)
x_test, y_test = faces(60)

vgg_model = VGGFace(include_top=False)
last_layer = vgg_model.get_layer('pool3').output
x = Flatten(name='flatten')(last_layer)
x = Dense(hidden_dim, activation='relu', name='fc6')(x)
x = Dense(hidden_dim, activation='relu', name='fc7')(x)
out = Dense(nb_class, activation='softmax', name='fc8')(x)
custom_vgg_model = Model(vgg_model.input, out)

custom_vgg_model.compile(optimizer=Adam(2e-3), loss='categorical_crossentropy', metrics=['accuracy'])
custom_vgg_model.fit(x_train, y_train, batch_size=20, epochs=3, verbose=2)
preds = custom_vgg_model.predict(x_test, verbose=0)
print('Predicted:', np.argmax(preds[:8], axis=1), 'right: %.2f' % (preds.argmax(1) == y_test.argmax(1)).mean())
