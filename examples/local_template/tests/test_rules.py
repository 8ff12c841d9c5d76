"""The rules keep what their examples promise. Run by `pytest` in the folder above."""

from dnnfix.testing import check_template
from rules.learning_rate_without_minus import LearningRateWithoutMinus


def test_learning_rate_without_minus() -> None:
    check_template(LearningRateWithoutMinus)
