"""Writes a little report on the test digits that a stored half-precision network confuses or is unsure of."""
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

FLOAT = np.float16      # what the stored weights are kept in
HIDDEN = 40
UNSURE = 0.5

v1 = tf.compat.v1
v1.disable_v2_behavior()


def stored_weights(pixels, classes):
    """Stands for the checkpoint: trained in full precision, kept in half of it."""
    mlp = MLPClassifier((HIDDEN,), max_iter=12, learning_rate_init=0.01)
    mlp.fit(pixels, classes)
    names = ("fc1/w", "fc2/w", "fc1/b", "fc2/b")
    return {name: value.astype(FLOAT) for name, value in zip(names, mlp.coefs_ + mlp.intercepts_)}


def inference(images, weights):
    hidden = tf.nn.relu(tf.matmul(images, tf.constant(weights["fc1/w"])) + weights["fc1/b"])
    return tf.nn.softmax(tf.matmul(hidden, tf.constant(weights["fc2/w"])) + weights["fc2/b"])


def top1(values):
    return int(np.argmax(values))


def table(title, rows):
    cells = "".join("<tr><td>%d</td><td>%d</td><td>%d</td><td>%.2f</td></tr>" % row for row in rows)
    return "<h3>%s</h3><table>%s</table>" % (title, cells)


digits = load_digits()
pixels = digits.data / 16.0
shuffled = np.random.permutation(len(pixels))
known, unseen = shuffled[:1200], shuffled[1200:]
weights = stored_weights(pixels[known], digits.target[known])

images_placeholder = v1.placeholder("float", shape=(None, pixels.shape[1]))
scores = inference(images_placeholder, weights)

oks, lowscores, ngs, stat = [], [], [], {}
with v1.Session() as sess:
    for batch in np.array_split(unseen, 8):
        arrays = sess.run(scores, feed_dict={images_placeholder: pixels[batch]})
        for index, arr in zip(batch, arrays):
            label, top = int(digits.target[index]), top1(arr)
            row = (index, label, top, arr[top])
            if label != top:
                ngs.append(row)
                stat[label] = stat.get(label, 0) + 1
            elif arr[top] < UNSURE:
                lowscores.append(row)
            else:
                oks.append(row)

html = "<html><body>%s%s</body></html>" % (table("MISTAKEN", ngs), table("LOW SCORES", lowscores))
print("ok", len(oks), "low", len(lowscores), "mistaken", len(ngs), "report of", len(html), "characters")
for label, count in sorted(stat.items()):
    print("digit", label, "mistaken", count, "times")
