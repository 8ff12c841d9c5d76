"""A stub for `input` that answers a program's prompts."""


def made_answers(known, original, times=0):
    """An `input` that answers the prompts of `known`; any other one is asked as before.

    Where `times` says how often, the program is left after so many answers, as a user leaves a loop without an end.
    """
    given = []

    def answered(prompt=""):
        if str(prompt) in known:
            given.append(prompt)
            if times and len(given) > times:
                raise SystemExit(0)
            print(str(prompt) + known[str(prompt)])
            return known[str(prompt)]
        return original(prompt)

    return answered
