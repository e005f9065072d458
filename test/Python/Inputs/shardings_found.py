"""Shardings that the compiler finds: python shardings_found.py torch|jax MODELS, where MODELS is
the folder of jax_models.py. Compares them with those by hand."""

import sys

import tessera


def refuse(case, action):
    try:
        action()
        print(f"{case}: no error")
    except tessera.Error as error:
        print(f"{case}: {type(error).__name__}: {error}")


def find_torch():
    import shardings_models as models
    ids = models.make_ids()[0]
    arguments = {"input_ids": ids, "labels": ids}

    def find(name, mesh, strategy, **others):
        return tessera.find_shardings(models.make(name), (), arguments, mesh=mesh,
                                      strategy=strategy, **others)

    for strategy, zero in (("dp,tp", 0), ("dp,tp,zero=3", 3)):
        mesh = {"dp": 2, "tp": 2}
        found = find("llama", mesh, strategy)
        document = models.describe(models.make("llama"), mesh, {})
        tensors = {name: {"shape": list(tensor.shape),
                          "axes": [list(map(str, dim)) for dim in tensor.axes]}
                   for name, tensor in found.tensors.items()}
        inputs = {name: [list(map(str, dim)) for dim in layout]
                  for name, layout in found.inputs.items()}
        print(f"torch {strategy}: tensors {tensors == document['tensors']}, zero "
              f"{found.zero == zero}, inputs {inputs}, mesh {found.mesh}")
    found = find("gpt2", {"tp": 2}, "tp")
    print("fused:", found.tensors["transformer.h.0.attn.c_attn.weight"])
    found = find("llama", {"tp": 4}, "tp")
    print("groups:", *map(str, found.tensors["model.layers.0.self_attn.k_proj.weight"].axes[0]))
    found = find("llama", {"x": 4}, "auto", options=["--memory-limit", "1GB"])
    print("auto:", len(found.tensors), "tensors")
    refuse("strategy", lambda: find("llama", {"tp": 2}, "dp"))
    refuse("mesh", lambda: find("llama", 2, "tp"))
    refuse("model", lambda: tessera.find_shardings(3, mesh={"tp": 2}))


def find_jax():
    sys.path.insert(0, sys.argv[2])
    import jax_models
    # JAX pads no dimension.
    jax_models.VOCAB = 68
    function, *arguments = jax_models.make_unrolled_loss()
    found = tessera.find_shardings(function, arguments, mesh={"dp": 2, "tp": 2}, strategy="dp,tp")
    block = found.to_jax(arguments[0])["blocks"][1]
    print("jax:", block["attention"]["q"].spec, block["attention"]["out"].spec, block["up"].spec,
          block["down"].spec, block["norm1"]["scale"].spec, found.to_jax_inputs()["tokens"].spec)
    found = tessera.find_shardings(lambda p, x: ((x @ p["w"]) ** 2).mean(),
                                   ({"w": jax_models.shape(8, 16)}, jax_models.shape(4, 8)),
                                   mesh={"dp": 2}, strategy="dp", inputs="x", dims="x=batch,embed")
    print("floats:", list(found.tensors), found.to_jax_inputs()["x"].spec)
    refuse("keywords", lambda: tessera.find_shardings(function, arguments, {"x": 1},
                                                      mesh={"tp": 1}))


find_torch() if sys.argv[1] == "torch" else find_jax()
