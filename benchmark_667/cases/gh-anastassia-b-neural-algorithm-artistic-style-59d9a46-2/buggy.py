import numpy as np
from keras.layers import AveragePooling2D, Conv2D, Dense, Input, Reshape
from keras.models import Model
from keras.optimizers import Adam

HEIGHT, WIDTH = 48, 64

content_image = np.zeros((HEIGHT, WIDTH, 3), dtype='float32')
content_image[20:40, 10:30] = (0.9, 0.4, 0.2)
content_image[5:15, 40:60] = (0.2, 0.4, 0.9)
waves = np.sin(np.arange(WIDTH) / 3)[None, :, None] * np.cos(np.arange(HEIGHT) / 2)[:, None, None]
style_image = np.repeat(waves, 3, axis=2).astype('float32') * 0.5 + 0.5


def build_featurization_model():
    image = Input(shape=(HEIGHT, WIDTH, 3))
    block1 = Conv2D(8, 3, padding='same', activation='relu', name='block1_conv')(image)
    pool1 = AveragePooling2D(2, name='block1_pool')(block1)
    block2 = Conv2D(12, 3, padding='same', activation='relu', name='block2_conv')(pool1)
    pool2 = AveragePooling2D(2, name='block2_pool')(block2)
    style1 = AveragePooling2D((HEIGHT, WIDTH), name='style1')(block1)
    style2 = AveragePooling2D((HEIGHT // 2, WIDTH // 2), name='style2')(block2)
    model = Model(inputs=image, outputs=[pool2, style1, style2])
    model.trainable = False
    return model


featurization_model = build_featurization_model()

content_value = featurization_model.predict(content_image[None], verbose=0)[0]
style_values = featurization_model.predict(style_image[None], verbose=0)[1:]
target_values = [content_value, *style_values]
print([value.shape for value in target_values])

# the picture to paint is the kernel of a dense layer that only ever sees a 1
input_tensor = Input(shape=(1,))
image_layer = Dense(48 * 64 * 3, activation='linear', use_bias=False)

image_tensor = image_layer(input_tensor)
reshaped_image = Reshape((48, 46, 3))(image_tensor)

content_tensor, *style_tensors = featurization_model(reshaped_image)
feature_tensors = [content_tensor, *style_tensors]

training_model = Model(inputs=input_tensor, outputs=feature_tensors)
training_model.compile(optimizer=Adam(learning_rate=0.02), loss=['mse', 'mse', 'mse'], loss_weights=[1.0, 5.0, 5.0])

for step in range(5):
    history = training_model.fit(np.ones((1, 1)), target_values, epochs=10, verbose=0)
    print('after %d steps: loss %.5f' % (10 * (step + 1), history.history['loss'][-1]))

painted = image_layer.get_weights()[0].reshape(HEIGHT, WIDTH, 3)
print('painted picture from %.2f to %.2f' % (painted.min(), painted.max()))
