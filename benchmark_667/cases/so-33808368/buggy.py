import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

NUM_MEASURES = 4
NUM_SPECIES = 3
BATCH = 30
STEPS = 300


def flower_csv(per_species=80):
    """Lines as they stand in flowers.csv: four measures in cm, then the species."""
    centres = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])
    lines = []
    for species in range(NUM_SPECIES):
        measured = centres[species] + 0.3 * np.random.randn(per_species, NUM_MEASURES)
        for row in measured:
            lines.append(",".join("%.1f" % cm for cm in row) + ",%d" % species)
    np.random.shuffle(lines)
    return lines


def read_row(line):
    columns = tf.decode_csv(line, record_defaults=[[0]] * (NUM_MEASURES + 1))
    measures = tf.stack(columns[:-1])
    species = tf.one_hot(columns[-1], NUM_SPECIES)
    return measures, species


def input_batch(lines):
    rows = tf.data.Dataset.from_tensor_slices(lines).map(read_row)
    rows = rows.repeat().shuffle(200).batch(BATCH, drop_remainder=True)
    return tf.data.make_one_shot_iterator(rows).get_next()


features, labels = input_batch(flower_csv())
features = tf.cast(features, tf.float32)

weights = tf.Variable(tf.zeros([NUM_MEASURES, NUM_SPECIES]), name="weights")
bias = tf.Variable(tf.zeros([NUM_SPECIES]), name="bias")
scores = tf.matmul(features, weights) + bias

loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=scores))
train_op = tf.train.AdamOptimizer(0.05).minimize(loss)
hits = tf.equal(tf.argmax(scores, 1), tf.argmax(labels, 1))
accuracy = tf.reduce_mean(tf.cast(hits, tf.float32))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(1, STEPS + 1):
        _, cost, hit_rate = sess.run([train_op, loss, accuracy])
        if step % 50 == 0:
            print("step %d  loss %.4f  accuracy %.2f" % (step, cost, hit_rate))
