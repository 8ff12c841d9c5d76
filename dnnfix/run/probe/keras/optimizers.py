"""Observes optimizer steps in a Keras program, of Keras and torch optimizers, also in its own training loops."""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, List

from ..guard import Patches, guarded
from .steps import Steps


class Optimizers:
    """Patches optimizers and reports their steps to `Steps`."""

    def __init__(self, steps: Steps) -> None:
        self.on_gradients: Callable[[List[Any], List[Any]], None] = lambda gradients, weights: None
        """Told of the gradients that an optimizer is about to apply, and of the weights that they are for."""
        self._steps = steps
        self._applying = 0
        self._gradient: Any = None
        """The norm of the gradient that an optimizer of torch is about to apply."""
        self._hooks: List[Any] = []

    def install(self, patches: Patches, keras: Any) -> None:
        """Install the recorders."""
        definer = next((base for base in keras.optimizers.Optimizer.__mro__ if "apply" in vars(base)), None)
        if definer is not None:
            patches.put(definer, "apply", self._wrap_apply)
        torch: Any = sys.modules.get("torch")
        if torch is not None:
            patches.put(torch.autograd, "backward", self._wrap_backward)
            patches.put(torch.nn.Module, "zero_grad", self._wrap_zero_grad)
            optimizers: Any = sys.modules["torch.optim.optimizer"]
            self._hooks.append(optimizers.register_optimizer_step_pre_hook(self._torch_before))
            self._hooks.append(optimizers.register_optimizer_step_post_hook(self._torch_after))

    def remove(self) -> None:
        """Watch no longer."""
        for hook in self._hooks:
            hook.remove()

    # Optimizers of Keras

    def _wrap_apply(self, original: Any) -> Any:
        def apply(optimizer: Any, grads: Any, *args: Any, **kwargs: Any) -> Any:
            if self._applying:
                return original(optimizer, grads, *args, **kwargs)
            grads = list(grads) if not isinstance(grads, (list, tuple)) else grads
            if self._steps.losses.traced:
                self._steps.norm_in_graph(grads)
                return original(optimizer, grads, *args, **kwargs)
            variables = args[0] if args else kwargs.get("trainable_variables")
            if variables is not None and not isinstance(variables, (list, tuple)):
                variables = list(variables)
                args, kwargs = (
                    (variables,) + tuple(args[1:]),
                    {k: v for k, v in kwargs.items() if k != "trainable_variables"},
                )
            self._applying += 1
            try:
                norm = self._before(optimizer, grads, variables)
                result = original(optimizer, grads, *args, **kwargs)
            finally:
                self._applying -= 1
            self._steps.applied(norm)
            return result

        return functools.update_wrapper(apply, original)

    @guarded
    def _before(self, optimizer: Any, grads: Any, variables: Any) -> Any:
        if variables is None:
            variables = getattr(optimizer, "_trainable_variables", None) or []
        norm = self._steps.before(optimizer, list(grads), list(variables))
        self.on_gradients(list(grads), list(variables))
        return norm

    # Loops of the program's own

    @guarded
    def _torch_before(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self._applying:
            held = [one for group in optimizer.param_groups for one in group["params"]]
            self._gradient = self._steps.norm_of([one.grad for one in held])

    @guarded
    def _torch_after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self._applying:
            self._steps.stepped(self._gradient)

    def _wrap_backward(self, original: Any) -> Any:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            self._backward(tensors)
            return original(tensors, *args, **kwargs)

        return functools.update_wrapper(backward, original)

    @guarded
    def _backward(self, tensors: Any) -> None:
        if hasattr(tensors, "detach"):
            self._steps.losses.began_with(tensors.detach())
        self._steps.happened("backward")

    def _wrap_zero_grad(self, original: Any) -> Any:
        def zero_grad(module: Any, *args: Any, **kwargs: Any) -> Any:
            self._steps.happened("zero_grad")
            return original(module, *args, **kwargs)

        return functools.update_wrapper(zero_grad, original)
