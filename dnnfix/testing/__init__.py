"""For tests of what is built on dnnfix: a harness for fix templates, and a language model that answers what it is told to.

from dnnfix.testing import check_template

def test_my_template():
    check_template(MyTemplate)
"""

from dnnfix.testing.scripted import Reply, Request, ScriptedModel
from dnnfix.testing.templates import (
    Bench,
    TemplateProblem,
    check_example,
    check_metadata,
    check_reject,
    check_template,
)

__all__ = [
    "Bench",
    "Reply",
    "Request",
    "ScriptedModel",
    "TemplateProblem",
    "check_example",
    "check_metadata",
    "check_reject",
    "check_template",
]
