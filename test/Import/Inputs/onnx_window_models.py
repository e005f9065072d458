"""Writes ONNX files of pools, resizing and convolutions, FOLDER/NAME.onnx: python
onnx_window_models.py FOLDER; or prints the lines that refuse files: python onnx_window_models.py
refused FOLDER."""

import pathlib
import sys

import numpy
import onnx
import torch
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import onnx_models  # noqa: E402
import torch_architectures  # noqa: E402
import torch_window_models  # noqa: E402


class Functions(torch.nn.Module):
    """The results of functions, each plus a parameter."""

    def __init__(self, functions):
        super().__init__()
        self.functions = functions
        self.summand = torch.nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return tuple(function(x) + self.summand for function in self.functions)


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x).logits


def make_forms(path):
    """Forms that torch does not write."""
    random, nodes, weights = numpy.random.default_rng(0), [], []

    def node(op, *arrays, **attributes):
        names = []
        for array in arrays:
            names.append("" if array is None else f"c{len(weights)}")
            if array is not None:
                weights.append(onnx.numpy_helper.from_array(numpy.asarray(array), names[-1]))
        nodes.append(helper.make_node(op, ["x", *names], [f"{op}_{len(nodes)}"], **attributes))

    def weight(*shape):
        return random.standard_normal(shape).astype("f4")
    for order in (1, 2, 3):
        node("GlobalLpPool", p=order)
        node("LpPool", p=order, kernel_shape=[3, 20], strides=[2, 1], pads=[1, 2, 0, 3])
    node("AveragePool", kernel_shape=[2, 2], strides=[3, 2], ceil_mode=1)
    node("MaxPool", kernel_shape=[2, 3], auto_pad="SAME_LOWER")
    for padding in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        node("Conv", weight(3, 4, 2, 3), weight(3), auto_pad=padding, strides=[2, 1])
        node("ConvTranspose", weight(4, 3, 2, 3), weight(3), auto_pad=padding, strides=[2, 3])
    node("ConvTranspose", weight(4, 3, 3, 3), auto_pad="SAME_UPPER", strides=[2, 3],
         output_shape=[13, 65])
    node("ConvTranspose", weight(4, 3, 2, 2), group=2, pads=[0, 1, 1, 0], dilations=[2, 1],
         strides=[2, 1], output_padding=[1, 0])
    node("Conv", weight(4, 2, 2, 3), group=2, pads=[0, 3, 2, 1], dilations=[2, 1])
    for mode in ("nearest", "linear", "cubic"):
        node("Resize", None, None, numpy.array([1, 4, 4, 31]), mode=mode)
        node("Resize", None, numpy.array([1, 1, 2, 0.6], "f4"), mode=mode,
             coordinate_transformation_mode="asymmetric")
    onnx_models.save(path, 18, nodes, weights, [item.output[0] for item in nodes],
                     {"x": (TensorProto.FLOAT, (1, 4, 6, 21))})


def import_refused(folder):
    """Prints the line for each file that is refused; exit status 1 if one is imported."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python"))
    from tessera import errors, onnx_import
    weight, path, imported = numpy.ones((4, 4, 2, 2), "f4"), pathlib.Path(folder) / "r.onnx", 0
    two = numpy.float32([2, 2])
    for op, arrays, attributes in (
            ("MaxPool", [], {}), ("MaxPool", [], {"kernel_shape": [2]}),
            ("MaxPool", [], {"kernel_shape": [9, 2]}),
            ("MaxPool", [], {"kernel_shape": [2, 2], "strides": [0, 1]}),
            ("MaxPool", [], {"kernel_shape": [2, 2], "auto_pad": "SAME"}),
            ("LpPool", [], {"kernel_shape": [2, 2], "p": -1}),
            ("Conv", [weight], {"pads": [0, -1, 1, 1]}), ("Conv", [weight], {"group": 2}),
            ("Conv", [weight[0]], {}), ("Conv", [weight], {"kernel_shape": [3, 3]}),
            ("Conv", [weight, two], {}), ("ConvTranspose", [weight], {"group": 3}),
            ("ConvTranspose", [weight], {"pads": [9, 9, 9, 9]}), ("Resize", [None, two], {}),
            ("Resize", [None, numpy.float32([1, 1, 2, 2])],
             {"keep_aspect_ratio_policy": "not_larger"})):
        weights = [onnx.numpy_helper.from_array(array, f"c{i}") for i, array in enumerate(arrays)
                   if array is not None]
        names = [f"c{i}" * (array is not None) for i, array in enumerate(arrays)]
        node = helper.make_node(op, ["x", *names], ["y"], **attributes)
        onnx_models.save(path, 18, [node], weights, ["y"], {"x": (TensorProto.FLOAT, (1, 4, 6, 6))})
        try:
            onnx_import.read_file(path)
            imported = 1
        except errors.ImportFailure as failure:
            print(str(failure).partition("node y ")[2])
    return imported


def main(folder):
    models = torch_window_models
    pools = [models.POOLS[i] for i in (0, 1, 3, 6, 9, 10, 11, 12, 17, 18)]
    for name, functions in (("pools", pools + models.RESIZED),
                            ("convolutions", models.CONVOLUTIONS + models.PATCHES)):
        onnx_models.export(Functions(functions), (models.IMAGES,), 18, f"{folder}/{name}.onnx")
    loss, x, _ = torch_architectures.make("resnet")
    onnx_models.export(Logits(loss.model).eval(), (torch.ones(x.shape),), 18,
                       f"{folder}/resnet.onnx")
    make_forms(f"{folder}/forms.onnx")


if __name__ == "__main__":
    sys.exit(import_refused(sys.argv[2]) if sys.argv[1] == "refused" else main(sys.argv[1]))
