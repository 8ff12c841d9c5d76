"""The probe for programs that use torch.

hooks          installs the recorders below, and is what the runner calls
calls          library calls that user code makes, with their tensors; `interception` catches them
components     layers, losses, optimizers, schedulers, and where they are constructed
loaders        data loaders
loop           the order of the training loop's operations
steps          loss, skill, gradients and updates of each step
parameters     which parameters trained
targets        prediction and target of the last loss
in_flight      the call that was running when an exception left the program
experiments    measurements on the model after the program has ended
training_data  rows of training and of evaluation; `shuffled_targets` permutes the targets of training
unit_listener  outputs and gradients of layers in a few steps
"""
