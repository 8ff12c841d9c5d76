import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

N_USERS, N_ITEMS, DIM = 60, 40, 6
BATCH = 128


def make_ratings(count=4000):
    taste = np.random.normal(size=(N_USERS, 3))
    style = np.random.normal(size=(N_ITEMS, 3))
    u = np.random.randint(0, N_USERS, size=count)
    i = np.random.randint(0, N_ITEMS, size=count)
    r = (taste[u] * style[i]).sum(axis=1) + 3.0
    return u.astype("int32"), i.astype("int32"), r.astype("float32")


users = tf.placeholder(tf.int32, [None], name="users")
items = tf.placeholder(tf.int32, [None], name="items")
ratings = tf.placeholder(tf.float32, [None], name="ratings")

user_table = tf.Variable(tf.random_normal([N_USERS, DIM], stddev=0.3))
item_table = tf.Variable(tf.random_normal([N_ITEMS, DIM], stddev=0.3))
mean = tf.Variable(0.0)

p = tf.nn.embedding_lookup(user_table, users)
q = tf.nn.embedding_lookup(item_table, items)
predicted = tf.reduce_sum(tf.mul(p, q), 1) + mean
loss = tf.reduce_mean(tf.square(predicted - ratings))
train_op = tf.train.AdamOptimizer(0.03).minimize(loss)

u, i, r = make_ratings()
split = 3200

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(15):
        order = np.random.permutation(split)
        for start in range(0, split, BATCH):
            pick = order[start:start + BATCH]
            sess.run(train_op, {users: u[pick], items: i[pick], ratings: r[pick]})
        mse = sess.run(loss, {users: u[split:], items: i[split:], ratings: r[split:]})
        print("epoch %d  validation mse %.3f" % (epoch, mse))
