"""Data sets of a small hub: made-up rows with the columns, classes and parts that a data set has, or that a program uses.

Rows are learnable: a text tells its label, a word its tag, a question and its context the answer, a source its target.
"""

from dnnfix.reproduce.standins.datasets import _made_seed, made_image_set
from dnnfix.reproduce.standins.learnable import (
    made_images,
    made_running_text,
    made_text,
)
from dnnfix.reproduce.standins.wrapping import made_wraps

_made_hub_sets = """
imdb | train 25000 test 25000 unsupervised 50000 | text:text label:neg,pos
rotten_tomatoes | train 8530 validation 1066 test 1066 | text:text label:neg,pos
ag_news | train 120000 test 7600 | text:text label:World,Sports,Business,Sci/Tech
emotion | train 16000 validation 2000 test 2000 | text:text label:sadness,joy,love,anger,fear,surprise
sst2 | train 67349 validation 872 test 1821 | idx:index sentence:text label:negative,positive
yelp_polarity | train 560000 test 38000 | text:text label:1,2
yelp_review_full | train 650000 test 50000 | label:5 text:text
amazon_polarity | train 3600000 test 400000 | label:2 title:text content:text
dbpedia_14 | train 560000 test 70000 | label:14 title:text content:text
tweet_eval | train 45615 validation 2000 test 12284 | text:text label:negative,neutral,positive
sem_eval_2018_task_1 | train 6838 test 3259 validation 886 |
    ID:id Tweet:text anger:truth anticipation:truth disgust:truth fear:truth joy:truth love:truth optimism:truth
    pessimism:truth sadness:truth surprise:truth trust:truth
chnsenticorp | train 9600 validation 1200 test 1200 | text:text label:2
glue/cola | train 8551 validation 1043 test 1063 | sentence:text label:unacceptable,acceptable idx:index
glue/sst2 | train 67349 validation 872 test 1821 | sentence:text label:negative,positive idx:index
glue/mrpc | train 3668 validation 408 test 1725 | sentence1:text sentence2:text label:not_equivalent,equivalent idx:index
glue/qqp | train 363846 validation 40430 test 390965 | question1:text question2:text label:not_duplicate,duplicate idx:index
glue/stsb | train 5749 validation 1500 test 1379 | sentence1:text sentence2:text label:score5 idx:index
glue/mnli | train 392702 validation_matched 9815 validation_mismatched 9832 test_matched 9796 test_mismatched 9847 |
    premise:text hypothesis:text label:entailment,neutral,contradiction idx:index
glue/qnli | train 104743 validation 5463 test 5463 | question:text sentence:text label:entailment,not_entailment idx:index
glue/rte | train 2490 validation 277 test 3000 | sentence1:text sentence2:text label:2 idx:index
glue/wnli | train 635 validation 71 test 146 | sentence1:text sentence2:text label:2 idx:index
snli | test 10000 validation 10000 train 550152 | premise:text hypothesis:text label:3
multi_nli | train 392702 validation_matched 9815 validation_mismatched 9832 |
    promptID:index pairID:id premise:text hypothesis:text genre:id label:3
xnli | train 392702 test 5010 validation 2490 | premise:text hypothesis:text label:3
stsb | train 5749 validation 1500 test 1379 | sentence1:text sentence2:text score:score1
all-nli/pair | train 314315 dev 6808 test 6831 | anchor:text positive:text
all-nli/pair-class | train 942069 dev 19657 test 19656 | premise:text hypothesis:text label:3
all-nli/pair-score | train 942069 dev 19657 test 19656 | sentence1:text sentence2:text score:score1
all-nli/triplet | train 557850 dev 6584 test 6609 | anchor:text positive:text negative:text
squad | train 87599 validation 10570 | id:id title:id context:context question:question answers:answers
squad_v2 | train 130319 validation 11873 | id:id title:id context:context question:question answers:answers
swag | train 73546 validation 20006 test 20005 |
    video-id:id fold-ind:id startphrase:text sent1:text sent2:text gold-source:id ending0:text ending1:text ending2:text
    ending3:text label:4
wikitext | test 4358 train 36718 validation 3760 | text:lines
tinystories | train 2119719 validation 21990 | text:lines
openwebtext | train 8013769 | text:lines
ptb_text_only | train 42068 test 3761 validation 3370 | sentence:lines
conll2003 | train 14041 validation 3250 test 3453 |
    id:id tokens:tokens pos_tags:tags47 chunk_tags:tags23
    ner_tags:tags=O,B-PER,I-PER,B-ORG,I-ORG,B-LOC,I-LOC,B-MISC,I-MISC
wnut_17 | train 3394 validation 1009 test 1287 | id:id tokens:tokens ner_tags:tags13
samsum | train 14732 test 819 validation 818 | id:id dialogue:source summary:target
xsum | train 204045 validation 11332 test 11334 | document:source summary:target id:id
cnn_dailymail | train 287113 validation 13368 test 11490 | article:source highlights:target id:id
billsum | train 18949 test 3269 ca_test 1237 | text:source summary:target title:id
kde4 | train 210173 | id:id translation:translation
opus_books | train 127085 | id:id translation:translation
wmt16 | train 610320 validation 1999 test 1999 | translation:translation
wmt14 | train 4508785 validation 3000 test 3003 | translation:translation
alpaca | train 52002 | instruction:source input:text output:target text:lines
codealpaca-20k | train 20022 | instruction:source input:text output:target
databricks-dolly-15k | train 15011 | instruction:source context:text response:target category:id
openassistant-guanaco | train 9846 test 518 | text:lines
guanaco-llama2-1k | train 1000 | text:lines
capybara | train 15806 test 200 | source:id messages:messages num_turns:index
ultrachat_200k | train_sft 207865 test_sft 23110 train_gen 256032 test_gen 28304 |
    prompt:text prompt_id:id messages:messages
ultrafeedback_binarized | train 62135 test 1000 | chosen:chosen rejected:rejected score_chosen:score5 score_rejected:score5
hh-rlhf | train 160800 test 8552 | chosen:lines rejected:lines
hh-rlhf-helpful-base | train 43835 test 2354 | prompt:prompts chosen:answer rejected:answer
deepmath-103k | train 103022 test 5410 | prompt:prompts solution:target
gsm8k | train 7473 test 1319 | question:source answer:target
tldr | train 116722 validation 6447 test 6553 | prompt:source completion:target
cifar10 | train 50000 test 10000 | img:image32x3 label:airplane,automobile,bird,cat,deer,dog,frog,horse,ship,truck
cifar100 | train 50000 test 10000 | img:image32x3 fine_label:100 coarse_label:20
mnist | train 60000 test 10000 | image:image28x1 label:10
fashion_mnist | train 60000 test 10000 | image:image28x1 label:10
food101 | train 75750 validation 25250 | image:image96x3 label:101
beans | train 1034 validation 133 test 128 | image_file_path:id image:image96x3 labels:angular_leaf_spot,bean_rust,healthy
cats_vs_dogs | train 23410 | image:image96x3 labels:cat,dog
tiny-imagenet | train 100000 valid 10000 | image:image64x3 label:200
pokemon-blip-captions | train 833 | image:image96x3 text:text
naruto-blip-captions | train 1221 | image:image96x3 text:text
smithsonian_butterflies_subset | train 1000 | image:image96x3 name:id
superb | train 51094 validation 6798 test 3081 | file:id audio:audio label:12
common_voice_11_0 | train 6540 validation 2000 test 2894 |
    client_id:id path:id audio:audio sentence:text up_votes:index down_votes:index age:id gender:id accent:id locale:id
    segment:id
minds14 | train 563 | path:id audio:audio transcription:text english_transcription:text intent_class:14 lang_id:index
librispeech_asr_dummy | validation 73 | file:id audio:audio text:text speaker_id:index id:id
"""
# Each data set (and its configuration) with the rows of its parts, and its columns with their kinds: classes by their names
# or number, `truth` for yes or no, `tags` for each of the `tokens`, `score5` for numbers up to 5, `image32x3` for pictures and their channels.


def made_known_set(*names, columns=()):
    """The parts and the columns of the first of these data sets that is known, or of one whose name is part of the last, and that has `columns`."""
    import re

    entries = (entry.split("|") for entry in re.split(r"\n(?! )", _made_hub_sets.strip()))
    known = {name.strip(): (parts, columns) for name, parts, columns in entries}
    inside = [
        name
        for name, (_, kinds) in known.items()
        if len(name) > 4 and name in names[-1] and {pair.split(":")[0] for pair in kinds.split()}.issuperset(columns)
    ]
    found = [name for name in (*names, *sorted(inside, key=len, reverse=True)) if name in known]
    return known[found[0]] if found else None


_made_kinds_of_columns = (  # parts of names of columns, and what such a column holds
    ("input_ids", "ids"),
    ("attention_mask", "ones"),
    ("image pixel img picture photo", "image64x3"),
    ("audio speech wav", "audio"),
    ("messages conversation conversations", "messages"),
    ("translation", "translation"),
    ("answers", "answers"),
    ("tags", "tags9"),
    ("tokens words", "tokens"),
    ("score similarity rating", "score1"),
    ("label labels target class category intent", "label"),
    ("id idx index", "index"),
)


def made_hub_dataset(columns=(), parts=(), classes=2, few=0):
    """Stub for `datasets.load_dataset`: what is known of a data set, and for others `columns` and `parts` a program uses.

    `few` is how many rows a part has at most; without it 2000 different ones stand for as many as the data set has.
    """

    def stand_in(original):
        @made_wraps(original)
        def load_dataset(path, *args, **kwargs):
            import os

            files = _made_data_files(kwargs.get("data_files"))
            if os.path.isfile(str(path)) or os.path.isdir(str(path)) and os.listdir(str(path)):
                return original(path, *args, **kwargs)
            if str(path) in _made_hub_readers and not files:
                return original(path, *args, **kwargs)
            import datasets

            config = str(kwargs.get("name") or (args[0] if args else "") or "")
            sizes, kinds = _made_hub_form(str(path), config, columns, files or parts, classes)
            split, streaming = kwargs.get("split"), kwargs.get("streaming")
            several = split if isinstance(split, (list, tuple)) else [split]
            known = _made_known_of(str(path), config, columns)
            if not known:
                sizes.update((name, max(few, sizes[name])) for name in list(sizes)[:1])
            for asked in [] if split is None else _made_parts_asked_for(several):
                if asked not in sizes and known:
                    raise ValueError("Unknown split %r. Should be one of %s." % (asked, list(sizes)))
                sizes.setdefault(asked, 500)
            made = {}

            def part(name):
                if name not in made:
                    number = list(sizes).index(name)
                    rows = min(sizes[name], few if number == 0 else max(1, few // 4)) if few else sizes[name]
                    hidden = name == "unsupervised" or name.startswith("test") and "glue" in str(path)
                    made[name] = _made_hub_part(str(path), kinds, rows, number, config, hidden)
                return made[name]

            if split is None:
                found = datasets.DatasetDict({name: part(name) for name in sizes})
                if not streaming:
                    return found
                kind = getattr(datasets, "IterableDatasetDict", dict)
                return kind({name: one.to_iterable_dataset() for name, one in found.items()})
            wanted = [_made_hub_cut(part, str(one)) for one in several]
            wanted = [one.to_iterable_dataset() for one in wanted] if streaming else wanted
            return wanted if isinstance(split, (list, tuple)) else wanted[0]

        return load_dataset

    return stand_in


def made_set_from_disk(columns=(), parts=(), classes=2, few=0):
    """Stub for `datasets.load_from_disk`: where nothing was saved, a data set as `made_hub_dataset` gives it, in its parts or whole."""

    def stand_in(original):
        made = made_hub_dataset(columns, parts, classes, few)(original)

        @made_wraps(original)
        def load_from_disk(dataset_path, *args, **kwargs):
            import os

            saved = ("state.json", "dataset_dict.json")
            if any(os.path.exists(os.path.join(str(dataset_path), name)) for name in saved):
                return original(dataset_path, *args, **kwargs)
            return made(str(dataset_path), split=None if parts else "train")

        return load_from_disk

    return stand_in


def _made_data_files(files):
    """The parts of a data set in files of which some are not there; none where all are, or patterns stand for them."""
    import glob
    import os

    parts = files if isinstance(files, dict) else {"train": files} if files else {}
    every = [one for given in parts.values() for one in (given if isinstance(given, (list, tuple)) else [given])]
    there = all("://" not in str(one) and (os.path.exists(str(one)) or glob.glob(str(one))) for one in every)
    return () if there else tuple(parts)


_made_hub_readers = "csv json text parquet arrow pandas imagefolder audiofolder webdataset".split()


def _made_hub_form(path, config, columns, parts, classes):
    """The sizes of the parts of a data set, and the kind of each column."""
    known = _made_known_of(path, config, columns)
    if known is None:
        kinds = {column: _made_kind_of_column(column, classes) for column in columns} or {
            "text": "text",
            "label": classes,
        }
        sizes = {part: 2000 if number == 0 else 500 for number, part in enumerate(parts or ("train", "test"))}
        return sizes, kinds
    words = known[0].split()
    sizes = {part: int(count) for part, count in zip(words[::2], words[1::2])}
    return sizes, dict(column.split(":", 1) for column in known[1].split())


def _made_known_of(path, config, columns=()):
    """What is known of a data set: its parts and its columns; None of one that is made up for its name."""
    name = path.rstrip("/").rpartition("/")[2].lower()
    first = {"all-nli": "all-nli/pair", "glue": "glue/mrpc"}.get(name, name)
    return made_known_set("%s/%s" % (name, config), first, columns=columns)


def _made_kind_of_column(column, classes):
    import re

    words = [word for word in re.split(r"[^a-z]+", column.lower()) if word]
    for names, kind in _made_kinds_of_columns:
        if any(name in words or name == column.lower() for name in names.split()):
            return classes if kind == "label" else kind
    return "text"


def _made_hub_part(path, kinds, rows, number, config, hidden=False):
    """One part of a data set, as the package has it; labels that are `hidden` are -1."""
    import datasets
    import numpy

    seed, name = _made_seed(path), path.rpartition("/")[2].lower()
    names = {column: _made_names_of_classes(kind) for column, kind in kinds.items()}
    label = next(
        (column for column, known in names.items() if known and not str(kinds[column]).startswith("tags")), None
    )
    classes = len(names[label]) if label else 2
    distinct = min(rows, 2000)
    texts, labels = made_text(distinct, classes, seed, 12 if "glue" in path else 30, number)
    which = numpy.random.RandomState(number).permutation(rows) % max(1, distinct)
    columns, features = {}, {}
    for place, (column, kind) in enumerate(kinds.items()):
        if names[column] and not str(kind).startswith("tags"):
            found = labels if column == label else labels % len(names[column])
            if hidden:
                found = labels * 0 - 1
            columns[column] = [int(found[index]) for index in which]
            features[column] = datasets.ClassLabel(names=names[column])
            continue
        values, feature = _made_column(str(kind), texts, labels, classes, seed + place, number, name, config)
        columns[column] = [values[index] for index in which]
        features[column] = feature
    return datasets.Dataset.from_dict(columns, features=datasets.Features(features))


def _made_names_of_classes(kind):
    """The classes of a column of labels or tags: their names, or numbers for names."""
    text = str(kind)
    text = text[5:] if text.startswith("tags=") else text[4:] if text.startswith("tags") else text
    if text.isdigit():
        return [str(number) for number in range(int(text))]
    return text.split(",") if "," in text else []


def _made_column(kind, texts, labels, classes, seed, part, name, config):
    """The values of one column, and its feature."""
    import numpy
    from datasets import ClassLabel, Features, Sequence, Value

    rows = len(texts)
    text, words = Value("string"), [line.split() for line in texts]
    if kind == "index":
        return list(range(rows)), Value("int32")
    if kind == "id":
        return ["%s-%d" % (name, number) for number in range(rows)], text
    if kind == "lines":
        running = made_running_text(120 * rows, seed + 31 * part)
        lines = [line for line in running.split("\n") if line]
        return [lines[number % len(lines)] for number in range(rows)], text
    if kind == "truth":
        return [bool((label + seed) % 2) for label in labels], Value("bool")
    if kind.startswith("score"):
        top = float(kind[5:] or 1)
        return [top * (label + 0.5) / classes for label in labels], Value("float32")
    if kind == "target":
        return [" ".join(line[:6]) for line in words], text
    if kind in ("context", "question", "answers"):
        context = [made_running_text(300, 1000 * part + number) for number in range(min(rows, 200))]
        answer = [line.split()[3].strip(".") for line in context]
        place = [number % len(context) for number in range(rows)]
        if kind == "context":
            return [context[at] for at in place], text
        if kind == "question":
            return ["Who comes before %s?" % " ".join(context[at].split()[4:6]) for at in place], text
        found = [{"text": [answer[at]], "answer_start": [context[at].index(answer[at])]} for at in place]
        return found, Features({"text": Sequence(text), "answer_start": Sequence(Value("int32"))})
    if kind == "tokens":
        return words, Sequence(text)
    if kind in ("ids", "ones"):
        lines = [line[:12] for line in words]
        return [[1 + len(word) if kind == "ids" else 1 for word in line] for line in lines], Sequence(Value("int64"))
    if kind.startswith("tags"):
        known = _made_names_of_classes(kind)
        tags = [[sum(map(ord, word)) % len(known) if len(word) > 4 else 0 for word in line] for line in words]
        return tags, Sequence(ClassLabel(names=known))
    if kind == "translation":
        first, last = _made_languages(config)
        pairs = [{first: " ".join(line), last: " ".join(reversed(line))} for line in words]
        return pairs, Features({first: text, last: text})
    if kind in ("messages", "prompts", "answer", "chosen", "rejected"):
        turns = [
            [
                {"role": "user", "content": " ".join(line)},
                {"role": "assistant", "content": " ".join(line[: 6 if kind != "rejected" else 3])},
            ]
            for line in words
        ]
        cut = {"prompts": slice(0, 1), "answer": slice(1, 2)}.get(kind, slice(0, 2))
        message = Features({"role": text, "content": text})
        return [turn[cut] for turn in turns], [message]
    if kind.startswith("image"):
        return _made_pictures(kind, rows, labels, classes, seed, part, name)
    if kind == "audio":
        time = numpy.arange(8000) / 16000.0
        sounds = [numpy.sin(2 * numpy.pi * (200 + 90 * int(label)) * time).astype("float32") for label in labels]
        found = [{"path": "made.wav", "array": sound, "sampling_rate": 16000} for sound in sounds[: min(rows, 200)]]
        form = {"path": text, "array": Sequence(Value("float32")), "sampling_rate": Value("int64")}
        return [found[number % len(found)] for number in range(rows)], Features(form)
    return [str(line) for line in texts], text


def _made_pictures(kind, rows, labels, classes, seed, part, name):
    """Pictures of a size, 500 of them that differ, each with its class."""
    import datasets
    from PIL import Image

    side, channels = map(int, kind[5:].split("x"))
    if name in ("mnist", "fashion_mnist", "cifar10", "cifar100"):
        images, kinds = made_image_set(name, part == 0)
        images, kinds = images[:5000], kinds[:5000]
    else:
        images, kinds = made_images(500, (side, side, 3)[: 2 if channels == 1 else 3], classes, seed, "uint8", part)
    at = {}
    for number, label in enumerate(kinds):
        at.setdefault(int(label), []).append(number)
    pictures = {}
    found = []
    for number, label in enumerate(labels):
        places = at.get(int(label)) or [0]
        place = places[number // max(1, classes) % len(places)]
        if place not in pictures:
            pictures[place] = Image.fromarray(images[place])
        found.append(pictures[place])
    return found, datasets.Image()


def _made_languages(config):
    """The two languages of a data set of translations, by the name of its configuration."""
    import re

    found = re.findall(r"[a-z]{2}(?![a-z])", config.lower())
    return (found[0], found[1]) if len(found) > 1 else ("en", "fr")


def _made_parts_asked_for(splits):
    """The names of the parts in `train[:10%]+test`."""
    return [piece.partition("[")[0].strip() for split in splits for piece in str(split).split("+")]


def _made_hub_cut(part, text):
    """What `train[:10%]+test` names of the parts."""
    import datasets

    found = []
    for piece in text.split("+"):
        name, _bracket, inner = piece.strip().partition("[")
        rows = part(name)
        places = []
        for place, otherwise in zip(inner.rstrip("]").split(":") if inner else (), (0, len(rows))):
            value = otherwise
            if place:
                value = len(rows) * int(place[:-1]) // 100 if place.endswith("%") else int(place)
            places.append(value + len(rows) if value < 0 else value)
        found.append(rows.select(range(places[0], min(places[1], len(rows)))) if inner else rows)
    return found[0] if len(found) == 1 else datasets.concatenate_datasets(found)
