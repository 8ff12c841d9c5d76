"""The trace on the wire: JSON lines that the probe writes, read here into records.

Each line is one object with a key `event`. The other keys are the fields of the record of that name in
`dnnfix.records`, so that probe and reader cannot drift apart; a field that is left out is unknown. A site is
`[line, column, end_line, end_column, path]`, already in characters counted from 1.

| event       | record        | when                                                                                |
|-------------|---------------|-------------------------------------------------------------------------------------|
| `begin`     | –             | first: `versions` ({"python": …, "torch": …, "keras": …}), `seed`, `framework`       |
| `component` | `Component`   | a layer, loss, metric, optimizer, model or loader is made; again when facts are added |
| `call`      | `Call`        | a recorded call returns; `inputs` and `outputs` are `Value` objects                  |
| `parameters`| `Parameter`   | `parameters`: a list, after the first full step (or at the end where there is none)  |
| `step`      | `Step`        | an optimizer step is done                                                           |
| `loop`      | `LoopEvent`   | an operation of the training loop, for the first three steps                         |
| `warning`   | `CodeWarning` | a warning was shown                                                                 |
| `cut`       | –             | `site`: a loop or `fit` was ended by the budget                                      |
| `note`      | –             | `text`: something that a reader of the report should know                            |
| `probe`     | –             | `name`, `value`: the result of an experiment                                         |
| `crash`     | `Crash`       | an exception left the program; `call` is the call in flight, `frames` are user code  |
| `end`       | –             | last: `outcome`, `detail`, `seconds`, `step_seconds`, `peak_memory` (bytes)          |

A run that is killed has no `end`; whoever killed it supplies the outcome.
"""
