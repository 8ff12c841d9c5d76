import numpy as np
import pandas as pd
from keras.layers import Concatenate, Dense, Embedding, Flatten, Input
from keras.models import Model
from keras.optimizers import Adam

# --- used cars -------------------------------------------------------------
n_cars = 400
brands = ["dacia", "opel", "seat", "skoda", "volvo", "audi"]
base_price = dict(zip(brands, [9.0, 12.0, 13.0, 15.0, 24.0, 29.0]))

cars = pd.DataFrame({
    "brand": np.random.choice(brands, n_cars),
    "age": np.random.uniform(0, 12, n_cars),
    "km": np.random.gamma(3.0, 28.0, n_cars),
    "ps": np.random.normal(120, 30, n_cars),
})
cars["price"] = (
    cars.brand.map(base_price) * np.exp(-0.11 * cars.age)
    - 0.015 * cars.km
    + 0.03 * (cars.ps - 120)
    + np.random.normal(0, 0.4, n_cars)
)

cars["brand_id"] = cars.brand.map({b: i for i, b in enumerate(brands)})
numeric = ["age", "km", "ps"]
cars[numeric] = (cars[numeric] - cars[numeric].mean()) / cars[numeric].std()

train = cars.sample(frac=0.8, random_state=1)
test = cars.drop(train.index)


def inputs_of(frame):
    return [frame[["brand_id"]].values, frame[numeric].values.astype("float32")]


# --- network ---------------------------------------------------------------
brand_in = Input(shape=(1,), dtype="int32")
numeric_in = Input(shape=(len(numeric),))
brand_vec = Flatten()(Embedding(len(brands), 4)(brand_in))
x = Concatenate()([brand_vec, numeric_in])
x = Dense(48, activation="relu")(x)
x = Dense(24, activation="relu")(x)
price_out = Dense(1, activation="sigmoid")(x)

model = Model([brand_in, numeric_in], price_out)
model.compile(optimizer=Adam(learning_rate=0.02), loss="mse", metrics=["mae"])
history = model.fit(inputs_of(train), train.price.values, epochs=12, batch_size=32, verbose=0)
print("last training loss", round(history.history["loss"][-1], 3))

predicted = model.predict(inputs_of(test), verbose=0).ravel()
residual = np.sum((test.price.values - predicted) ** 2)
total = np.sum((test.price.values - test.price.mean()) ** 2)
print("R2 on the test cars: %.3f" % (1 - residual / total))
