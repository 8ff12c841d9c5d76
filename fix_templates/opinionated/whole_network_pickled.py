"""A network is saved as a pickled object, or loaded as one, in place of its `state_dict`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dnnfix.api import (
    Family,
    Fault,
    FixPattern,
    Nature,
    ReadTemplate,
    Source,
    Subject,
    Wrap,
    checkpoints,
    structure,
    within,
)

OF_NETWORKS = frozenset({"eval", "train", "parameters", "named_parameters", "children", "modules", "named_children"})
SCRIPTS = ("torch.jit.", "torch.fx.", "torch.quantization.", "torch.ao.", "torch.export.", "torch.onnx.")
EXPORTS = frozenset({"quantize", "quantize_dynamic", "convert", "script", "trace", "convert_fx"})


class WholeNetworkPickled(ReadTemplate):
    """`torch.save(model, path)` pickles the object: the file names its class and the folders of the code, and breaks when these change.

    A changed class is not noticed: its old attributes come with the file. `torch.load` of such a file runs what it holds, and
    since torch 2.6 refuses it unless it is told `weights_only=False`. `model.state_dict()` is the weights alone, for any code.

    Networks that were scripted or exported are saved as a whole, and left alone.

    Fix safety: what loads the file has to make the network first, and then load its `state_dict`.

    References: https://docs.pytorch.org/docs/stable/notes/serialization.html#saving-and-loading-torch-nn-modules.
    """

    code = "DNF912"
    name = "whole-network-pickled"
    message = "{what}"
    confidence = 0.85
    family = Family.OPINIONATED
    fix_pattern = FixPattern.DATA_WRANGLING
    nature = Nature.ADVICE
    silent = 4
    default = False
    triggers = ("save", "dump", "load", "save_checkpoint")
    declined = "what loads the network has to make it first"

    def read(self, subject: Subject) -> Iterator[Fault]:
        source = subject.source
        if source.frameworks and "torch" not in source.frameworks:
            return
        networks = list(_saved(source))
        for network in networks:
            site = source.site(network)
            bare = source.site(checkpoints.bare(source, network))
            said = f"`{source.segment(bare)}` is pickled as an object, with the names of its class and folders; its `state_dict()` is the weights alone"
            yield Fault(site, said, (("Save the weights alone", (Wrap(site, "", ".state_dict()"),), 0.8),))
        if not networks:
            for load in checkpoints.loads(source):
                if _is_used_as_network(source, load):
                    said = f"`{load.name or source.segment(source.site(load.call))}` is loaded as a pickled object, which needs the class as it was"
                    yield Fault(source.site(load.call), said, ())

    programs = """
=== example: the network itself
import torch

net = torch.nn.Linear(3, 2)
- torch.save(net, "net.pt")
+ torch.save(net.state_dict(), "net.pt")

=== example: in a checkpoint
torch.save({
    "epoch": epoch,
-     "model": model,
+     "model": model.state_dict(),
    "optimizer": optimizer.state_dict(),
}, path)

=== example: by its keyword
- torch.save(obj=unet, f="unet.pt")
+ torch.save(obj=unet.state_dict(), f="unet.pt")

=== finds: a network of an object
torch.save(player.policy_net, f"{folder}/policy.pt")

=== finds: two networks in a list
torch.save([encoder, decoder], "both.pt")

=== finds: a network that is loaded and asked
def segment(path, image):
    unet = torch.load(path, map_location="cpu")
    return unet(image).argmax(1)

=== finds: a network that is put into its mode as it is loaded
net = torch.load("net.pt").eval()

=== reject: weights, tensors and scripts
import torch

torch.save(net.state_dict(), "net.pt")
torch.save(model_state, "state.pt")
torch.save(run.model_config, "settings.pt")
torch.save(args.model, "name.pt")
torch.save(torch.zeros(3), "zeros.pt")
torch.save([net.state_dict(), optimizer.state_dict(), model_name], "list.pt")
torch.save(obj=net.state_dict(), f="net.pt")
scripted = torch.jit.script(net)
torch.save(scripted, "script.pt")
torch.save({"net": net.state_dict(), "model_name": model_name, "model": args.model}, "all.pt")
joblib.dump(model, "forest.pkl")

=== reject: a state and a checkpoint are loaded
import torch

state = torch.load("net.pt")
net.load_state_dict(state)
first = torch.load("images.pt").to(device)
mask = net(torch.load("image.pt"))
vocabulary = torch.load("words.pt")
numbers = vocabulary(words)
net.eval()
checkpoint = torch.load("all.pt")
net.load_state_dict(checkpoint["net"])
"""


def _saved(source: Source) -> Iterator[ast.expr]:
    """The networks that are saved as they are, alone or among others."""
    for save in checkpoints.saves(source):
        held = save.value.elts if isinstance(save.value, (ast.Tuple, ast.List)) else (save.value,)
        for value in save.entries.values() if save.entries is not None else held:
            if not checkpoints.is_whole_network(source, value) or _is_scripted(source, value):
                continue
            plain = ast.unparse(checkpoints.bare(source, value))
            if not ast.unparse(save.call.func).startswith("joblib.") or plain in checkpoints.asked_as_network(source):
                yield value


def _is_scripted(source: Source, value: ast.expr) -> bool:
    """Whether a network was exported, so that its file is more than its weights."""
    network = checkpoints.bare(source, value)
    made = source.constructor(network)
    if made is not None and (source.qualified(made.func) or "").startswith(SCRIPTS):
        return True
    named = {ast.unparse(network)}
    exported = (call for call in source.all_calls if ast.unparse(call.func).rpartition(".")[2] in EXPORTS)
    return any(ast.unparse(given) in named for call in exported for given in call.args)


def _is_used_as_network(source: Source, load: checkpoints.Load) -> bool:
    """Whether what was loaded is put into a mode, asked for its parameters, or called."""
    if load.taken:
        return False
    statement = source.statement_of(load.call)
    asked = [node for node in within(statement, ast.Attribute) if node.attr in OF_NETWORKS and source.is_called(node)]
    if any(checkpoints.bare(source, node.value) is load.call for node in asked):
        return True
    if not load.name:
        return False
    others = [
        node
        for node in source.nodes(ast.Assign)
        if any(ast.unparse(target) == load.name for target in node.targets)
        and checkpoints.bare(source, node.value) is not load.call
    ]
    if any(load.name not in ast.unparse(node.value) for node in others):
        return False  # made anew
    uses = [call for call in within(source.tree, ast.Call) if call.lineno >= load.call.lineno]
    asking = {f"{load.name}.{method}" for method in OF_NETWORKS}
    return any(
        (text := ast.unparse(call.func)) in asking or (text == load.name and structure.is_network(source, call.func))
        for call in uses
    )
