from collections import deque

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

USERS, ITEMS, DIM = 60, 40, 5
BATCH_SIZE = 100
EPOCHS = 60


def simulate_ratings():
    """Ratings from 1 to 5 for three quarters of all pairs of user and item."""
    taste = np.random.randn(USERS, 2)
    genre = np.random.randn(ITEMS, 2)
    scores = 3.2 + 0.6 * taste @ genre.T + 0.4 * np.random.randn(1, ITEMS)
    users, items = np.nonzero(np.random.rand(USERS, ITEMS) < 0.75)
    rates = np.clip(scores[users, items] + 0.2 * np.random.randn(len(users)), 1, 5)
    order = np.random.permutation(len(users))
    table = np.stack([users, items], axis=1)[order].astype(np.int32)
    return table, rates[order].astype(np.float32)


def factorize(users, items):
    """Predicted ratings of some pairs, and the size of the vectors that they come from."""
    narrow = tf.truncated_normal_initializer(stddev=0.1)
    user_table = tf.get_variable("user_vectors", [USERS, DIM], initializer=narrow)
    item_table = tf.get_variable("item_vectors", [ITEMS, DIM], initializer=narrow)
    user_level = tf.get_variable("user_level", [USERS], initializer=tf.zeros_initializer())
    item_level = tf.get_variable("item_level", [ITEMS], initializer=tf.zeros_initializer())
    level = tf.get_variable("level", [], initializer=tf.constant_initializer(3.0))

    user_vector, item_vector = tf.gather(user_table, users), tf.gather(item_table, items)
    match = tf.reduce_sum(tf.multiply(user_vector, item_vector), axis=1)
    predicted = tf.add_n([match, tf.gather(user_level, users), tf.gather(item_level, items)]) + level
    return predicted, tf.nn.l2_loss(user_vector) + tf.nn.l2_loss(item_vector)


def training_step(predicted, size, rates, learning_rate=0.02, penalty=0.05):
    misfit = tf.nn.l2_loss(tf.sub(predicted, rates))
    cost = tf.add(misfit, tf.multiply(size, penalty))
    return tf.train.AdamOptimizer(learning_rate).minimize(cost)


def main():
    pairs, rates = simulate_ratings()
    split = int(0.9 * len(rates))

    users = tf.placeholder(tf.int32, [None])
    items = tf.placeholder(tf.int32, [None])
    given = tf.placeholder(tf.float32, [None])
    predicted, size = factorize(users, items)
    step = training_step(predicted, size, given)

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        errors = deque(maxlen=split // BATCH_SIZE)
        for epoch in range(1, EPOCHS + 1):
            for _ in range(split // BATCH_SIZE):
                rows = np.random.randint(0, split, BATCH_SIZE)
                _, guess = sess.run([step, predicted], {users: pairs[rows, 0], items: pairs[rows, 1], given: rates[rows]})
                errors.append(np.mean((np.clip(guess, 1, 5) - rates[rows]) ** 2))
            if epoch % 20 == 0:
                guess = sess.run(predicted, {users: pairs[split:, 0], items: pairs[split:, 1]})
                test_rmse = np.sqrt(np.mean((np.clip(guess, 1, 5) - rates[split:]) ** 2))
                print("%3d  train rmse %.3f  test rmse %.3f" % (epoch, np.sqrt(np.mean(errors)), test_rmse))


if __name__ == "__main__":
    main()
