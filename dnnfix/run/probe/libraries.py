"""The libraries whose programs are looked at, and which framework each of them brings along.

It is the one list for the search of folders, for the names in a source and for the probe, in whose folder it lies and which runs on
Python 3.6; `dnnfix.libraries` is a link to it.
"""

FRAMEWORKS = ("torch", "keras", "tensorflow")
"""What networks are built and trained with."""

ON_TORCH = (
    "accelerate",
    "diffusers",
    "ignite",
    "lightning",
    "peft",
    "pytorch_lightning",
    "pytorch_pretrained_bert",
    "pytorch_transformers",
    "sentence_transformers",
    "setfit",
    "timm",
    "torchaudio",
    "torchmetrics",
    "torchtext",
    "torchvision",
    "transformers",
    "trl",
)
"""Libraries that bring torch along."""

ON_KERAS = ("keras_cv", "keras_hub", "keras_nlp")
"""Libraries that bring Keras along."""

ABOUT_MODELS = ("datasets", "evaluate", "huggingface_hub", "tensorflow_datasets", "tf_keras", "tokenizers")
"""Libraries of programs about models, whatever framework these are for."""

OF_DATA = (
    "PIL",
    "albumentations",
    "cv2",
    "flax",
    "gensim",
    "gym",
    "gymnasium",
    "jax",
    "matplotlib",
    "networkx",
    "numpy",
    "pandas",
    "scipy",
    "seaborn",
    "skimage",
    "sklearn",
)
"""Other libraries of which something is known: what they lost or renamed, and how they are called."""

SUCCESSORS = {
    "gym": "gymnasium",
    "keras_nlp": "keras_hub",
    "pytorch_pretrained_bert": "transformers",
    "pytorch_transformers": "transformers",
}
"""Packages that live on under another name: where the old one is not installed and the new one is, a program is out of date."""
