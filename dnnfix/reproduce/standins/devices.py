"""Stubs for CUDA in torch, and for trainers that want a GPU: what a program puts on the GPU stays on the CPU."""

from dnnfix.reproduce.standins.wrapping import made_in_place_of, made_wraps


def made_without_gpu():
    """Have the CUDA calls of torch do their work on the CPU, and all questions of the program answered as with one GPU.

    A tensor that is moved is a new one, as it is with a GPU: one that requires a gradient is no leaf any more afterwards.
    """
    import os
    import sys
    import types

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
    for name in ("set_device", "synchronize", "manual_seed", "manual_seed_all", "empty_cache", "init", "ipc_collect", "seed",
                 "seed_all", "reset_peak_memory_stats", "reset_max_memory_allocated", "set_per_process_memory_fraction"):  # fmt: skip
        setattr(torch.cuda, name, another())
    for name in ("Stream", "Event", "device", "stream", "device_of"):
        setattr(torch.cuda, name, type(name, (Nothing,), {}))
    if hasattr(torch, "accelerator"):
        torch.accelerator.current_accelerator = lambda *args, **kwargs: torch.device("cpu")
    torch.version.cuda = torch.version.cuda or "12.8"
    torch.cuda.current_device = lambda: 0
    memory = 8 * 2**30
    gpu = types.SimpleNamespace(name="cpu", major=7, minor=0, total_memory=memory, multi_processor_count=1)
    torch.cuda.get_device_name = lambda *args: gpu.name
    torch.cuda.get_device_properties = lambda *args: gpu
    torch.cuda.get_device_capability = lambda *args: (gpu.major, gpu.minor)
    torch.cuda.mem_get_info = lambda *args: (memory, memory)
    torch.cuda.is_bf16_supported = lambda *args, **kwargs: False
    torch.cuda.current_stream = torch.cuda.default_stream = lambda *args: torch.cuda.Stream()
    if not os.environ.get("CUDA_VISIBLE_DEVICES"):
        os.environ["CUDA_VISIBLE_DEVICES"] = "0"

    def shown():  # how many the program itself says that it sees
        for number, name in enumerate(os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")):
            if name.strip() in ("", "-1"):
                return number
        return number + 1

    def to_the_program(original, answer):
        def asked(*args, **kwargs):  # a library that is told of a GPU would use it
            caller = sys._getframe(1).f_code.co_filename
            return original(*args, **kwargs) if "-packages" in caller or "/torch/" in caller else answer()

        return asked

    count = torch.cuda.device_count
    torch.cuda.device_count = to_the_program(count, lambda: shown() and max(shown(), count()))
    torch.cuda.is_available = to_the_program(torch.cuda.is_available, lambda: shown() > 0)
    for name in ("Float", "Double", "Half", "Long", "Int", "Short", "Byte", "Bool", "Char"):
        if hasattr(torch, name + "Tensor"):
            setattr(torch.cuda, name + "Tensor", getattr(torch, name + "Tensor"))
    to, module_to = torch.Tensor.to, torch.nn.Module.to

    def is_gpu(value):
        if isinstance(value, int):  # the number of a GPU
            return not isinstance(value, bool)
        return not hasattr(value, "is_floating_point") and not isinstance(value, torch.dtype) and "cuda" in str(value)

    def on_cpu(original):
        def method(thing, *args, **kwargs):
            if any(is_gpu(value) for value in args[:1]) or is_gpu(kwargs.get("device", "")):
                args = args if not args or not is_gpu(args[0]) else ("cpu",) + args[1:]
                kwargs = {name: "cpu" if name == "device" else value for name, value in kwargs.items()}
            return original(thing, *args, **kwargs)

        return method

    torch.Tensor.to, torch.nn.Module.to = on_cpu(to), on_cpu(module_to)


def made_trainers_on_cpu():
    """Have the trainers of transformers, trl, accelerate and Lightning train on the CPU, in the precision that it has.

    What a GPU is there for is left out: 16 bits, quantized weights and optimizers, fused attention, several devices.
    """
    for package in ("lightning.pytorch", "pytorch_lightning"):
        made_in_place_of(package + ".trainer.trainer.Trainer", _made_lightning_on_cpu)
    made_in_place_of("transformers.training_args.TrainingArguments", _made_arguments_on_cpu)
    made_in_place_of("transformers.modeling_utils.PreTrainedModel", _made_loaded_on_cpu)
    made_in_place_of("accelerate.accelerator.Accelerator", _made_accelerator_on_cpu)


def _made_arguments_on_cpu(cls):
    original = cls.__post_init__

    def __post_init__(self):
        names = {name: getattr(self, name, None) for name in ("fp16", "bf16", "deepspeed", "tf32", "push_to_hub")}
        for name, value in names.items():
            if value:
                setattr(self, name, None if name in ("deepspeed", "tf32") else False)
        if getattr(self, "hub_strategy", "") is None:
            self.hub_strategy = "end"  # nothing is pushed
        for name in ("use_cpu", "no_cuda"):
            if name in getattr(cls, "__dataclass_fields__", {}):
                setattr(self, name, True)
                break
        optim = str(getattr(getattr(self, "optim", ""), "value", getattr(self, "optim", "")))
        if any(word in optim for word in ("8bit", "bnb", "paged", "apex", "4bit")):
            self.optim = "adamw_torch"
        original(self)

    cls.__post_init__ = __post_init__
    return cls


def _made_loaded_on_cpu(cls):
    original = cls.from_pretrained.__func__

    def from_pretrained(kind, *args, **kwargs):
        for name in ("quantization_config", "use_flash_attention_2"):
            kwargs.pop(name, None)
        if "flash" in str(kwargs.get("attn_implementation")):
            kwargs.pop("attn_implementation")
        if str(kwargs.get("device_map")) not in ("None", "cpu"):
            kwargs["device_map"] = None
        return original(kind, *args, **kwargs)

    cls.from_pretrained = classmethod(made_wraps(original)(from_pretrained))
    return cls


def _made_accelerator_on_cpu(cls):
    original = cls.__init__

    def __init__(self, *args, **kwargs):
        if str(kwargs.get("mixed_precision")) in ("fp16", "fp8", "bf16"):
            kwargs["mixed_precision"] = "no"
        for name in ("deepspeed_plugin", "megatron_lm_plugin", "log_with"):
            kwargs.pop(name, None)
        original(self, *args, **kwargs)

    cls.__init__ = made_wraps(original)(__init__)
    return cls


def _made_lightning_on_cpu(cls):
    original = cls.__init__

    def __init__(self, *args, **kwargs):
        if str(kwargs.get("accelerator")) in ("gpu", "cuda", "mps", "tpu"):
            kwargs["accelerator"] = "cpu"
        if "devices" in kwargs:
            kwargs["devices"] = 1
        if isinstance(kwargs.get("strategy"), str):
            kwargs["strategy"] = "auto"
        if str(kwargs.get("precision", 32)) not in ("64", "64-true"):
            kwargs["precision"] = 32
        original(self, *args, **kwargs)

    cls.__init__ = made_wraps(original)(__init__)
    return cls
