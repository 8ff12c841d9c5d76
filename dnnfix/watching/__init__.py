"""Watches trainings that are too long for a sandbox, in the user's own process, and reads the logs of symptoms they leave.

    torch       hooks for a module, `backward` and the optimizers; `dnnfix.lightning` and `dnnfix.transformers` build on it
    keras       looks by a callback; `dnnfix.keras` has it
    monitor     what the measurements of either come to: the symptoms, by the predicates and thresholds of `dnnfix.validate`
    pace        how often to look, so that all of it stays within its share of the time
    places      where a layer was made
    log         the log of symptoms, written and read
    outlets     where else symptoms are told: logging, TensorBoard, Weights & Biases, MLflow

A framework is imported by `torch` and `keras` alone, when a training is watched.
"""
