"""The probe for programs that use Keras, on any backend.

hooks            installs the recorders below, and is what the runner calls
components       layers, models, losses, optimizers and metrics, and where they are constructed
compiled         the arguments of `compile`
channels_first   convolutions with `channels_first`, on TensorFlow without a GPU
calls            calls of layers, on symbolic and on real tensors
graphs           graphs as the program writes them
functions        functions and losses that the program calls
training         `fit`, `evaluate`, `predict` and their data, within the budget
losses           prediction, target and value of losses
optimizers       optimizer steps, and the operations of the program's own training loops
steps            loss, skill, gradients and updates of each step; `traced_steps` those that run in a graph
parameters       which weights trained
in_flight        the call that was running when an exception left the program
experiments      measurements on the model after the program has ended
training_data    rows of training and of evaluation; `shuffled_targets` permutes the targets of training
unit_listener    outputs and gradients of layers in a few steps
"""
