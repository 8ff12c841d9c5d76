# Tags songs by four numbers for each of their bars. A song may have several tags.
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

flags = dict(steps=400, acc_batch_size=80, outfile=None)


class baseConfig:
    floatSize = tf.float64
    NUM_BARS = 8
    NUM_VALUES = 4
    TAGS = ["slow", "loud", "voice"]


def makeSongs(n):
    tags = np.random.rand(n, len(baseConfig.TAGS)) < [0.4, 0.5, 0.3]
    bars = np.random.normal(0, 0.5, (n, baseConfig.NUM_BARS, baseConfig.NUM_VALUES))
    bars[:, :, 0] -= tags[:, :1]
    bars[:, :, 1] += tags[:, 1:2]
    bars[:, ::2, 2] += 1.5 * tags[:, 2:]
    bars[:, :, 3] += 0.5 * (tags[:, :1] & tags[:, 2:])
    return bars.reshape(n, -1), tags.astype(float)


def dense(h, numOut, name):
    with tf.variable_scope(name):
        numIn = int(h.shape[1])
        w = tf.get_variable("w", [numIn, numOut], dtype=baseConfig.floatSize,
                            initializer=tf.truncated_normal_initializer(stddev=numIn ** -0.5, dtype=baseConfig.floatSize))
        b = tf.get_variable("b", [numOut], dtype=baseConfig.floatSize, initializer=tf.zeros_initializer())
    return tf.matmul(h, w) + b


def inference(songs, keepProb):
    h = tf.nn.relu(dense(songs, 24, "fc1"))
    h = tf.nn.dropout(h, keep_prob=keepProb)
    return tf.sigmoid(dense(h, len(baseConfig.TAGS), "out"))


def lossOf(probs, labels):
    tiny = 1e-9
    cross = labels * tf.log(probs + tiny) + (1 - labels) * tf.log(1 - probs + tiny)
    return -tf.reduce_mean(tf.reduce_sum(cross, 1))


def main():
    songs_placeholder = tf.placeholder(baseConfig.floatSize, shape=(None, baseConfig.NUM_BARS * baseConfig.NUM_VALUES))
    labels_placeholder = tf.placeholder("float", shape=(None, len(baseConfig.TAGS)))
    keep_prob = tf.placeholder(baseConfig.floatSize)

    probs = inference(songs_placeholder, keep_prob)
    loss = lossOf(probs, labels_placeholder)
    train = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)

    songs, tags = makeSongs(600)
    testSongs, testTags = makeSongs(160)
    oks, missed, extra = 0, {}, {}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(flags["steps"]):
            rows = np.random.randint(0, len(songs), 50)
            feed = {songs_placeholder: songs[rows], labels_placeholder: tags[rows], keep_prob: 0.8}
            _, value = sess.run([train, loss], feed_dict=feed)
            if step % 100 == 99:
                print("step %d loss %.4f" % (step + 1, value))

        for start in range(0, len(testSongs), flags["acc_batch_size"]):
            part = slice(start, start + flags["acc_batch_size"])
            found = sess.run(probs, feed_dict={songs_placeholder: testSongs[part], keep_prob: 1.0}) > 0.5
            for row, label in zip(found, testTags[part] > 0.5):
                oks += int((row == label).all())
                for i, tag in enumerate(baseConfig.TAGS):
                    missed[tag] = missed.get(tag, 0) + int(label[i] and not row[i])
                    extra[tag] = extra.get(tag, 0) + int(row[i] and not label[i])

    print("%d of %d songs with all their tags" % (oks, len(testSongs)))
    for tag in baseConfig.TAGS:
        print("%-6s missed %2d, extra %2d" % (tag, missed[tag], extra[tag]))


if __name__ == "__main__":
    main()
