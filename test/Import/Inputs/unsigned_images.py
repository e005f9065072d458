"""Models whose inputs and results are unsigned integers: images of bytes. With a format as first
argument, writes what a program needs: `torch FOLDER` the image and torch's results."""

import pathlib
import sys

import numpy

IMAGE = numpy.random.default_rng(7).integers(256, size=(4, 3, 8, 8)).astype("u1")


def make_torch():
    import torch

    class Classes(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.convolution = torch.nn.Conv2d(3, 8, 3, padding=1)
            self.classes = torch.nn.Linear(8, 5)

        def forward(self, image):
            x = torch.relu(self.convolution((image.float() - 127.5) / 64))
            dark = torch.where(image > 128, 255 - image, image)
            return self.classes(x.mean((2, 3))), dark.flatten(1), (image + image).to(torch.int32)

    torch.manual_seed(0)
    return Classes(), torch.from_numpy(IMAGE)


def make_loss():
    import torch

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = make_torch()[0]

        def forward(self, image, labels):
            return torch.nn.functional.cross_entropy(self.model(image)[0], labels)

    return Loss(), torch.from_numpy(IMAGE), torch.arange(4)


def make_signed():
    import torch

    class Largest(torch.nn.Module):
        def forward(self, image):
            return image // 3

    return Largest(), torch.from_numpy(IMAGE)


def make_jax():
    import jax
    import jax.numpy as jnp

    def compute(image, count):
        pixels = image.astype(jnp.float32) / 255
        dark = jnp.where(image > 128, 255 - image, image)
        return {"pixels": pixels.sum(axis=0), "dark": dark, "count": count // 3,
                "wide": count.astype(jnp.uint16)}

    kinds = (jax.ShapeDtypeStruct((4, 6), jnp.uint8), jax.ShapeDtypeStruct((4,), jnp.uint32))
    return compute, *kinds


def make_onnx(path):
    import onnx
    from onnx import TensorProto, helper
    nodes = [helper.make_node("Cast", ["image"], ["pixels"], to=TensorProto.FLOAT),
             helper.make_node("MatMul", ["pixels", "w"], ["y"]),
             helper.make_node("Greater", ["image", "half"], ["is_bright"]),
             helper.make_node("Where", ["is_bright", "half", "image"], ["dark"]),
             helper.make_node("Cast", ["dark"], ["wide"], to=TensorProto.UINT32)]
    w = numpy.random.default_rng(1).standard_normal((6, 3)).astype("f4")
    weights = [onnx.numpy_helper.from_array(w, "w"),
               onnx.numpy_helper.from_array(numpy.array(200, "u1"), "half")]
    results = {"y": (TensorProto.FLOAT, (4, 3)), "dark": (TensorProto.UINT8, (4, 6)),
               "wide": (TensorProto.UINT32, (4, 6))}
    values = [helper.make_tensor_value_info(name, *kind) for name, kind in results.items()]
    image = helper.make_tensor_value_info("image", TensorProto.UINT8, (4, 6))
    model = helper.make_model(helper.make_graph(nodes, "images", [image], values, weights),
                              opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 8
    onnx.save(model, path)


def write_torch(folder):
    import torch
    for name in ("inputs", "expected"):
        (folder / name).mkdir()
    model, image = make_torch()
    numpy.save(folder / "inputs" / "image.npy", IMAGE)
    with torch.no_grad():
        for name, result in zip(("logits", "result.1", "result.2"), model(image)):
            numpy.save(folder / "expected" / f"{name}.npy", result.numpy())


if __name__ == "__main__":
    if sys.argv[1] == "torch":
        write_torch(pathlib.Path(sys.argv[2]))
    else:
        make_onnx(sys.argv[2])
