"""Errors of apply_torch, in one process that stands for four: python shardings_torch_errors.py
FOLDER. Prints each, after a check that the model is as it was."""

import copy
import pathlib
import sys

import shardings_models as models
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore

import tessera

FOLDER = pathlib.Path(sys.argv[1])
ATTENTION = "model.layers.0.self_attn"


def of(name, mesh, **plan):
    return models.describe(models.make(name), mesh, plan)


def change(document, **changes):
    """A document with other tensors: NAME=axes or None; __ stands for a dot."""
    for name, axes in changes.items():
        name = name.replace("__", ".")
        if axes is None:
            del document["tensors"][name]
        else:
            document["tensors"][name]["axes"] = axes
    return document


def with_modules(document, **modules):
    return {**document, "modules": {name.replace("__", "."): entry
                                    for name, entry in modules.items()}}


def describe_state(model):
    return [(name, id(parameter), type(parameter)) for name, parameter in model.named_parameters()
            ], type(model), [type(module) for module in model.modules()]


def refuse(case, name, document, device_mesh):
    model = models.make(name)
    before = describe_state(model)
    file = models.write(document, FOLDER / "s.json")
    try:
        tessera.load_shardings(file).apply_torch(model, device_mesh)
        print(f"{case}: no error")
    except tessera.ShardingsError as error:
        state = "" if describe_state(model) == before else "CHANGED "
        print(f"{case}: {state}{str(error).removeprefix(str(FOLDER) + '/')}")


dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
TP, DP_TP = {"tp": 4}, {"dp": 2, "tp": 2}
tp = init_device_mesh("cpu", (4,), mesh_dim_names=("tp",))
dp_tp = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
LLAMA = of("llama", DP_TP)

refuse("no names", "llama", LLAMA, init_device_mesh("cpu", (2, 2)))
refuse("sizes", "llama", LLAMA, tp)
refuse("order", "llama", LLAMA, init_device_mesh("cpu", (2, 2), mesh_dim_names=("tp", "dp")))
for key, value in {"zero": 1, "sp": True, "cp": 2, "pp": 2, "ep": 2}.items():
    refuse(key, "llama", {**LLAMA, "plan": {key: value}}, dp_tp)
refuse("strategy", "llama", {**LLAMA, "strategy": "dp,tp,sp,zero=1"}, dp_tp)
refuse("sequence", "llama", {**LLAMA, "inputs": {"ids": {"axes": [["dp"], ["tp"]]}}}, dp_tp)
refuse("batches", "llama", {**LLAMA, "inputs": {"ids": {"axes": [["dp"]]},
                                                "labels": {"axes": [["tp"]]}}}, dp_tp)

unknown = copy.deepcopy(LLAMA)
unknown["tensors"]["model.norm.wait"] = unknown["tensors"].pop("model.norm.weight")
refuse("unknown tensor", "llama", unknown, dp_tp)
refuse("missing tensor", "llama", change(of("llama", DP_TP), model__norm__weight=None), dp_tp)
shape = copy.deepcopy(LLAMA)
shape["tensors"]["lm_head.weight"]["shape"] = [48, 97]
refuse("shape", "llama", shape, dp_tp)
refuse("unknown module", "llama", with_modules(LLAMA, model__layers__0__mlp__gate={}), dp_tp)
refuse("tied", "tied", {**of("tied", DP_TP), "tensors": {
    **of("tied", DP_TP)["tensors"], "lm_head.weight": {"shape": [97, 48], "axes": [[], ["tp"]]}}},
    dp_tp)

grouped = of("llama", TP)
sub_axes = {f"model__layers__{i}__self_attn__{x}_proj__weight": [["tp:(1)2"], []]
            for i in range(2) for x in "kv"}
refuse("groups", "llama", change(grouped, **sub_axes), tp)
refuse("parts of heads", "llama", of("llama", TP), tp)
whole = {name: [[], []] for name in sub_axes}
refuse("whole keys", "llama", change(of("llama", DP_TP), **whole), dp_tp)
refuse("norms of heads", "qwen3", of("qwen3", DP_TP), dp_tp)
refuse("number of heads", "opt", of("opt", DP_TP), dp_tp)
refuse("norm", "llama", change(of("llama", DP_TP), model__norm__weight=[["tp"]]), dp_tp)
refuse("batch", "llama", change(of("llama", DP_TP), lm_head__weight=[["dp"], []]), dp_tp)
refuse("both", "llama", change(of("llama", DP_TP), lm_head__weight=[["dp"], ["tp"]]), dp_tp)
refuse("two", "llama", change(of("llama", {"dp": 2, "tp": 2}, zero=3) | {"inputs": {}},
                              lm_head__weight=[["dp"], ["tp"]]), dp_tp)
refuse("bias", "flat", change(of("flat", DP_TP), up__bias=[[]]), dp_tp)

refuse("Conv1D", "gpt2", change(of("gpt2", DP_TP), transformer__wte__weight=[[], []],
                                transformer__h__0__mlp__c_fc__weight=[[], ["tp"]]), dp_tp)
fused = of("gpt2", DP_TP)
name = "transformer.h.0.attn.c_attn.weight"
fused["tensors"][name] = {"shape": [48, 144], "views": [
    {"name": f"{name}.{i}", "offset": 48 * i, "shape": [48, 4, 12], "strides": [144, 12, 1],
     "axes": [[], ["tp"], []]} for i in range(3)]}
refuse("fused", "gpt2", fused, dp_tp)

values = {"input": [["dp"], [], []], "output": [["dp"], [], ["tp"]]}
refuse("layouts", "llama", with_modules(LLAMA, model__layers__0__mlp__up_proj={
    **values, "input": [["dp"], ["tp"], []]}), dp_tp)
refuse("features", "llama", with_modules(LLAMA, model__norm=values), dp_tp)
refuse("scattered", "llama", with_modules(LLAMA, model__layers__0__mlp__down_proj=values), dp_tp)
refuse("other batch", "llama", with_modules(LLAMA, lm_head={**values, "input": [["tp"], [], []]}),
       dp_tp)


twice = models.make("llama")
tessera.load_shardings(models.write(LLAMA, FOLDER / "s.json")).apply_torch(twice, dp_tp)
models.MAKERS["twice"] = lambda: twice
refuse("twice", "twice", LLAMA, dp_tp)


class Scaled(torch.nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


def make_scaled():
    model = models.make_llama()
    model.lm_head.__class__ = Scaled
    return model


models.MAKERS["scaled"] = make_scaled
refuse("own forward", "scaled", LLAMA, dp_tp)
dist.destroy_process_group()
