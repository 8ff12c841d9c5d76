"""The TensorFlow 1 functions that mean the same in TensorFlow 2, and the Keras optimizers that equal those of
TensorFlow 1.

Found by comparing the functions of `tf` and `tf.compat.v1` in TensorFlow 2.21: most are one and the same object; of
others the first arguments, as many as are stated, have the same positions.
"""

from __future__ import annotations

from dataclasses import dataclass

ANY = 99

_SAME = """
Variable:2 abs add add_n argmax:2 argmin:2 bool cast ceil clip_by_norm clip_by_value complex64 concat constant:3
constant_initializer:1 convert_to_tensor:2 cos cumsum divide double dtypes equal exp expand_dims:2 eye fill float16
float32 float64 floor function greater greater_equal half identity int16 int32 int64 int8 less less_equal linspace
logical_and logical_not logical_or matmul maximum meshgrid minimum multiply name_scope:1 negative newaxis not_equal
one_hot ones ones_initializer:0 ones_like:2 pow range rank reduce_all:3 reduce_any:3 reduce_logsumexp:3 reduce_max:3
reduce_mean:3 reduce_min:3 reduce_prod:3 reduce_sum:3 reshape reverse round scalar_mul shape:1 sigmoid sign sin size:1
slice split sqrt square squeeze:2 stack stop_gradient string subtract tanh tensordot tile transpose:2 truediv uint8
unstack where:2 zeros zeros_initializer:0 zeros_like:2 pad:3 gather:2 TensorSpec GradientTape
random_normal_initializer:2 random_uniform_initializer:2
random.normal random.uniform random.truncated_normal random.set_seed random.shuffle
math.abs math.add math.ceil math.cos math.cosh math.cumsum math.divide math.erf math.exp math.floor math.floormod
math.greater math.less math.log math.log1p math.log_sigmoid math.maximum math.minimum math.multiply math.negative
math.pow math.reciprocal math.reduce_mean:3 math.reduce_sum:3 math.round math.rsqrt math.sigmoid math.sign math.sin
math.softplus math.sqrt math.square math.squared_difference math.subtract math.tan math.tanh math.truediv math.expm1
nn.avg_pool:4 nn.batch_normalization nn.bias_add nn.conv2d:4 nn.conv2d_transpose:5 nn.dropout:1 nn.elu
nn.embedding_lookup:2 nn.l2_loss nn.l2_normalize:2 nn.leaky_relu nn.local_response_normalization nn.log_softmax:2
nn.lrn nn.max_pool:4 nn.max_pool2d:4 nn.moments:2 nn.relu nn.relu6 nn.selu nn.sigmoid
nn.sigmoid_cross_entropy_with_logits:0 nn.softmax:2 nn.softmax_cross_entropy_with_logits:0 nn.softplus nn.softsign
nn.sparse_softmax_cross_entropy_with_logits:0 nn.tanh nn.top_k nn.zero_fraction
linalg.det linalg.diag_part linalg.inv linalg.matmul linalg.matrix_transpose linalg.norm:2 linalg.solve linalg.trace
linalg.cholesky linalg.band_part linalg.tensor_diag
truncated_normal_initializer glorot_uniform_initializer glorot_normal_initializer variance_scaling_initializer
uniform_unit_scaling_initializer orthogonal_initializer to_float to_int32 to_int64 to_double div nn.xw_plus_b
initializers.GlorotUniform initializers.GlorotNormal initializers.HeNormal initializers.HeUniform
initializers.TruncatedNormal initializers.RandomNormal initializers.RandomUniform
"""

SAME: dict[str, int] = {
    name: int(count) if count else ANY for name, _, count in (word.partition(":") for word in _SAME.split())
}
"""By name without `tensorflow.`, how many arguments given by place mean what they meant."""


@dataclass(frozen=True, slots=True)
class Optimizer:
    """An optimizer of TensorFlow 1: the class that computes the same, its parameters by place, and what to state."""

    today: str
    parameters: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...] = ()
    stated: tuple[tuple[str, str], ...] = ()
    """Settings with other defaults today, as they were."""


_OLD = "compat.v1.train"

OPTIMIZERS = {
    "GradientDescentOptimizer": Optimizer("keras.optimizers.SGD", ("learning_rate",)),
    "MomentumOptimizer": Optimizer(
        "keras.optimizers.SGD", ("learning_rate", "momentum"), (("use_nesterov", "nesterov"),)
    ),
    "AdamOptimizer": Optimizer(
        "keras.optimizers.Adam",
        ("learning_rate", "beta1", "beta2", "epsilon"),
        (("beta1", "beta_1"), ("beta2", "beta_2")),
        (("epsilon", "1e-08"),),
    ),
    "AdadeltaOptimizer": Optimizer(
        "keras.optimizers.Adadelta", ("learning_rate", "rho", "epsilon"), (), (("epsilon", "1e-08"),)
    ),
    "RMSPropOptimizer": Optimizer(f"{_OLD}.RMSPropOptimizer", ("learning_rate", "decay", "momentum", "epsilon")),
    "AdagradOptimizer": Optimizer(f"{_OLD}.AdagradOptimizer", ("learning_rate", "initial_accumulator_value")),
    "FtrlOptimizer": Optimizer(f"{_OLD}.FtrlOptimizer", ("learning_rate", "learning_rate_power")),
}
"""By class of tf.train; those of tf.compat.v1.train stay where Keras begins with other accumulators."""
