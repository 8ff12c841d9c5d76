"""The probe for programs that use Keras, on any backend.

hooks            puts the watchers in place, and is what the runner calls
components       which layers, models, losses, optimizers and metrics are constructed, and where
compiled         what `compile` is given
channels_first   images with their channels first, on TensorFlow without a GPU
calls            the calls of layers, on symbolic and on real tensors
graphs           graphs as they are written down
functions        functions and losses that are called
training         `fit`, `evaluate`, `predict` and their data, held to the budget
losses           what losses compare, and what they come to
optimizers       the steps that optimizers take, and operations of the program's own loops
steps            loss, skill, gradients and updates of each step; `traced_steps` those that run in a graph
parameters       which weights trained
in_flight        the call in flight when an exception leaves the program
experiments      measurements on the model after the program has ended
training_data    rows that are trained on and evaluated; `shuffled_targets` has other targets for them
unit_listener    outputs and gradients of layers in a few steps
"""
