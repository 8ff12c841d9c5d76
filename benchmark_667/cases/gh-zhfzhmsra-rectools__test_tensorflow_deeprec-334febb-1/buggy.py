# Rating prediction with biased matrix factorisation (SVD).
import numpy as np
import tensorflow as tf

USER_NUM = 60
ITEM_NUM = 40
DIM = 5
BATCH_SIZE = 200
EPOCHS = 30


def simulate_ratings(count):
    taste = np.random.normal(0, 0.6, size=(USER_NUM, 3))
    flavour = np.random.normal(0, 0.6, size=(ITEM_NUM, 3))
    generosity = np.random.normal(0, 0.4, size=USER_NUM)
    popularity = np.random.normal(0, 0.5, size=ITEM_NUM)
    user = np.random.randint(USER_NUM, size=count)
    item = np.random.randint(ITEM_NUM, size=count)
    rate = 3.3 + generosity[user] + popularity[item] + (taste[user] * flavour[item]).sum(1)
    rate += np.random.normal(0, 0.2, size=count)
    return user.astype(np.int32), item.astype(np.int32), rate.clip(1, 5).astype(np.float32)


init = tf.random_normal_initializer(stddev=0.02)
bias_global = tf.Variable(0.0, name="bias_global")
w_bias_user = tf.Variable(tf.zeros([USER_NUM]), name="embd_bias_user")
w_bias_item = tf.Variable(tf.zeros([ITEM_NUM]), name="embd_bias_item")
w_user = tf.Variable(init([USER_NUM, DIM]), name="embd_user")
w_item = tf.Variable(init([ITEM_NUM, DIM]), name="embd_item")
weights = [bias_global, w_bias_user, w_bias_item, w_user, w_item]


def inference_svd(user_batch, item_batch):
    bias_user = tf.nn.embedding_lookup(w_bias_user, user_batch)
    bias_item = tf.nn.embedding_lookup(w_bias_item, item_batch)
    embd_user = tf.nn.embedding_lookup(w_user, user_batch)
    embd_item = tf.nn.embedding_lookup(w_item, item_batch)
    infer = tf.reduce_sum(tf.mul(embd_user, embd_item), 1)
    infer = tf.add(infer, bias_global)
    infer = tf.add(infer, bias_user)
    infer = tf.add(infer, bias_item, name="svd_inference")
    regularizer = tf.add(tf.nn.l2_loss(embd_user), tf.nn.l2_loss(embd_item))
    return infer, regularizer


# plain Adam, the moments are kept beside the weights
moments = [(tf.Variable(tf.zeros_like(w)), tf.Variable(tf.zeros_like(w))) for w in weights]


@tf.function
def train_step(user, item, rate, count, learning_rate=0.02, reg=0.02):
    with tf.GradientTape() as tape:
        infer, regularizer = inference_svd(user, item)
        cost = tf.nn.l2_loss(tf.subtract(infer, rate)) + reg * regularizer
    for w, (m, v), g in zip(weights, moments, tape.gradient(cost, weights)):
        g = tf.convert_to_tensor(g)
        m.assign(0.9 * m + 0.1 * g)
        v.assign(0.999 * v + 0.001 * g * g)
        w.assign_sub(learning_rate * (m / (1 - 0.9 ** count)) / (tf.sqrt(v / (1 - 0.999 ** count)) + 1e-8))
    return tf.square(infer - rate)


user, item, rate = simulate_ratings(3000)
cut = 2400
count = 0.0
for epoch in range(EPOCHS):
    order = np.random.permutation(cut)
    errors = []
    for batch in np.split(order, cut // BATCH_SIZE):
        count += 1.0
        errors.append(train_step(user[batch], item[batch], rate[batch], tf.constant(count)))
    if epoch % 10 == 0:
        print("epoch %2d  train rmse %.3f" % (epoch, np.sqrt(np.mean(errors))))

prediction, _ = inference_svd(user[cut:], item[cut:])
test_rmse = np.sqrt(np.mean((np.clip(prediction, 1, 5) - rate[cut:]) ** 2))
print("test rmse %.3f" % test_rmse)
