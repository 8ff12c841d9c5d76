import keras
import numpy as np
from keras.layers import Dense, Dropout, Input
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

N_OUTPUTS = 8

# articles as counts of words, each with some of eight subjects
X, Y = make_multilabel_classification(
    n_samples=900, n_features=40, n_classes=N_OUTPUTS, n_labels=3, length=60, allow_unlabeled=False
)
X = np.log1p(X).astype("float32")
X_train, X_valid, Y_train, Y_valid = train_test_split(X, Y.astype("float32"), test_size=0.3)


def subject_model():
    model = keras.Sequential()
    model.add(Input((X.shape[1],)))
    model.add(Dense(64, activation="relu"))
    model.add(Dropout(0.3))
    model.add(Dense(N_OUTPUTS, activation="sigmoid"))
    model.compile(
        loss="binary_crossentropy",
        optimizer=keras.optimizers.Adam(learning_rate=3e-3),
        metrics=["binary_accuracy", roc_auc_score],
    )
    return model


model = subject_model()
history = model.fit(
    X_train,
    Y_train,
    validation_data=(X_valid, Y_valid),
    batch_size=64,
    epochs=6,
    verbose=0,
)

for name, values in history.history.items():
    print("%-22s %s" % (name, "  ".join("%.3f" % value for value in values)))
