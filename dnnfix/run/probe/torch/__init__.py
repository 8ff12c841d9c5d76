"""The probe for programs that use torch.

hooks          puts the watchers in place, and is what the runner calls
calls          which library calls user code makes, on which tensors; `interception` sees them happen
components     which layers, losses, optimizers, schedulers it constructs, and where
loaders        data loaders
loop           the order of the training loop's operations
steps          loss, skill, gradients and updates of each step
parameters     which parameters trained
targets        prediction and target of the last loss
in_flight      the call in flight when an exception leaves the program
experiments    measurements on the model after the program has ended
training_data  rows that are trained on and evaluated; `shuffled_targets` has other targets for them
unit_listener  outputs and gradients of layers in a few steps
"""
