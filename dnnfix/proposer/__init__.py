"""A language model as one more proposer: what it is told, what is taken from its answers, and what it may cost.

    records of runs ──► facts ──► prompt ──► chat (cache, caps) ──► answer ──► candidates ──► the same search and ladder

Nothing of this is imported unless a model is asked for.
"""
