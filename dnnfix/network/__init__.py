"""Reads a program's network from its source, and keeps facts about the library's layers, losses and activations."""
