"""Has parsers of command lines take what they know, and leave the rest."""

from dnnfix.reproduce.standins.wrapping import made_in_place_of, made_wraps


def made_known_words_only():
    """Have the parsers of transformers and trl leave out the words that none of their classes knows: a usage may be older than these."""

    def known(cls):
        original = cls.parse_known_args

        def parse_known_args(self, args=None, namespace=None):
            return original(self, args, namespace)[0], []

        cls.parse_known_args = made_wraps(original)(parse_known_args)
        return cls

    made_in_place_of("transformers.hf_argparser.HfArgumentParser", known)
