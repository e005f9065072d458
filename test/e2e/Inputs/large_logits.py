"""Loss and gradient of cross entropy over logits that are large, equal, or both, compiled
for one rank or with the classes on two: prints whether both are as close to the f64 result
as f32 allows."""

import math
import pathlib
import random
import subprocess
import sys

import npy
import processors

ROWS, CLASSES = 16, 256
#: Spread and mean of a row's logits.
KINDS = [(0, 1000.3), (1e-3, 1000.3), (22, 0), (22, 300), (1, 0)]

PROGRAM = """
{mesh}
func.func @f(%x: tensor<{all}xf32> {{nn.input = "x"}}, %w: tensor<{rows}xf32> {{nn.input = "w"}})
    -> (tensor<{rows}xf32> {{nn.output = "loss"}}, tensor<{all}xf32> {{nn.output = "dx"}}) {{
  %labels = arith.constant dense<{labels}> : tensor<{rows}xi32>
  %e = tensor.expand_shape %x [[0, 1]] output_shape [{rows}, {classes}] : tensor<{all}xf32> into {logits}
  {constraint}
  %loss, %max, %log = nn.cross_entropy {shards}, %labels ignore -100 : {logits}, tensor<{rows}xi32> -> tensor<{rows}xf32> stats tensor<{rows}xf32>, tensor<{rows}xf32>
  %d = nn.cross_entropy_backward %w, {shards}, %labels, %max, %log ignore -100 : tensor<{rows}xf32>, {logits}, tensor<{rows}xi32>
  %dx = tensor.collapse_shape %d [[0, 1]] : {logits} into tensor<{all}xf32>
  return %loss, %dx : tensor<{rows}xf32>, tensor<{all}xf32>
}}
"""


def write_program(path, labels, ranks):
    mesh = f'dist.mesh @mesh ["x"={ranks}]' if ranks > 1 else ""
    constraint = ('%s = dist.constraint %e <@mesh, [{}, {"x"}]> : '
                  f"tensor<{ROWS}x{CLASSES}xf32>") if ranks > 1 else ""
    path.write_text(PROGRAM.format(
        mesh=mesh, constraint=constraint, shards="%s" if ranks > 1 else "%e", rows=ROWS,
        classes=CLASSES, all=ROWS * CLASSES, labels=labels,
        logits=f"tensor<{ROWS}x{CLASSES}xf32>"))


def main():
    folder, cpu, ranks, options = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    if cpu != "native" and cpu not in processors.runnable():
        cpu = "native"
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(5)
    labels = [rng.randrange(CLASSES) for _ in range(ROWS)]
    write_program(folder / "program.mlir", labels, ranks)
    subprocess.run(["tessera", "compile", folder / "program.mlir", "--quiet", "-o",
                    folder / "program", "--cpu", cpu, *options], check=True)
    npy.write(folder / "w.npy", [1.0] * ROWS)
    for spread, mean in KINDS:
        npy.write(folder / "x.npy", [rng.gauss(mean, spread) for _ in range(ROWS * CLASSES)])
        x = npy.read(folder / "x.npy")
        subprocess.run([folder / "program", "--ranks", str(ranks), "--inputs", folder,
                        "--save-outputs", folder / "out", "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)
        loss, dx = [npy.read(folder / "out" / f"{name}.npy") for name in ("loss", "dx")]
        errors = [0.0, 0.0]
        for i, label in enumerate(labels):
            row = x[i * CLASSES:(i + 1) * CLASSES]
            largest = max(row)
            total = math.fsum(math.exp(value - largest) for value in row)
            exact = math.log(total) - (row[label] - largest)
            errors[0] = max(errors[0], abs(loss[i] - exact) / exact)
            for j, value in enumerate(row):
                share = math.exp(value - largest) / total
                got = dx[i * CLASSES + j] + (j == label)
                errors[1] = max(errors[1], abs(got - share) / max(share, 0.1 if j == label else 1e-4))
        fits = errors[0] < 5e-7 and errors[1] < 2e-6
        print(f"{spread} around {mean}: loss {errors[0]:.1e}, shares {errors[1]:.1e}: "
              f"{'close' if fits else 'FAR'}")


main()
