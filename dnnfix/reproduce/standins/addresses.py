"""Answers for what programs fetch from addresses: a picture or a text, where the address says that it is one."""

from dnnfix.reproduce.standins.learnable import made_masks, made_running_text
from dnnfix.reproduce.standins.wrapping import made_wraps


def made_answer(address):
    """The bytes that are behind an address and their type; nothing and empty where it does not say what they are."""
    import io
    import re
    import zlib
    from urllib.parse import urlsplit

    if not re.match(r"https?://", str(address)):
        return None, ""
    found = re.search(r"(?i)\.(jpe?g|png|bmp|gif|txt)$", urlsplit(str(address)).path)
    kind = found.group(1).lower() if found else ""
    seed = zlib.crc32(str(address).encode("utf-8")) % 100000
    if kind == "txt":
        return made_running_text(100000, seed).encode("utf-8"), "text/plain"
    if not kind:
        return None, ""
    from PIL import Image

    kind = "jpeg" if kind == "jpg" else kind
    file = io.BytesIO()
    Image.fromarray(made_masks(1, (480, 640, 3), (480, 640), 2, 0, "uint8", seed)[0][0]).save(file, kind.upper())
    return file.getvalue(), "image/" + kind


def made_session_answered(cls):
    """Change the session of `requests`: it answers for pictures and texts."""
    original = cls.send

    @made_wraps(original)
    def send(self, request, **kwargs):
        content, kind = made_answer(request.url)
        if content is None or request.method != "GET":
            return original(self, request, **kwargs)
        import io

        import requests
        import urllib3

        headers = {"Content-Type": kind, "Content-Length": str(len(content))}
        answer = requests.models.Response()
        answer.status_code, answer.url, answer.request, answer.reason = 200, request.url, request, "OK"
        answer.headers.update(headers)
        answer.encoding = "utf-8" if kind == "text/plain" else None
        answer.raw = urllib3.HTTPResponse(io.BytesIO(content), headers=headers, status=200, preload_content=False)
        return answer

    cls.send = send
    return cls


def made_got(original):
    """Stub for `httpx.get`: it answers for pictures and texts."""

    @made_wraps(original)
    def get(url, *args, **kwargs):
        content, kind = made_answer(url)
        if content is None:
            return original(url, *args, **kwargs)
        import httpx

        return httpx.Response(
            200, content=content, headers={"Content-Type": kind}, request=httpx.Request("GET", str(url))
        )

    return get


def made_opened_address(original):
    """Stub for `urlopen`: it answers for pictures and texts."""

    @made_wraps(original)
    def urlopen(url, *args, **kwargs):
        address = str(getattr(url, "full_url", url))
        content, kind = made_answer(address)
        if content is None:
            return original(url, *args, **kwargs)
        import io
        from email.message import Message
        from urllib.response import addinfourl

        headers = Message()
        headers["Content-Type"], headers["Content-Length"] = kind, str(len(content))
        return addinfourl(io.BytesIO(content), headers, address, 200)

    return urlopen


def made_file_fetched(original):
    """Stub for a function that writes what is behind an address into a file (`urlretrieve`, `download_url_to_file`): pictures and texts."""

    @made_wraps(original)
    def fetched(url, path=None, *args, **kwargs):
        content, _kind = made_answer(url)
        if content is None:
            return original(url, path, *args, **kwargs)
        import os
        import tempfile

        place = (
            path or kwargs.get("filename") or kwargs.get("dst") or tempfile.mkstemp(os.path.splitext(str(url))[1])[1]
        )
        with open(place, "wb") as file:
            file.write(content)
        return (str(place), {}) if original.__name__ == "urlretrieve" else None

    return fetched
