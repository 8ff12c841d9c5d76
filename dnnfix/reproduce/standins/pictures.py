"""Makes a synthetic image when a program opens one that is missing, for names that the program computes itself."""

from dnnfix.reproduce.standins.files import made_image_file
from dnnfix.reproduce.standins.learnable import made_masks
from dnnfix.reproduce.standins.wrapping import made_wraps

_made_folders_asked: set = set()


def made_when_asked(size, classes=2):
    """A replacement of a function that opens an image file: the image is made where its folder is missing.

    A name in a folder that is there is the program's affair. Two names with the same stem are those of an image and its
    mask, where the name of one says so; a mask of two classes is black and white, one of more holds their indices.
    """

    def stand_in(original):
        @made_wraps(original)
        def opened(path, *args, **kwargs):
            mode = args[0] if args else kwargs.get("mode", "r")
            picture = _made_picture_missing(path, size, classes) if str(mode)[:1] != "w" else None
            if picture is None:
                return original(path, *args, **kwargs)
            try:
                made_image_file(str(path), picture)
            except OSError:  # a place that nothing can be written to
                return _made_picture_opened(original, picture)
            return original(path, *args, **kwargs)

        return opened

    return stand_in


def _made_picture_missing(path, size, classes):
    """The picture that a path stands for, where it is that of an image and its folder is not there."""
    import os
    import re
    import zlib

    import numpy

    if not isinstance(path, (str, os.PathLike)) or not re.search(r"(?i)\.(jpe?g|png|bmp|tiff?|gif)$", str(path)):
        return None
    folder, name = os.path.split(str(path))
    if os.path.exists(path) or not folder or (os.path.isdir(folder) and folder not in _made_folders_asked):
        return None
    _made_folders_asked.add(folder)
    said = re.compile(r"(?i)[-_.]*(masks?|labels?|annot\w*|seg(mentation)?s?|(ground)?_?truth|gt)(?![a-z])[-_.]*")
    number = zlib.crc32(said.sub("", name.rpartition(".")[0]).encode("utf-8")) % 100000
    images, masks = made_masks(1, (*size, 3), size, classes, 0, "uint8", number)
    if not said.search(name.rpartition(".")[0]) and not said.search(os.path.basename(folder)):
        return images[0]
    return masks[0].astype("uint8") * numpy.uint8(255 if classes <= 2 else 1)


def _made_picture_opened(original, picture):
    """The picture as the function gives one: an open file, or what it reads from one."""
    import io

    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    file.seek(0)
    if original.__name__ == "open":
        return file
    return picture
