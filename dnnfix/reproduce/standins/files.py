"""Writes synthetic files that a program reads: tables, arrays, images, sounds, text. All paths are relative."""

from dnnfix.reproduce.standins.inputs import made_columns, made_frame
from dnnfix.reproduce.standins.learnable import made_images, made_running_text, made_text
from dnnfix.reproduce.standins.wrapping import made_in_place_of, made_wraps


def _made_parent(path):
    """The path, with its folder there; a file that is there already is never written over."""
    import os

    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        os.makedirs(folder)
    return not os.path.exists(path)


def made_folder(path):
    """An empty folder to write into."""
    import os

    if path and not os.path.isdir(path):
        os.makedirs(path)


def made_csv(path, kinds, header=None, rows=400, classes=2, seed=0, words=(), separator=",", before=()):
    """A table of columns of these kinds (see `made_columns`) as text; `before` are lines that stand before it."""
    import csv
    import io

    if not _made_parent(path):
        return
    columns = made_columns(rows, kinds, classes, seed, words)
    with io.open(path, "w", newline="", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in before)
        writer = csv.writer(file, delimiter=separator)
        if header:
            writer.writerow(header)
        writer.writerows(zip(*columns))


def made_excel(path, kinds, header, rows=400, classes=2, seed=0, words=()):
    """A table as an Excel file, written by pandas."""
    if _made_parent(path):
        made_frame(header or range(len(kinds)), kinds, rows, classes, seed, words).to_excel(
            path, index=False, header=bool(header)
        )


def made_npy(path, values):
    """An array as .npy, or a dict of arrays as .npz."""
    import numpy

    if _made_parent(path):
        if isinstance(values, dict):
            numpy.savez(path, **values)
        else:
            numpy.save(path, values)


def made_raw_tokens(path, kind, count, part=0):
    """A file of whole numbers: the letters of a running text, each by its place among those that there are."""
    import numpy

    if not _made_parent(path):
        return
    text = numpy.frombuffer(made_running_text(min(count, 200000), 17 + part).encode("utf-8"), "uint8")
    letters = numpy.unique(numpy.frombuffer(made_running_text(200000, 17).encode("utf-8"), "uint8"))
    places = numpy.searchsorted(letters, text).clip(0, len(letters) - 1)
    numpy.resize(places, count).astype("int64" if kind == "long" else kind).tofile(path)


def made_pickle(path, value):
    """A pickled value, compressed where the file's name says so."""
    import gzip
    import pickle

    if _made_parent(path):
        with gzip.open(path, "wb", 0) if path.endswith(".gz") else open(path, "wb") as file:
            pickle.dump(value, file, protocol=2)


def made_h5(path, values):
    """A dict of arrays as an HDF5 file; keys may have folders in them."""
    import h5py

    if _made_parent(path):
        with h5py.File(path, "w") as file:
            for name, value in values.items():
                file[name] = value


def made_mat(path, values):
    """A dict of arrays as a MATLAB file."""
    import scipy.io

    if _made_parent(path):
        scipy.io.savemat(path, values)


def made_cifar_batch(part, rows=10000):
    """The rows and the list of labels of one file of CIFAR-10: all reds of an image, then its greens, then its blues."""
    images, labels = made_images(rows, (3, 32, 32), 10, part=part)
    return images.reshape(rows, 3072), labels.tolist()


def made_records(names, kinds, rows=400, classes=2, seed=0, words=(), listed=True):
    """A list of dicts with these keys (see `made_columns`), or a dict of lists."""
    columns = made_columns(rows, kinds, classes, seed, words)
    if listed:
        return [dict(zip(names, row)) for row in zip(*columns)]
    return dict(zip(names, columns))


def made_listed_images(folder, rows, shape, classes=2, seed=0):
    """The images that a column of the kind "file" names."""
    images = made_images(rows, shape, classes, seed)[0]
    for row, image in enumerate(images):
        made_image_file("%s/image_%d.jpg" % (folder.rstrip("/") or ".", row), image)


def made_images_when_read(rows, shape, classes=2, seed=0):
    """The images that a column of the kind "file" names, for a program that looks for them in any folder: one that is
    not there is made when it is read.
    """
    made = []

    def there(path):
        import os
        import re

        found = re.search(r"image_(\d+)[^/\\]*$", path) if isinstance(path, str) else None
        if not found or os.path.exists(path):
            return path
        if not made:
            made.append(made_images(rows, shape, classes, seed)[0])
        kind = re.search(r"\.(?:jpe?g|png|bmp|tiff?|gif)$", found.group().lower())
        path = "made/pictures/%s%s" % (found.group(1), kind.group() if kind else ".png")
        made_image_file(path, made[0][int(found.group(1)) % rows])
        return path

    def reading(original):
        @made_wraps(original)
        def read(path, *args, **kwargs):
            return original(there(path), *args, **kwargs)

        return read

    for place in (
        "cv2.imread", "PIL.Image.open", "imageio.imread", "imageio.v2.imread", "imageio.v3.imread", "skimage.io.imread",
        "keras.src.utils.image_utils.load_img", "matplotlib.image.imread", "matplotlib.pyplot.imread",
    ):  # fmt: skip
        made_in_place_of(place, reading)


def made_json(path, value):
    """A value as JSON."""
    import json

    if _made_parent(path):
        with open(path, "w") as file:
            json.dump(value, file)


def made_text_file(path, text, binary=False):
    """A text file."""
    import gzip
    import io

    if _made_parent(path):
        if path.endswith(".gz"):
            with gzip.open(path, "wb") as file:
                file.write(text.encode("utf-8"))
        else:
            with io.open(path, "w", encoding="utf-8") as file:
                file.write(text)


def made_image_file(path, image):
    """One image, by whichever library can write it."""
    if not _made_parent(path):
        return
    if image.ndim == 3 and image.shape[2] == 1:
        image = image[:, :, 0]
    try:
        from PIL import Image
    except ImportError:
        import cv2  # type: ignore[import-not-found]

        cv2.imwrite(path, image)
    else:
        Image.fromarray(image).save(path)


def made_image_folder(path, names, shape=(64, 64, 3), each=20, ending=".png", seed=0, part=0):
    """A folder with a folder of images for each of the classes `names`."""
    images, labels = made_images(each * len(names), shape, len(names), seed, part=part)
    count = {}
    for image, label in zip(images, labels):
        count[label] = count.get(label, 0) + 1
        made_image_file("%s/%s/%s_%d%s" % (path.rstrip("/"), names[label], names[label], count[label], ending), image)


def made_images_in(path, names, shape=(64, 64, 3), each=20, ending=".jpg", seed=0, part=0, form="%s.%d"):
    """A folder of images whose names contain their classes: `cat.0.jpg`, `dog.1.jpg`."""
    images, labels = made_images(each * len(names), shape, len(names), seed, part=part)
    for number, (image, label) in enumerate(zip(images, labels)):
        name = form % ((names[label], number) if form.startswith("%s") else (number, names[label]))
        made_image_file("%s/%s%s" % (path.rstrip("/"), name, ending), image)


def made_texts_in(path, names, ending=".txt", lines=60, seed=0):
    """A folder with a text for each of the classes `names`; its lines are words of that class."""
    texts, labels = made_text(lines * len(names), len(names), seed, length=2)
    for kind, name in enumerate(names):
        said = "\n".join(text for text, label in zip(texts, labels) if label == kind)
        made_text_file("%s/%s%s" % (path.rstrip("/"), name, ending), said + "\n")


def made_wav(path, seconds=1.0, rate=16000, seed=0):
    """A sound: a tone under noise, mono, 16 bits."""
    import wave

    import numpy

    if not _made_parent(path):
        return
    random = numpy.random.RandomState(seed)
    time = numpy.arange(int(seconds * rate)) / float(rate)
    sound = numpy.sin(2 * numpy.pi * (220.0 + 110.0 * seed) * time) + 0.05 * random.normal(size=time.size)
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((sound / abs(sound).max() * 30000).astype("<i2").tobytes())


def made_shapes(index):
    """The part benchmark of ShapeNet beside its index: a folder for each kind of thing, with points and their parts.

    Each kind is a cloud stretched in its own way; the part of a point is the side on which it lies.
    """
    import os

    import numpy

    kinds = "Airplane Bag Cap Car Chair Earphone Guitar Knife Lamp Laptop Motorbike Mug Pistol Rocket Skateboard Table"
    random = numpy.random.RandomState(5)
    numbers = ["%08d" % (2691156 + 1000 * place) for place in range(len(kinds.split()))]
    made_text_file(index, "".join("%s\t%s\n" % pair for pair in zip(kinds.split(), numbers)))
    for number in numbers:
        stretch = random.uniform(0.1, 1.0, 3)
        for sample in range(20):
            points = random.uniform(-0.5, 0.5, (200, 3)) * stretch
            stem = os.path.join(os.path.dirname(index), number, "%s", "%08x.%s" % (sample, "%s"))
            rows = "".join("%.5f %.5f %.5f\n" % tuple(point) for point in points)
            made_text_file(stem % ("points", "pts"), rows)
            made_text_file(stem % ("points_label", "seg"), "".join("%d\n" % (1 + (x > 0)) for x in points[:, 0]))


def made_lines(rows, kinds, separator="\t", classes=2, seed=0, words=()):
    """Lines of fields, each of a kind (see `made_columns`), as one text."""
    columns = made_columns(rows, kinds, classes, seed, words)
    return "".join(separator.join(str(field) for field in row) + "\n" for row in zip(*columns))


def made_tf_records(path, features, count, classes=2, seed=0):
    """A file of TensorFlow's records: each holds the named features, of which the labels tell the class."""
    import numpy
    import tensorflow

    if not _made_parent(path):
        return
    sizes = {name: made[-1] for name, made in features.items() if made[0] in ("array", "numbers", "picture")}
    largest = max(sizes, key=lambda name: int(numpy.prod(sizes[name])), default=None)
    shape = sizes[largest] if largest else 1
    images, labels = made_images(count, shape if isinstance(shape, tuple) else (shape,), classes, seed)
    random = numpy.random.RandomState(seed)

    def feature(name, made, row):
        kind, train = made[0], tensorflow.train
        if kind == "picture":
            return train.Feature(bytes_list=train.BytesList(value=[_made_png(images[row])]))
        if kind == "array":
            values = images[row] if name == largest else random.randint(0, 256, made[-1])
            values = values.astype("uint8") if made[1] == "uint8" else (values / 255.0).astype(made[1])
            return train.Feature(bytes_list=train.BytesList(value=[values.tobytes()]))
        if kind == "numbers":
            values = images[row] / 255.0 if name == largest else random.normal(size=made[-1])
            return train.Feature(float_list=train.FloatList(value=values.ravel().tolist()))
        if kind == "word":
            return train.Feature(bytes_list=train.BytesList(value=[b"class_%d" % labels[row]]))
        value = [made[1]] if kind == "whole number" else [int(labels[row])] * made[1]
        return train.Feature(int64_list=train.Int64List(value=value))

    with tensorflow.io.TFRecordWriter(path) as file:
        for row in range(count):
            held = {name: feature(name, made, row) for name, made in features.items()}
            example = tensorflow.train.Example(features=tensorflow.train.Features(feature=held))
            file.write(example.SerializeToString())


def _made_png(image):
    """The bytes of a picture as a file has them."""
    import io

    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return file.getvalue()
