"""Tokenizers of a small hub: vocabularies of the right size, with the special tokens of the library's own class."""

from dnnfix.reproduce.standins.learnable import _made_words, made_running_text, made_word


def made_tokenizer_files(folder, kind, name, config):
    """Write the files of the tokenizer that the library has for a type of model; returns how many words it knows."""
    import json
    import os

    known = config.get_text_config() if hasattr(config, "get_text_config") else config
    size = getattr(known, "vocab_size", None) or 0
    cls = _made_tokenizer_class(kind, name, size)
    if cls is None:
        return 0
    special = _made_special_tokens(cls, known)
    build = _made_way_of_splitting(cls, kind, special)
    ids = {
        getattr(known, role + "_id", None): token
        for role, token in reversed(list(special.items()))
        if isinstance(getattr(known, role + "_id", None), int)
    }
    models = [str(file) for file in cls.vocab_files_names.values() if str(file).endswith((".spm", ".model"))]
    if models and not hasattr(cls, "backend_tokenizer"):
        pieces = made_sentence_pieces(folder, models)
        files = {"vocab.json": json.dumps(_made_vocabulary(pieces, size, special, ids))}
    else:
        tokenizer, files = build(size or 1000, special, ids, name)
        tokenizer.save(os.path.join(folder, "tokenizer.json"))
    for file, text in files.items():
        with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
            out.write(text)
    longest = getattr(known, "max_position_embeddings", None) or getattr(known, "n_positions", None) or 512
    settings = {"tokenizer_class": cls.__name__, "model_max_length": min(longest, 1 << 20), **special}
    lower = name.lower()
    if "vocab.txt" in files:
        settings["do_lower_case"] = "uncased" in lower or ("cased" not in lower and "chinese" not in lower)
    if any(word in lower for word in ("chat", "instruct", "-it", "zephyr", "vicuna", "qwen", "smol")):
        settings["chat_template"] = _made_chat_template(special)
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as out:
        json.dump(settings, out)
    return len(cls.from_pretrained(folder))


def _made_chat_template(special):
    end = special.get("eos_token") or ""
    return (
        "{% for message in messages %}{{ '<|' + message['role'] + '|>\\n' + message['content'] + '" + end + "\\n' }}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"
    )


def _made_tokenizer_class(kind, name, size):
    """The class of the tokenizer of a type of model, the fast one where there are two; None for a network without text."""
    import transformers
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

    known = TOKENIZER_MAPPING_NAMES.get("nllb" if "nllb" in name.lower() else kind)
    names = [one for one in (known if isinstance(known, (tuple, list)) else [known]) if one]
    if not names and size > 500:
        names = ["LlamaTokenizer" if kind == "llama" else "PreTrainedTokenizerFast"]
    found = [getattr(transformers, one) for one in names if hasattr(transformers, one)]
    return found[-1] if found else None


_made_roles = "unk_token bos_token eos_token pad_token cls_token sep_token mask_token".split()


def _made_special_tokens(cls, config):
    """The special tokens of a tokenizer by their role, as the signature of its class has them."""
    import inspect

    given = {}
    for base in reversed(cls.__mro__):
        if "__init__" in vars(base):
            for name, parameter in inspect.signature(base.__init__).parameters.items():
                if name in _made_roles and (isinstance(parameter.default, str) or parameter.default is None):
                    given[name] = parameter.default
    found = {role: given[role] for role in _made_roles if given.get(role)}
    if not found and getattr(config, "eos_token_id", None) == 2:
        found = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    found = found or dict.fromkeys(("unk_token", "bos_token", "eos_token"), "<|endoftext|>")
    padding = getattr(config, "pad_token_id", None)
    if padding is not None and padding != getattr(config, "eos_token_id", None):
        found.setdefault("pad_token", "<pad>")
    return found


def _made_way_of_splitting(cls, kind, special):
    """The function that builds the tokenizer of a class: by the files that the class reads, and its model."""
    files = getattr(cls, "vocab_files_names", {})
    model = getattr(getattr(cls, "model", None), "__name__", "")
    if "merges_file" in files:
        return _made_pairs_of_words if kind in ("clip", "openai-gpt", "clip_text_model") else _made_pairs_of_bytes
    if files.get("vocab_file") == "vocab.txt":
        return _made_pieces_of_words
    if files.get("vocab_file") == "vocab.json" and "spm_file" not in files:
        return _made_letters
    if model == "BPE" or cls.__name__.startswith("Llama"):
        return _made_pairs_of_sentences
    if not model and cls.__name__ in ("PreTrainedTokenizerFast", "TokenizersBackend"):
        return _made_pairs_of_sentences if "<s>" in special.values() else _made_pairs_of_bytes
    return _made_pieces_of_sentences


def _made_vocabulary(pieces, size, special, ids, first=True):
    """Tokens and their ids: special tokens where the network has them, pieces in the rest, and names for what is left."""
    placed = {}
    for place, token in ids.items():
        if place < size and token not in placed.values():
            placed[place] = token
    left = [token for token in dict.fromkeys(special.values()) if token not in placed.values()]
    rest = [*left, *pieces] if first else [*pieces]
    taken = set(placed.values())
    queue = iter([piece for piece in dict.fromkeys(rest) if piece not in taken])
    ends = [] if first else left
    vocabulary = {}
    for place in range(size):
        token = placed.get(place)
        if token is None and place >= size - len(ends):
            token = ends[place - size]
        if token is None:
            token = next(queue, None) or "<unused%d>" % place
        vocabulary[token] = place
    return vocabulary


def _made_letter_signs():
    return [chr(code) for code in [*range(33, 127), *range(161, 383)]]


_made_own_words: list = []  # of the texts that the program itself writes


def _made_known_words():
    """Words that the program's texts and those made here are of, each once."""
    import re

    running = re.findall(r"\w+", made_running_text(20000))
    return list(
        dict.fromkeys([*_made_own_words, *_made_words, *running, *(made_word(number) for number in range(1200))])
    )


def _made_pieces_of_words(size, special, ids, name):
    """A tokenizer as BERT's: words, and pieces of words after `##`."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    signs = _made_letter_signs()
    if any(word in name.lower() for word in ("chinese", "-zh", "multilingual", "japanese")):
        signs += [chr(code) for code in range(0x4E00, 0x9FA6)]
    pieces = ["[unused%d]" % number for number in range(99)] if size > 2000 else []
    usual = {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102, "[MASK]": 103}
    if set(special.values()) <= set(usual) and size > 2000:
        ids = {usual[token]: token for token in special.values()}
    words = _made_known_words()
    pieces += [
        *signs[:94],
        *("##" + sign for sign in signs[:94]),
        *words,
        *(w.title() for w in words[:200]),
        *signs[94:],
    ]
    vocabulary = _made_vocabulary(pieces, size, special, ids)
    lower = "uncased" in name.lower() or "cased" not in name.lower()
    unknown, first, last = (special.get(role, "[UNK]") for role in ("unk_token", "cls_token", "sep_token"))
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=unknown))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lower)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    if first in vocabulary and last in vocabulary:
        tokenizer.post_processor = processors.BertProcessing((last, vocabulary[last]), (first, vocabulary[first]))
    return tokenizer, {"vocab.txt": "\n".join(vocabulary) + "\n"}


def _made_merges(words):
    """The pairs by which letters grow to words, and the pieces that come about."""
    pairs, pieces = {}, {}
    for letters in words:
        piece = letters[0]
        for letter in letters[1:]:
            pairs[piece, letter] = None
            piece += letter
            pieces[piece] = None
    return list(pairs), list(pieces)


def _made_pairs_of_bytes(size, special, ids, name):
    """A tokenizer as GPT-2's: pairs of bytes, a space at the beginning of a word."""
    import json

    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    signs = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = [word for known in _made_known_words() for word in (chr(288) + known, known)]
    pairs, pieces = _made_merges(words)
    room = size - len(signs) - 8
    vocabulary = _made_vocabulary([*signs, *pieces[:room]], size, special, ids, first="cls_token" in special)
    pairs = [pair for pair in pairs if all(part in vocabulary for part in (*pair, "".join(pair)))]
    tokenizer = Tokenizer(models.BPE(vocabulary, pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    first, last = special.get("cls_token"), special.get("sep_token")
    if first in vocabulary and last in vocabulary:
        tokenizer.post_processor = processors.RobertaProcessing(
            (last, vocabulary[last]), (first, vocabulary[first]), add_prefix_space=False
        )
    else:
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer, {"vocab.json": json.dumps(vocabulary), "merges.txt": _made_pairs_written(pairs)}


def _made_pairs_written(pairs):
    return "#version: 0.2\n" + "\n".join("%s %s" % pair for pair in pairs) + "\n"


def _made_pairs_of_words(size, special, ids, name):
    """A tokenizer as CLIP's: pairs of letters in lower case, with a mark at the end of a word."""
    import json

    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    signs = sorted(pre_tokenizers.ByteLevel.alphabet())
    ended = [sign + "</w>" for sign in signs]
    pairs, pieces = _made_merges([[*word[:-1], word[-1] + "</w>"] for word in _made_known_words()])
    vocabulary = _made_vocabulary([*signs, *ended, *pieces], size, special, ids, first=False)
    tokenizer = Tokenizer(models.BPE(vocabulary, pairs, end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.ByteLevel(False)])
    tokenizer.decoder = decoders.BPEDecoder(suffix="</w>")
    return tokenizer, {"vocab.json": json.dumps(vocabulary), "merges.txt": _made_pairs_written(pairs)}


def _made_letters(size, special, ids, name):
    """A tokenizer as that of wav2vec 2.0: capital letters, and a bar between words."""
    import json

    from tokenizers import Tokenizer, models

    letters = ["|", *"ETAONIHSRDLUMWCFGYPBVK'XJQZ"]
    vocabulary = _made_vocabulary(letters, max(size, 32), special, ids)
    return Tokenizer(models.WordLevel(vocabulary, special.get("unk_token", "<unk>"))), {
        "vocab.json": json.dumps(vocabulary)
    }


def _made_pieces_of_sentences(size, special, ids, name):
    """A tokenizer as SentencePiece's: pieces with a bar for the space in front."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    bar = chr(0x2581)
    words = _made_known_words()
    pieces = [bar, *_made_letter_signs(), *(bar + word for word in words), *words]
    extra = ["<extra_id_%d>" % number for number in reversed(range(100))] if "t5" in name.lower() else []
    vocabulary = _made_vocabulary(pieces, size - (size % 128 if extra else 0), special, ids)
    if extra:
        kept = dict(list(vocabulary.items())[: 32000 if size > 32100 else size - 100])
        vocabulary = {**kept, **{token: len(kept) + place for place, token in enumerate(extra)}}
    marks = set(special.values())
    scored = [(token, 0.0 if token in marks else -2.0 - 0.3 / len(token)) for token in vocabulary]
    unknown = special.get("unk_token")
    tokenizer = Tokenizer(models.Unigram(scored, unk_id=vocabulary.get(unknown, 0)))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=bar, prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(replacement=bar, prepend_scheme="always")
    first = special.get("cls_token") or special.get("bos_token")
    last = special.get("eos_token") if "cls_token" in special or not special.get("bos_token") else None
    begin, end = ([token] if token in vocabulary else [] for token in (first, last))
    tokenizer.post_processor = processors.TemplateProcessing(
        single=[*begin, "$A", *end],
        pair=[*begin, "$A", *end, *(end and begin), "$B", *end],
        special_tokens=[(token, vocabulary[token]) for token in dict.fromkeys([*begin, *end])],
    )
    return tokenizer, {}


def _made_pairs_of_sentences(size, special, ids, name):
    """A tokenizer as that of Llama: pairs of letters with a bar for the space in front, bytes for what is left."""
    from tokenizers import Tokenizer, decoders, models, normalizers, processors

    bar = chr(0x2581)
    signs = ["<0x%02X>" % byte for byte in range(256)] + [bar, *_made_letter_signs()]
    pairs, pieces = _made_merges([bar + word for word in _made_known_words()])
    vocabulary = _made_vocabulary([*signs, *pieces], size, special, ids)
    pairs = [pair for pair in pairs if all(part in vocabulary for part in (*pair, "".join(pair)))]
    tokenizer = Tokenizer(
        models.BPE(vocabulary, pairs, unk_token=special.get("unk_token"), fuse_unk=True, byte_fallback=True)
    )
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(bar), normalizers.Replace(" ", bar)])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(bar, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    first = special.get("bos_token")
    if first in vocabulary:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=[first, "$A"], pair=[first, "$A", first + ":1", "$B:1"], special_tokens=[(first, vocabulary[first])]
        )
    return tokenizer, {}


def made_sentence_pieces(folder, files):
    """Train the model of SentencePiece that a tokenizer written in Python reads, under each of the names; returns its pieces."""
    import os
    import shutil

    import sentencepiece

    text = [*made_running_text(20000).splitlines(), *_made_known_words(), *map(chr, range(33, 127))]
    made = os.path.join(folder, "made.model")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for line in text if line.strip()]),
        model_prefix=made[: -len(".model")],
        vocab_size=2000,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    for file in files:
        shutil.copyfile(made, os.path.join(folder, file))
    model = sentencepiece.SentencePieceProcessor(model_file=made)
    return [model.id_to_piece(number) for number in range(model.get_piece_size())]
