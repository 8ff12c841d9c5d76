"""The probe: the code that runs beside the user's program, in the user's interpreter, and records what it does.

Everything in this folder imports only the standard library and the framework that the program itself imports, and is
written for Python 3.8 and later. It is started by path (`python <this folder>`) and loads itself under the private
package name `dnnfix_probe`, so that no module of the program can collide with it: modules here import each other
relatively (`from . import budget, sites, wire`).

    process      the warm process, the supervisor of each trial, and the limits of a trial
    sandbox      confinement of a trial
    program      how a program is run
    torch, keras, tensorflow    what is recorded of it while it runs
    measures     measurements on arrays of any framework
    crash        the description of the exception that ended it
    edits        edits that are tried in the stopped program

What a framework's probe builds on:

    wire.emit(event, **fields)   writes one line of the trace (see dnnfix/run/trace.py for the events)
    sites.caller_site()          [line, column, end_line, end_column, path] of the user's expression now running
    sites.frames_of(traceback)   the frames of user code on the way to an exception
    budget.count_step()          to be called at each optimizer step; `budget.used_up()` says when to stop
    budget.job                   the job as a dictionary (seed, record_steps, experiments, budget, ...)

and offers `Hooks(job)` in its module `hooks`: `begin()` installs the recorders and `withdraw()` removes them,
`finish()` is called when the program has ended (also after an exception), `call_in_flight(error)` returns the fields of
the call that raised, and `step_seconds` is the median time of a step.
"""
