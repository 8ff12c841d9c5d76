"""A small hub: repositories of models, written into the cache of the Hugging Face hub when a program asks for them.

A repository holds what the real one does (configuration, tokenizer, processors, weights) and is read by the libraries'
own code. Its architecture is the one its name tells; the network is small, and its weights are random.
"""

from dnnfix.reproduce.standins.hub_tokenizers import _made_own_words, made_tokenizer_files
from dnnfix.reproduce.standins.wrapping import made_in_place_of, made_wraps

_made_families = {  # words in names of repositories whose architecture is called otherwise
    "alpaca": "llama", "bge": "bert", "byt5": "t5", "chemberta": "roberta", "codet5": "t5", "codeparrot": "gpt2",
    "deberta-v3": "deberta-v2", "deepseek-llm": "llama", "dialogpt": "gpt2", "e5": "bert", "gte": "bert",
    "guanaco": "llama", "kogpt2": "gpt2", "mdeberta": "deberta-v2", "minilm": "bert", "mit-b": "segformer", "nllb": "m2m_100",
    "opus-mt": "marian", "pythia": "gpt_neox", "qwen1.5": "qwen2", "qwq": "qwen2", "smollm": "llama",
    "starcoder": "gpt_bigcode", "vicuna": "llama", "zephyr": "mistral",
}  # fmt: skip

_made_kinds = (  # what the name of a class asks for, and an architecture that has it
    ("CausalLM", "gpt2"),
    ("Seq2SeqLM", "t5"),
    ("SpeechSeq2Seq", "whisper"),
    ("ForCTC", "wav2vec2"),
    ("Audio", "wav2vec2"),
    ("ForImage", "vit"),
    ("Image", "vit"),
    ("ObjectDetection", "detr"),
    ("Vision2Seq", "vision-encoder-decoder"),
)


def made_small_hub(classes=(), numbers=(), words=0, own=()):
    """Have every repository of a model that is asked for written into the cache first.

    `classes` are the names of the library's classes that the program uses: they tell the architecture where the name of
    a repository does not. `numbers` are sizes that the program states: a width among them is kept. `words` is how large a
    vocabulary may be, where that of the architecture is too much for a run. `own` are words of the program's texts, which
    tokenizers know whole, as the real ones do.
    """
    import os

    _made_own_words.extend(own)

    from_here = os.environ.setdefault("HF_HOME", os.path.abspath(os.path.join("made", "hub")))
    os.environ.update({"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"})
    os.environ.setdefault("HF_TOKEN", "hf_made")
    asked = {"home": from_here, "classes": tuple(classes), "numbers": frozenset(numbers), "words": words}
    for name in ("hf_hub_download", "try_to_load_from_cache"):
        made_in_place_of("huggingface_hub.file_download." + name, made_from_hub(asked))
    made_in_place_of("huggingface_hub._snapshot_download.snapshot_download", made_from_hub(asked))
    for name in ("login", "notebook_login", "interpreter_login"):
        made_in_place_of("huggingface_hub._login." + name, made_logged_in)
    made_in_place_of("huggingface_hub.hf_api.HfApi", made_silent_api(asked))
    for name in _made_uploads:
        made_in_place_of("huggingface_hub.hf_api." + name, made_uploaded)
    for name in _made_questions:
        made_in_place_of("huggingface_hub.hf_api." + name, made_account)


def made_logged_in(original):
    """Stub for a login, which only uploads and closed repositories need."""
    return made_wraps(original)(lambda *args, **kwargs: None)


def made_account(original):
    """Stub for the question who the user is, which needs a token, or whether a repository is there."""
    user = {"type": "user", "name": "made", "fullname": "made", "orgs": []}
    return made_wraps(original)(lambda *args, **kwargs: user if original.__name__ == "whoami" else True)


class MadeAnswer(str):
    """What an upload answers: the name of the repository, with the attributes that programs ask for."""

    repo_id = url = repo_url = commit_url = property(str)


def made_uploaded(original):
    """Stub for a function that creates something on the hub or uploads it: nothing is."""

    @made_wraps(original)
    def silent(*args, **kwargs):
        given = [kwargs.get("repo_id"), *args]
        name = next((one for one in given if isinstance(one, str)), "made")
        return MadeAnswer(name if "/" in name else "made/" + name)

    return silent


_made_uploads = ("create_repo", "upload_folder", "upload_file", "create_commit", "create_branch", "create_tag")
_made_questions = ("whoami", "repo_exists")


def made_silent_api(asked):
    """Change the client of the hub: it fetches what is made, and nothing is created there or uploaded."""

    def fetching(original):
        fetch = made_from_hub(asked)(original)

        def method(self, repo_id, *args, **kwargs):
            if kwargs.get("repo_type") not in (None, "model"):
                return original(self, repo_id, *args, **kwargs)
            return fetch(repo_id, *args, **kwargs)

        return method

    def stand_in(cls):
        for name in _made_uploads:
            if hasattr(cls, name):
                setattr(cls, name, made_uploaded(getattr(cls, name)))
        for name in _made_questions:
            if hasattr(cls, name):
                setattr(cls, name, made_account(getattr(cls, name)))
        for name in ("snapshot_download", "hf_hub_download"):
            if hasattr(cls, name):
                setattr(cls, name, made_wraps(getattr(cls, name))(fetching(getattr(cls, name))))
        return cls

    return stand_in


def made_from_hub(asked):
    """Stub for a function that fetches from the hub or reads its cache: what it asks for is made first."""

    def stand_in(original):
        import os

        @made_wraps(original)
        def fetch(repo_id, *args, **kwargs):
            if kwargs.get("repo_type") not in (None, "model"):
                return original(repo_id, *args, **kwargs)
            known = str(repo_id)
            if os.path.isabs(known) or known.startswith(".") or known.count("/") > 1:
                known = "made/" + os.path.basename(known.rstrip("/"))
            name = kwargs.get("filename") or (args[0] if args else None)
            with MadeTurn(asked["home"]):
                folder = made_repository(known, kwargs, asked, name)
                if folder is not None and str(name).startswith("adapter_") and _made_called_by("peft"):
                    made_adapter_files(folder, known, asked)
            if folder is not None and "snapshot" in original.__name__:
                return folder
            path = os.path.join(folder, kwargs.get("subfolder") or "", str(name)) if folder else ""
            if os.path.isfile(path):
                return path
            if "cache" in original.__name__:
                return None
            raise _made_absence()("%s is not there: the hub cannot be asked for %s" % (name, repo_id))

        return fetch

    return stand_in


def _made_absence():
    """The exception for a file that a made repository lacks: the hub's own, and that of libraries which know that the hub is not asked."""
    import sys

    from huggingface_hub.utils import LocalEntryNotFoundError

    home = LocalEntryNotFoundError.__module__
    remote = getattr(sys.modules[home], "RemoteEntryNotFoundError", None)
    kinds = (LocalEntryNotFoundError, remote) if remote else (LocalEntryNotFoundError,)
    told = {"__module__": home, "request_id": None, "server_message": None, "response": None}
    return type("LocalEntryNotFoundError", kinds, told)


def _made_called_by(library):
    """Whether a function of a library is on the way here."""
    import sys

    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] != library:
        frame = frame.f_back
    return frame is not None


class MadeTurn:
    """Where a program runs as several ranks, one of them makes a repository at a time, and the others find it."""

    held = None

    def __init__(self, folder):
        self.folder, self.mine = folder, False

    def __enter__(self):
        import os

        if MadeTurn.held is not None or "RANK" not in os.environ:
            return
        import fcntl

        os.makedirs(self.folder, exist_ok=True)
        MadeTurn.held, self.mine = open(os.path.join(self.folder, "made.lock"), "w"), True
        fcntl.lockf(MadeTurn.held, fcntl.LOCK_EX)

    def __exit__(self, *exception):
        if self.mine:
            MadeTurn.held.close()
            MadeTurn.held = None


def made_repository(name, place, asked, file=None):
    """The folder in the cache with the files of a repository, which are written when it is asked for first; None where
    that cannot be done.
    """
    import os
    import shutil
    import sys

    cache = str(place.get("cache_dir") or os.environ.get("HF_HUB_CACHE") or os.path.join(asked["home"], "hub"))
    folder = os.path.join(cache, "models--" + name.replace("/", "--"))
    snapshots = os.path.join(folder, "snapshots")
    if os.path.isdir(snapshots) and (found := sorted(os.listdir(snapshots))):
        return os.path.join(snapshots, found[-1])
    commit = "0" * 40
    revision = str(place.get("revision") or "main")
    os.makedirs(os.path.join(folder, "refs"), exist_ok=True)
    with open(os.path.join(folder, "refs", revision.replace("/", "-")), "w") as out:
        out.write(commit)
    home = os.path.join(snapshots, commit)
    os.makedirs(home)
    parts = "unet vae text_encoder text_encoder_2 tokenizer tokenizer_2 scheduler transformer image_encoder".split()
    diffusion = (
        file == "model_index.json" or place.get("subfolder") in parts or "diffusers" in str(place.get("user_agent"))
    )
    try:
        if diffusion:
            _made_unseen(made_diffusion_files, home, name, asked)
        elif name.startswith("timm/"):
            _made_unseen(made_timm_files, home, name)
        else:
            _made_unseen(made_model_files, home, name, asked)
    except Exception as error:  # noqa: BLE001 - what the libraries raise here is not the program's doing
        sys.stderr.write("dnnfix reproduce: nothing small can be made for %s: %s\n" % (name, error))
        shutil.rmtree(folder)
        return None
    return home


def made_architecture(name, classes=()):
    """The type of model that the name of a repository tells first, or else the classes that a program uses."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    known = {kind: kind for kind in CONFIG_MAPPING_NAMES}
    known.update((word, kind) for word, kind in _made_families.items() if kind in CONFIG_MAPPING_NAMES)
    for text in (name.rpartition("/")[2], name):
        found = [(place, -len(word), kind) for word, kind in known.items() if (place := _made_place(word, text)) >= 0]
        if found:
            return min(found)[2]
    for asked in classes:
        kinds = [kind for kind, config in CONFIG_MAPPING_NAMES.items() if asked.startswith(config[: -len("Config")])]
        if kinds:
            return max(kinds, key=lambda kind: len(CONFIG_MAPPING_NAMES[kind]))
    return next((kind for asked in classes for part, kind in _made_kinds if part in asked), "bert")


def _made_place(word, text):
    """Where a word begins in a name, in any spelling of it; -1 where a short one is only a part of another."""
    import re

    pattern = "[-_. ]?".join(re.escape(letter) for letter in re.sub("[-_.]", "", word.lower()))
    if len(word) < 4:
        pattern = r"(?<![a-z0-9])" + pattern
    if len(word) < 4 or not word[-2:].isalpha():
        pattern += r"(?![a-z])"
    found = re.search(pattern, text.lower())
    return found.start() if found else -1


def _made_unseen(make, *given):
    """Call what makes a repository, so that no random number of the program is used."""
    import random

    import numpy
    import torch

    states = random.getstate(), numpy.random.get_state()
    kept = torch.get_default_dtype()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        torch.set_default_dtype(torch.float32)
        try:
            make(*given)
        finally:
            torch.set_default_dtype(kept)
            random.setstate(states[0])
            numpy.random.set_state(states[1])


def made_model_files(folder, name, asked):
    """Write the tokenizer, processors, configuration and weights of a model of transformers."""
    kind = made_architecture(name, asked["classes"])
    made_small_model(folder, kind, name, asked)
    made_processor_files(folder, kind)


_made_tasks_of_adapters = {  # what the name of a class asks for, and what an adapter calls it; others bring a head along
    "ForCausalLM": "CAUSAL_LM",
    "ForSeq2SeqLM": "SEQ_2_SEQ_LM",
    "ForConditionalGeneration": "SEQ_2_SEQ_LM",
}


def made_adapter_files(folder, name, asked):
    """Write an adapter for all linear layers of whatever model it is put into; its weights are those that it begins with."""
    import json
    import os

    from safetensors.torch import save_file

    settings = os.path.join(folder, "adapter_config.json")
    if os.path.isfile(settings):
        return
    save_file({}, os.path.join(folder, "adapter_model.safetensors"))
    tasks = [
        task for end, task in _made_tasks_of_adapters.items() if any(one.endswith(end) for one in asked["classes"])
    ]
    told = {
        "peft_type": "LORA",
        "r": 8,
        "lora_alpha": 16,
        "target_modules": "all-linear",
        "task_type": tasks[0] if tasks else None,
        "base_model_name_or_path": "made/" + made_architecture(name, asked["classes"]),
        "inference_mode": True,
    }
    with open(settings, "w", encoding="utf-8") as out:
        json.dump(told, out)


def made_timm_files(folder, name):
    """Write the configuration and random weights of a network of timm."""
    import json
    import os

    import timm
    from safetensors.torch import save_file

    kind = name.partition("/")[2].partition(".")[0]
    model = timm.create_model(kind, pretrained=False)
    save_file(model.state_dict(), os.path.join(folder, "model.safetensors"))
    known = {
        key: value for key, value in model.pretrained_cfg.items() if isinstance(value, (str, int, float, list, tuple))
    }
    settings = {"architecture": kind, "num_classes": model.num_classes, "pretrained_cfg": known}
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as out:
        json.dump(settings, out)


def made_diffusion_files(folder, name, asked):
    """Write a small pipeline of Stable Diffusion, or of its larger kind where its name or a class says so: each part with random weights."""
    import os

    import diffusers
    import transformers

    large = "xl" in name.lower() or any("XL" in one for one in asked["classes"])
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
    text = transformers.CLIPTextConfig(projection_dim=32, **sizes)
    blocks = {"sample_size": 64, "layers_per_block": 1, "block_out_channels": (32, 64), "norm_num_groups": 32}
    added = {
        "addition_embed_type": "text_time",
        "addition_time_embed_dim": 8,
        "projection_class_embeddings_input_dim": 80,
        "use_linear_projection": True,
    }
    unet = diffusers.UNet2DConditionModel(
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=64 if large else 32,
        attention_head_dim=8,
        **blocks,
        **(added if large else {}),
    )
    vae = diffusers.AutoencoderKL(
        block_out_channels=[32] * 4,
        down_block_types=["DownEncoderBlock2D"] * 4,
        up_block_types=["UpDecoderBlock2D"] * 4,
        layers_per_block=1,
        latent_channels=4,
        sample_size=512,
    )
    scheduler = diffusers.DDPMScheduler(
        beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", clip_sample=False
    )
    words = os.path.join(folder, "tokenizer")
    os.makedirs(words)
    made_tokenizer_files(words, "clip", name, text)
    tokenizer = transformers.CLIPTokenizer.from_pretrained(words)
    parts = {"unet": unet, "vae": vae, "scheduler": scheduler, "tokenizer": tokenizer}
    parts["text_encoder"] = transformers.CLIPTextModel(text)
    if large:
        parts["text_encoder_2"], parts["tokenizer_2"] = transformers.CLIPTextModelWithProjection(text), tokenizer
        pipeline = diffusers.StableDiffusionXLPipeline(**parts)
    else:
        nothing = {"safety_checker": None, "feature_extractor": None, "requires_safety_checker": False}
        pipeline = diffusers.StableDiffusionPipeline(**parts, **nothing)
    pipeline.save_pretrained(folder)


_made_layer_counts = (  # what configurations call the number of layers, of which a small network has two
    "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_decoder_layers "
    "num_encoder_layers depth"
).split()

_made_small_sizes = {  # what configurations call their other sizes, and the sizes of a small network
    "hidden_size n_embd d_model dim embed_dim emb_dim word_embed_proj_dim projection_dim embedding_size": 64,
    "intermediate_size d_ff d_inner ffn_dim encoder_ffn_dim decoder_ffn_dim n_inner hidden_dim": 128,
    "num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads": 4,
    "num_key_value_heads num_kv_heads num_experts_per_tok": 2,
    "num_experts num_local_experts n_routed_experts": 4,
    "head_dim d_kv": 16,
}


def made_small_model(folder, kind, name, asked):
    """Save a tokenizer and a network with random weights, as small as its architecture can be built."""
    import transformers
    from transformers import AutoConfig
    from transformers.models.auto import modeling_auto

    numbers = asked["numbers"]
    task, labels = _made_task(name)
    failed = None
    whole = AutoConfig.for_model(kind)
    if "large" in name.lower() and 1024 in numbers:
        whole = AutoConfig.for_model(kind, hidden_size=1024, num_attention_heads=16)
    wanted = getattr(modeling_auto, "MODEL_FOR_PRETRAINING_MAPPING_NAMES", {}).get(kind)
    kept = getattr(whole, "hidden_size", None) in numbers
    for sizes in [_made_depths(whole)] if kept else [_made_sizes_below(whole), _made_depths(whole)]:
        if asked["words"] and (getattr(whole, "vocab_size", None) or 0) > asked["words"]:
            sizes["vocab_size"] = asked["words"]
        try:
            config = AutoConfig.for_model(kind, **sizes)
            _made_ids_within(config, whole)
            for key, part in _made_parts(config).items():
                _made_ids_within(part, getattr(whole, key))
            if config.is_encoder_decoder and getattr(config, "decoder_start_token_id", None) is None:
                config.decoder_start_token_id = getattr(config, "pad_token_id", None) or 0
            words = made_tokenizer_files(folder, kind, name, config)
            if words > (getattr(config, "vocab_size", None) or words):
                config.vocab_size = words
            if labels:
                config.id2label = dict(enumerate(labels))
                config.label2id = {label: number for number, label in enumerate(labels)}
            if not task and isinstance(wanted, str) and hasattr(transformers, wanted):
                model = getattr(transformers, wanted)(config)
            else:
                model = getattr(transformers, task or "AutoModel").from_config(config)
            break
        except (ValueError, RuntimeError, TypeError, AttributeError, KeyError, IndexError, AssertionError) as error:
            failed = error
    else:
        raise ValueError("no small network of the type %s could be built: %s" % (kind, failed))
    model.save_pretrained(folder)


def _made_task(name):
    """The head that a repository of a network trained for a task has, and its labels."""
    name = name.lower()
    if "mnli" in name or "-nli" in name:
        return "AutoModelForSequenceClassification", ["contradiction", "neutral", "entailment"]
    if any(word in name for word in ("sst-2", "sst2", "sentiment", "toxic", "hate")):
        return "AutoModelForSequenceClassification", ["NEGATIVE", "POSITIVE"]
    if "reward" in name:
        return "AutoModelForSequenceClassification", ["LABEL_0"]
    if any(word in name for word in ("conll", "-ner")):
        kinds = ["PER", "ORG", "LOC", "MISC"]
        return "AutoModelForTokenClassification", ["O", *(mark + kind for kind in kinds for mark in ("B-", "I-"))]
    if "squad" in name:
        return "AutoModelForQuestionAnswering", []
    return None, []


def _made_parts(config):
    """The configurations inside of one, by the attribute."""
    return {
        key: value for key, value in vars(config).items() if hasattr(value, "to_dict") and hasattr(value, "model_type")
    }


def _made_sizes_below(config):
    """The sizes of a small network, by the attribute: what is larger in the configuration."""
    found = _made_depths(config)
    staged = isinstance(getattr(config, "num_heads", None), (list, tuple)) or hasattr(config, "depths")
    for names, size in _made_small_sizes.items():
        for key in names.split():
            value = vars(config).get(key)
            if not staged and key not in found and type(value) is int and value > size:
                found[key] = size
    for key, part in _made_parts(config).items():
        found[key] = {**part.to_dict(), **_made_sizes_below(part)}
    vocabulary = vars(config).get("vocab_size")
    if isinstance(vocabulary, int) and vocabulary > 65536:
        found["vocab_size"] = 32768
    return found


def _made_depths(config):
    """Two layers in place of many, by the attribute; of networks in stages one layer for each."""
    found = {key: 2 for key in _made_layer_counts if isinstance(vars(config).get(key), int) and vars(config)[key] > 2}
    if isinstance(getattr(config, "depths", None), (list, tuple)):
        found["depths"] = [1] * len(config.depths)
    if isinstance(vars(config).get("layer_types"), list):
        found["layer_types"] = config.layer_types[-2:]
    if isinstance(vars(config).get("attention_types"), list):
        found["attention_types"] = [[["global", "local"], 1]]
    for key, part in _made_parts(config).items():
        found[key] = {**part.to_dict(), **_made_depths(part)}
    return found


def _made_ids_within(config, whole):
    """Bring the ids of special tokens into a vocabulary that was made smaller: as far from its end as they were."""
    size, before = vars(config).get("vocab_size"), vars(whole).get("vocab_size")
    for role in ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id"):
        value = vars(config).get(role)
        if isinstance(size, int) and isinstance(value, int) and value >= size:
            setattr(config, role, max(0, value - (before or value + 1) + size))


def made_processor_files(folder, kind):
    """Write the settings of the image processor, feature extractor and processor of a type of model."""
    import json
    import os

    import transformers
    from transformers.models.auto import feature_extraction_auto, image_processing_auto, processing_auto

    settings = {}
    for module, table in (
        (feature_extraction_auto, "FEATURE_EXTRACTOR_MAPPING_NAMES"),
        (image_processing_auto, "IMAGE_PROCESSOR_MAPPING_NAMES"),
        (processing_auto, "PROCESSOR_MAPPING_NAMES"),
    ):
        names = getattr(module, table, {}).get(kind)
        names = list(names.values()) if isinstance(names, dict) else names
        for name in names if isinstance(names, (list, tuple)) else [names]:
            cls = getattr(transformers, name, None) if name else None
            if cls is None:
                continue
            if table.startswith("PROCESSOR"):
                settings["processor_class"] = name
            else:
                try:
                    settings.update(cls().to_dict())
                except (ImportError, TypeError, ValueError):
                    continue
                break
    if settings:
        with open(os.path.join(folder, "preprocessor_config.json"), "w", encoding="utf-8") as out:
            json.dump(settings, out, default=str)
