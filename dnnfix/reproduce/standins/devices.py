"""A stub for CUDA in torch: what a program puts on the GPU stays on the CPU."""


def made_without_gpu():
    """Have the CUDA calls of torch do their work on the CPU.

    A tensor that is moved is a new one, as it is with a GPU: one that requires a gradient is no leaf any more afterwards.
    """
    import torch

    def moved(tensor, *args, **kwargs):
        if getattr(tensor, "made_moved", False) or not (tensor.requires_grad and tensor.is_leaf):
            return tensor
        copy = tensor.clone()
        copy.made_moved = True
        return copy

    def same(thing, *args, **kwargs):
        return thing

    def nothing(*args, **kwargs):
        return None

    def another():  # torch keeps tables by function, in which none may stand under two names
        return lambda *args, **kwargs: None

    class Nothing:
        def __init__(self, *args, **kwargs):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            return None

        def __getattr__(self, name):
            return nothing

    torch.Tensor.cuda = moved
    torch.Tensor.pin_memory = same
    torch.nn.Module.cuda = same
    for name in ("set_device", "synchronize", "manual_seed", "manual_seed_all", "empty_cache", "init", "ipc_collect"):
        setattr(torch.cuda, name, another())
    for name in ("Stream", "Event", "device", "stream", "device_of"):
        setattr(torch.cuda, name, type(name, (Nothing,), {}))
    torch.version.cuda = torch.version.cuda or "12.8"
    torch.cuda.current_device = lambda: 0
    torch.cuda.get_device_name = lambda *args: "cpu"
    for name in ("Float", "Double", "Half", "Long", "Int", "Short", "Byte", "Bool", "Char"):
        if hasattr(torch, name + "Tensor"):
            setattr(torch.cuda, name + "Tensor", getattr(torch, name + "Tensor"))
    to, module_to = torch.Tensor.to, torch.nn.Module.to

    def is_gpu(value):
        return (
            not hasattr(value, "is_floating_point")
            and not isinstance(value, (int, torch.dtype))
            and "cuda" in str(value)
        )

    def on_cpu(original):
        def method(thing, *args, **kwargs):
            if any(is_gpu(value) for value in args[:1]) or is_gpu(kwargs.get("device", "")):
                args = args if not args or not is_gpu(args[0]) else ("cpu",) + args[1:]
                kwargs = {name: "cpu" if name == "device" else value for name, value in kwargs.items()}
            return original(thing, *args, **kwargs)

        return method

    torch.Tensor.to, torch.nn.Module.to = on_cpu(to), on_cpu(module_to)
