import numpy as np
from keras.layers import Dense, Dropout, Embedding, Input
from keras.models import Model, Sequential
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

digits = load_digits()
x = digits.data.astype("float32") / 16.0
y = np.eye(10, dtype="float32")[digits.target]
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25)

model = Sequential(name="digits_mlp")
model.add(Input((64,)))
model.add(Dense(64, activation="relu", name="dense_hidden_1"))
model.add(Dropout(0.2))
model.add(Dense(32, activation="relu", name="dense_hidden_2"))
model.add(Dropout(0.2))
model.add(Dense(10, activation="softmax", name="prediction"))
model.compile(loss="categorical_crossentropy", optimizer="rmsprop", metrics=["accuracy"])

history = model.fit(x_train, y_train, batch_size=128, epochs=10, verbose=0, validation_data=(x_test, y_test))
print("validation accuracy %.3f" % history.history["val_accuracy"][-1])


# what the images look like to the network, for the projector
def layers_to_save(network):
    return [layer for layer in network.layers if isinstance(layer, Embedding)]


def save_embeddings(network, images):
    vectors = []
    for layer in layers_to_save(network):
        upto = Model(network.inputs, layer.output)
        vectors.append(upto.predict(images, verbose=0))
        print("embedding of %s: %s" % (layer.name, vectors[-1].shape))
    return np.concatenate(vectors, axis=1)


gallery = save_embeddings(model, x_train)
queries = save_embeddings(model, x_test)

# images that lie close together should show the same digit
neighbours = KNeighborsClassifier(5).fit(gallery, y_train.argmax(axis=1))
print("neighbours agree on %.3f of the test images" % neighbours.score(queries, y_test.argmax(axis=1)))
