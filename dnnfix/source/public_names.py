"""Tables of the public names of torch and Keras: what star imports bind, and what snippets use without importing it.

Only names that mean one thing to everyone are here; what two frameworks share (`Adam`, `Dropout`) is settled by the
framework that the rest of the snippet uses. The lists follow the public documentation of torch 1-2 and Keras 1-3.
"""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a string, as a set: name lists can be written and sorted as prose."""
    return frozenset(text.split())


TORCH_NN = words("""AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveLogSoftmaxWithLoss AdaptiveMaxPool1d
    AdaptiveMaxPool2d AdaptiveMaxPool3d AlphaDropout AvgPool1d AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss
    BatchNorm1d BatchNorm2d BatchNorm3d Bilinear CELU CTCLoss ConstantPad1d ConstantPad2d Conv1d Conv2d Conv3d
    ConvTranspose1d ConvTranspose2d ConvTranspose3d CosineEmbeddingLoss CosineSimilarity CrossEntropyLoss DataParallel
    Dropout Dropout1d Dropout2d Dropout3d ELU Embedding EmbeddingBag Flatten Fold GELU GLU GRU GRUCell GaussianNLLLoss
    GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh HingeEmbeddingLoss HuberLoss Identity InstanceNorm1d
    InstanceNorm2d InstanceNorm3d KLDivLoss L1Loss LPPool1d LPPool2d LSTM LSTMCell LayerNorm LazyConv2d LazyLinear
    LeakyReLU Linear LocalResponseNorm LogSigmoid LogSoftmax MSELoss MarginRankingLoss MaxPool1d MaxPool2d MaxPool3d
    MaxUnpool2d Mish Module ModuleDict ModuleList MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss
    MultiheadAttention NLLLoss NLLLoss2d PReLU PairwiseDistance Parameter ParameterDict ParameterList PixelShuffle
    PoissonNLLLoss RNN RNNBase RNNCell RReLU ReLU ReLU6 ReflectionPad1d ReflectionPad2d ReplicationPad2d SELU
    Sequential SiLU Sigmoid SmoothL1Loss SoftMarginLoss Softmax Softmax2d Softmin Softplus Softshrink Softsign
    SyncBatchNorm Tanh Tanhshrink Threshold Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder
    TransformerEncoderLayer TripletMarginLoss Unflatten Unfold Upsample UpsamplingBilinear2d UpsamplingNearest2d
    ZeroPad2d functional init modules parallel parameter utils""")

TORCH_FUNCTIONAL = words("""adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool2d affine_grid avg_pool1d avg_pool2d avg_pool3d
    batch_norm bilinear binary_cross_entropy binary_cross_entropy_with_logits celu conv1d conv2d conv3d
    conv_transpose2d cosine_embedding_loss cosine_similarity cross_entropy ctc_loss dropout dropout2d elu embedding
    fold gelu glu grid_sample group_norm gumbel_softmax hardtanh hinge_embedding_loss huber_loss instance_norm
    interpolate kl_div l1_loss layer_norm leaky_relu linear log_softmax logsigmoid margin_ranking_loss max_pool1d
    max_pool2d max_pool3d mse_loss multi_margin_loss nll_loss normalize one_hot pad pairwise_distance pixel_shuffle
    poisson_nll_loss prelu relu relu6 rrelu scaled_dot_product_attention selu sigmoid silu smooth_l1_loss softmax
    softmin softplus softsign tanh triplet_margin_loss unfold upsample""")

TORCH = words("""Tensor FloatTensor LongTensor IntTensor DoubleTensor ByteTensor BoolTensor HalfTensor Size device dtype tensor
    as_tensor from_numpy zeros ones empty full rand randn randint randperm arange linspace logspace eye zeros_like
    ones_like rand_like randn_like empty_like full_like cat concat stack squeeze unsqueeze reshape transpose permute
    flatten matmul mm bmm einsum sigmoid relu softmax log_softmax logsumexp argmax argmin argsort topk where gather
    no_grad enable_grad set_grad_enabled inference_mode manual_seed save load float16 float32 float64 int8 int16 int32
    int64 uint8 long double""")

TORCH_OPTIM = words("""ASGD Adadelta Adagrad Adam AdamW Adamax LBFGS NAdam Optimizer RAdam RMSprop Rprop SGD SparseAdam
    lr_scheduler""")

TORCH_DATA = words("""BatchSampler ChainDataset ConcatDataset DataLoader Dataset DistributedSampler IterableDataset RandomSampler
    Sampler SequentialSampler Subset SubsetRandomSampler TensorDataset WeightedRandomSampler default_collate
    random_split""")

KERAS_LAYERS = words("""Activation ActivityRegularization Add AdditiveAttention AlphaDropout AtrousConvolution2D Attention Average
    AveragePooling1D AveragePooling2D AveragePooling3D BatchNormalization Bidirectional CategoryEncoding CenterCrop
    Concatenate Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM2D Convolution1D
    Convolution2D Convolution3D Cropping1D Cropping2D Cropping3D CuDNNGRU CuDNNLSTM Deconvolution2D Dense
    DepthwiseConv2D Discretization Dot Dropout ELU Embedding Flatten GRU GRUCell GaussianDropout GaussianNoise
    GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D GlobalMaxPool2D GlobalMaxPooling1D
    GlobalMaxPooling2D GlobalMaxPooling3D Highway Input InputLayer InputSpec LSTM LSTMCell Lambda Layer
    LayerNormalization LeakyReLU LocallyConnected1D LocallyConnected2D Masking MaxPool1D MaxPool2D MaxPool3D
    MaxPooling1D MaxPooling2D MaxPooling3D MaxoutDense Maximum Merge Minimum MultiHeadAttention Multiply Normalization
    PReLU Permute RandomContrast RandomCrop RandomFlip RandomRotation RandomTranslation RandomZoom ReLU RepeatVector
    Rescaling Reshape Resizing SeparableConv1D SeparableConv2D SeparableConvolution2D SimpleRNN SimpleRNNCell Softmax
    SpatialDropout1D SpatialDropout2D SpatialDropout3D StackedRNNCells StringLookup Subtract TextVectorization
    ThresholdedReLU TimeDistributed TimeDistributedDense UpSampling1D UpSampling2D UpSampling3D ZeroPadding1D
    ZeroPadding2D ZeroPadding3D add average concatenate dot maximum merge minimum multiply subtract""")

KERAS_MODELS = words(
    "Graph Model Sequential clone_model load_model model_from_config model_from_json model_from_yaml save_model"
)

KERAS_OPTIMIZERS = words("""Adadelta Adafactor Adagrad Adam AdamW Adamax Ftrl Lamb Lion Muon Nadam Optimizer RMSprop SGD
    ScheduleFreeAdamW TFOptimizer schedules""")

KERAS_LOSSES = words("""BinaryCrossentropy BinaryFocalCrossentropy CategoricalCrossentropy CategoricalHinge CosineSimilarity Hinge Huber
    KLDivergence LogCosh Loss MeanAbsoluteError MeanAbsolutePercentageError MeanSquaredError
    MeanSquaredLogarithmicError Poisson SparseCategoricalCrossentropy SquaredHinge binary_crossentropy
    categorical_crossentropy cosine_similarity hinge kullback_leibler_divergence mean_absolute_error
    mean_squared_error mse mae poisson sparse_categorical_crossentropy""")

KERAS_CALLBACKS = words("""BackupAndRestore CSVLogger Callback CallbackList EarlyStopping History LambdaCallback LearningRateScheduler
    ModelCheckpoint ProgbarLogger ReduceLROnPlateau RemoteMonitor TensorBoard TerminateOnNaN""")

KERAS_UTILS = words("Sequence get_file multi_gpu_model normalize np_utils plot_model to_categorical")

KERAS_ROOT = words("""Input KerasTensor Loss Metric Model Sequential activations applications backend callbacks config constraints
    datasets initializers layers losses metrics models ops optimizers preprocessing regularizers utils""")

STAR_EXPORTS: dict[str, frozenset[str]] = {
    "torch": TORCH,
    "torch.nn": TORCH_NN,
    "torch.nn.functional": TORCH_FUNCTIONAL,
    "torch.nn.modules": TORCH_NN,
    "torch.optim": TORCH_OPTIM,
    "torch.optim.lr_scheduler": words("""CosineAnnealingLR CyclicLR ExponentialLR LambdaLR MultiStepLR OneCycleLR ReduceLROnPlateau
        StepLR"""),
    "torch.utils.data": TORCH_DATA,
    "torch.autograd": frozenset(["Variable", "Function", "grad", "backward", "gradcheck"]),
    "keras": KERAS_ROOT,
    "keras.layers": KERAS_LAYERS,
    "keras.models": KERAS_MODELS,
    "keras.optimizers": KERAS_OPTIMIZERS,
    "keras.losses": KERAS_LOSSES,
    "keras.callbacks": KERAS_CALLBACKS,
    "keras.utils": KERAS_UTILS,
    "keras.utils.np_utils": frozenset(["to_categorical", "normalize"]),
}
"""What `from MODULE import *` binds, by the module's canonical name. Names outside these lists stay unknown."""

TORCH_METHODS = words("backward zero_grad no_grad requires_grad_ load_state_dict detach unsqueeze cuda permute")
"""Methods by which a snippet without a name of torch speaks of it."""

STRONG_ALIASES: dict[str, str] = {
    "keras": "keras",
    "nn": "torch.nn",
    "np": "numpy",
    "numpy": "numpy",
    "pd": "pandas",
    "plt": "matplotlib.pyplot",
    "tensorflow": "tensorflow",
    "tf": "tensorflow",
    "torch": "torch",
    "torchvision": "torchvision",
}
"""Module aliases that mean the same in every snippet."""

TORCH_ALIASES: dict[str, str] = {
    "F": "torch.nn.functional",
    "autograd": "torch.autograd",
    "lr_scheduler": "torch.optim.lr_scheduler",
    "optim": "torch.optim",
    "transforms": "torchvision.transforms",
    "Variable": "torch.autograd.Variable",
}
"""Module aliases that mean a part of torch unless the snippet speaks of Keras alone."""

KERAS_ALIASES: dict[str, str] = {
    "K": "keras.backend",
    "callbacks": "keras.callbacks",
    "initializers": "keras.initializers",
    "layers": "keras.layers",
    "losses": "keras.losses",
    "models": "keras.models",
    "np_utils": "keras.utils.np_utils",
    "optimizers": "keras.optimizers",
    "regularizers": "keras.regularizers",
    "to_categorical": "keras.utils.to_categorical",
    "ImageDataGenerator": "keras.preprocessing.image.ImageDataGenerator",
    "pad_sequences": "keras.preprocessing.sequence.pad_sequences",
}
"""Module aliases and functions that mean a part of Keras unless the snippet speaks of torch alone."""


def _classes(*groups: tuple[str, frozenset[str]]) -> dict[str, str]:
    return {name: f"{module}.{name}" for module, names in groups for name in names if name[0].isupper()}


TORCH_CLASSES: dict[str, str] = _classes(
    ("torch.optim", TORCH_OPTIM), ("torch.utils.data", TORCH_DATA), ("torch.nn", TORCH_NN)
)
"""Class names of torch that snippets use bare, with their canonical names."""

KERAS_CLASSES: dict[str, str] = _classes(
    ("keras.callbacks", KERAS_CALLBACKS - {"History", "Callback"}),
    ("keras.losses", KERAS_LOSSES - {"Hinge", "Huber", "Loss", "Poisson"}),
    ("keras.optimizers", KERAS_OPTIMIZERS),
    ("keras.layers", KERAS_LAYERS),
    ("keras.models", KERAS_MODELS - {"Graph"}),
)
"""Class names of Keras that snippets use bare, with their canonical names."""
