"""Names of standard library modules that Python 3 renamed or removed: importing one is a fault of the program."""

from __future__ import annotations

OLD_PYTHON = frozenset([
    "BaseHTTPServer", "ConfigParser", "Cookie", "HTMLParser", "Queue", "SimpleHTTPServer", "SocketServer", "StringIO",
    "Tkinter", "UserDict", "__builtin__", "anydbm", "asynchat", "asyncore", "cPickle", "cStringIO", "cgi", "commands",
    "cookielib", "copy_reg", "distutils", "dummy_thread", "exceptions", "httplib", "imghdr", "imp", "itertools_izip",
    "md5", "new", "pipes", "sets", "sha", "sndhdr", "thread", "tkMessageBox", "urllib2", "urlparse",
])  # fmt: skip
