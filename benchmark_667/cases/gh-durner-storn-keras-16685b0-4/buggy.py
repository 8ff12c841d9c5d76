"""Stochastic recurrent network (STORN) over the joint angles of a robot arm."""
import keras
import numpy as np
from keras import layers, ops


class Sample(layers.Layer):
    """Draws z from the statistics [mean, log variance]."""

    def __init__(self, latent_dim, **kwargs):
        super().__init__(**kwargs)
        self.latent_dim = latent_dim
        self.seed = keras.random.SeedGenerator()

    def call(self, stats):
        mean, log_var = stats[..., :self.latent_dim], stats[..., self.latent_dim:]
        return mean + ops.exp(0.5 * log_var) * keras.random.normal(ops.shape(mean), seed=self.seed)


class STORNModel:
    def __init__(self, joints=7, latent_dim=16, n_hidden_dense=32, n_hidden_recurrent=32):
        self.joints = joints
        self.latent_dim = latent_dim
        self.n_hidden_dense = n_hidden_dense
        self.n_hidden_recurrent = n_hidden_recurrent
        self.train_model = None

    def _build(self, seq_len):
        x_t = keras.Input((seq_len, self.joints), name="x_t")
        x_tm1 = keras.Input((seq_len, self.joints), name="x_tm1")

        # recognition: what z may have been, seeing x now
        hidden = layers.GRU(self.n_hidden_recurrent, return_sequences=True)(x_t)
        z_post_stats = layers.Dense(2 * self.latent_dim, name="posterior")(hidden)
        z_t = Sample(self.latent_dim)(z_post_stats)

        # prior: what z is expected to be, seeing x before
        hidden = layers.GRU(self.n_hidden_recurrent, return_sequences=True)(x_tm1)
        z_prior_stats = layers.Dense(2 * self.latent_dim, name="prior")(hidden)

        # generation
        gen_input = layers.Concatenate()([x_tm1, z_t])
        gen_input = layers.Dense(self.n_hidden_dense, activation="relu")(gen_input)
        rnn_gen = layers.GRU(self.n_hidden_recurrent, return_sequences=True)(gen_input)
        gen_mu = layers.Dense(self.joints, name="mu")(rnn_gen)
        gen_sigma = layers.Dense(self.joints, activation="softplus", name="sigma")(rnn_gen)

        output = layers.Concatenate()([gen_mu, gen_sigma, z_post_stats, z_prior_stats])
        model = keras.Model([x_t, x_tm1], output)
        model.compile(optimizer=keras.optimizers.RMSprop(2e-3), loss=self.variational_loss)
        return model

    def variational_loss(self, y_true, y_pred):
        joints, latent = self.joints, self.latent_dim
        # only the first columns of the target are joints, the rest is padding
        error = y_true - y_pred
        sigma = y_pred[..., joints:2 * joints] + 1e-2
        rec = ops.sum(0.5 * ops.square(error[..., :joints] / sigma) + ops.log(sigma), axis=-1)
        stats = y_pred[..., 2 * joints:]
        m1, s1, m2, s2 = (stats[..., i * latent:(i + 1) * latent] for i in range(4))
        kl = 0.5 * ops.sum(s2 - s1 + (ops.exp(s1) + ops.square(m1 - m2)) / ops.exp(s2) - 1, axis=-1)
        return ops.mean(rec + kl)

    def fit(self, inputs, target, max_epochs=3, validation_split=0.2):
        self.train_model = self._build(inputs[0].shape[1])
        split_idx = int((1.0 - validation_split) * len(target))
        train_input, valid_input = [list(t) for t in zip(*[(X[:split_idx], X[split_idx:]) for X in inputs])]
        train_target, valid_target = target[:split_idx], target[split_idx:]

        # target and output are of one size, the statistics ride in the output
        padded_target = np.concatenate((train_target, np.zeros((train_target.shape[0],
                                                                train_target.shape[1],
                                                                5 * train_target.shape[2]))), axis=-1)
        padded_valid_target = np.concatenate((valid_target, np.zeros((valid_target.shape[0],
                                                                      valid_target.shape[1],
                                                                      5 * valid_target.shape[2]))), axis=-1)
        return self.train_model.fit(train_input, padded_target, epochs=max_epochs, batch_size=20, verbose=2,
                                    validation_data=(valid_input, padded_valid_target))


def arm_movements(n, seq_len=15, joints=7):
    t = np.arange(seq_len + 1) / seq_len
    start, end = np.random.uniform(-1, 1, (2, n, 1, joints))
    path = start + (end - start) * (3 * t ** 2 - 2 * t ** 3)[None, :, None]
    path += 0.02 * np.random.randn(*path.shape)
    return path[:, 1:].astype("float32"), path[:, :-1].astype("float32")


if __name__ == "__main__":
    now, before = arm_movements(200)
    storn = STORNModel()
    history = storn.fit([now, before], now)
    print("validation loss: %.3f" % history.history["val_loss"][-1])
