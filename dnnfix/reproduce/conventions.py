"""Tables of names with one common meaning (`np`, `DataLoader`) and of packages, for missing imports and packages."""

from __future__ import annotations

import re

from dnnfix.source.public_names import words

_FROM: dict[str, str] = {
    "bs4": "BeautifulSoup",
    "collections": "Counter OrderedDict defaultdict deque namedtuple",
    "copy": "deepcopy",
    "functools": "partial",
    "PIL": "Image ImageDraw ImageFont",
    "numpy": "genfromtxt loadtxt",
    "pandas": "read_csv read_excel read_fwf read_table",
    "pathlib": "Path",
    "pprint": "pprint",
    "scipy.io": "loadmat savemat",
    "skimage.transform": "resize",
    "sklearn.compose": "ColumnTransformer",
    "sklearn.datasets": "load_breast_cancer load_diabetes load_digits load_iris load_wine make_blobs make_circles "
    "make_classification make_moons make_regression",
    "sklearn.decomposition": "PCA",
    "sklearn.linear_model": "LinearRegression LogisticRegression",
    "sklearn.metrics": "accuracy_score auc classification_report confusion_matrix f1_score mean_absolute_error "
    "mean_squared_error precision_score r2_score recall_score roc_auc_score roc_curve",
    "sklearn.model_selection": "GridSearchCV KFold RandomizedSearchCV StratifiedKFold cross_val_score train_test_split",
    "sklearn.pipeline": "Pipeline make_pipeline",
    "sklearn.preprocessing": "LabelBinarizer LabelEncoder MinMaxScaler MultiLabelBinarizer Normalizer OneHotEncoder "
    "RobustScaler StandardScaler",
    "sklearn.utils": "shuffle",
    "sklearn.utils.class_weight": "compute_class_weight",
    "torch": "BoolTensor ByteTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor Tensor",
    "torch.utils.tensorboard": "SummaryWriter",
    "torch.utils.data.dataset": "random_split",
    "typing": "Any Callable Dict Iterable Iterator List Optional Sequence Set Tuple Union",
    "tqdm": "tqdm trange",
}
_MODULES = words("""argparse collections copy csv cv2 functools glob gzip h5py io itertools json logging math operator os
    pickle random re shutil string struct subprocess sys tarfile tempfile threading time torchtext typing urllib uuid
    warnings zipfile sklearn scipy skimage nltk joblib imageio""")
CALLED = {
    "datetime": "datetime.datetime",
    "glob": "glob.glob",
    "time": "time.time",
    "copy": "copy.copy",
    "random": "random.random",
}
"""Names of modules that programs call: then they mean the function of that name in the module."""

NAMES: dict[str, str] = {
    **{name: name for name in _MODULES},
    **{name: f"{module}.{name}" for module, names in _FROM.items() for name in names.split()},
    "datetime": "datetime",
    "sns": "seaborn",
    "datasets": "torchvision.datasets",
    "mpl": "matplotlib",
    "save_image": "torchvision.utils.save_image",
    "make_grid": "torchvision.utils.make_grid",
    "image_dataset_from_directory": "keras.utils.image_dataset_from_directory",
    "load_img": "keras.utils.load_img",
    "img_to_array": "keras.utils.img_to_array",
    "plot_model": "keras.utils.plot_model",
    "Tokenizer": "keras.preprocessing.text.Tokenizer",
    "VGG16": "keras.applications.VGG16",
    "VGG19": "keras.applications.VGG19",
    "ResNet50": "keras.applications.ResNet50",
    "InceptionV3": "keras.applications.InceptionV3",
    "MobileNetV2": "keras.applications.MobileNetV2",
    "Xception": "keras.applications.Xception",
    "l1": "keras.regularizers.l1",
    "l2": "keras.regularizers.l2",
}
"""What a name that a program uses and nothing binds means by custom; those of the frameworks are in `source.known`."""

TORCH_ONLY = words("datasets save_image make_grid")
"""Names that mean this in a program for PyTorch only."""

SILENT = words("""IPython aim clearml colorama colored coloredlogs comet_ml crayon dashboard dvclive emoji graphviz
    hiddenlayer hyperdash ipdb ipywidgets livelossplot loguru matplotlib mlflow neptune netron nvidia_smi
    prettytable progressbar progress pudb pushbullet pydot pydot_ng pydotplus pygments seaborn setproctitle slack
    swanlab tabulate telegram tensorboardX tensorboard_logger termcolor torchinfo torchsummary torchviz tqdm trackio
    unidecode visdom wandb yagmail""")
"""Packages that only show, log, time or send messages: values pass through them."""

SILENT_PARTS = ("google.colab",)
"""The same for parts of packages."""

INSTALLED_AS = {
    "Bio": "biopython",
    "OpenGL": "PyOpenGL",
    "PIL": "pillow",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "efficientnet_pytorch": "efficientnet-pytorch",
    "fitz": "PyMuPDF",
    "git": "GitPython",
    "ignite": "pytorch-ignite",
    "pylab": "matplotlib",
    "pywt": "PyWavelets",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "tensorflow_datasets": "tensorflow-datasets",
    "tensorflow_hub": "tensorflow-hub",
    "tf_slim": "tf-slim",
    "umap": "umap-learn",
    "yaml": "PyYAML",
    "zmq": "pyzmq",
}
"""The names of packages that are installed under another name than they are imported by."""

PACKAGES = (
    words("""absl accelerate albumentations apex audioread autograd baselines cntk cupy dask datasets deap dgl dill
    docopt easydict einops ewald fairseq faiss fastai fire gensim gin gym gymnasium h5py hdf5storage hyperopt imageio imgaug
    imblearn imutils jieba joblib keras keras_tuner kornia lasagne librosa lightgbm lightning lmdb medpy mido mir_eval
    mlxtend monai moviepy msgpack mujoco_py music21 natsort networkx nibabel nltk noise numba numpy onnx onnxruntime
    open3d optuna ot pandas peft pretty_midi psutil pybullet pybullet_envs pyarrow pydicom pygame pymongo pyro
    pytorch_lightning pytorch_pretrained_bert ray rdkit redis regex requests rouge sacrebleu scipy sentencepiece
    sentence_transformers shap simpy skopt skorch sonnet soundfile spacy statsmodels sympy tables tensorflow
    tensorflow_addons tensorflow_probability tflearn theano timm tokenizers torch torch_geometric torch_scatter
    torch_sparse torchaudio torchmetrics torchtext torchvision transformers unidecode xgboost""")
    | INSTALLED_AS.keys()
)
"""Packages that compute or read something, for which there is no stand-in."""

OLD_NAMES = words(
    "basestring cmp execfile long raw_input reduce reload unichr unicode xrange file apply buffer coerce intern"
)
"""Builtins that Python 3 removed: faults of the program, which are not hidden."""

TFDS = {
    "mnist", "fashion_mnist", "kmnist", "cifar10", "cifar100", "svhn_cropped", "stl10", "cats_vs_dogs", "horses_or_humans",
    "rock_paper_scissors", "tf_flowers", "beans", "imdb_reviews", "ag_news_subset",
}  # fmt: skip
"""The data sets of TensorFlow Datasets that can be made."""

MNIST_FILE = re.compile(r"(?:train|t10k)-(?:images|labels)[-.]idx[13]-ubyte(?:\.gz)?")
"""The names of the four files of MNIST."""
