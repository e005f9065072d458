import os
import shutil
import subprocess
import sys

import lit.formats

config.name = "Tessera"
# lit's internal shell avoids a process for the shell of each RUN line.
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "unit", "runtime"]
config.test_source_root = os.path.dirname(__file__)
config.environment["PATH"] = os.pathsep.join(
    [config.tessera_bin_dir, config.llvm_tools_dir, config.environment["PATH"]]
)
config.environment["FILECHECK_OPTS"] = (
    "-enable-var-scope --allow-unused-prefixes=false --dump-input=fail"
)
config.substitutions.append(("%plugin", os.path.join(config.tessera_lib_dir, "tessera-plugin.so")))
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%capi", os.path.join(config.tessera_lib_dir, "libTesseraC.so")))
config.substitutions.append(("%bin", config.tessera_bin_dir))
config.substitutions.append(("%src", config.tessera_src_root))
config.substitutions.append(("%models", os.path.join(config.tessera_src_root, "share", "models")))

# The verifier runs after each pass, which users do not pay for.
config.environment["TESSERA_VERIFY_EACH"] = "1"

# Errors that no reader of the Python package expected are faults: shown whole.
config.environment["TESSERA_TRACEBACK"] = "1"
# lit runs a test on each processor, where threads of PyTorch would wait for each other.
config.environment["OMP_NUM_THREADS"] = "1"

# The processor that programs are compiled for and run with, if it is not this machine's: see
# docs/host-target.md.
for variable in ["TESSERA_CPU", "TESSERA_RT_ISA"]:
    if os.environ.get(variable):
        config.environment[variable] = os.environ[variable]

# A CUDA toolkit, found like `tessera compile --target cuda` finds it.
toolkit = None
for variable in ["TESSERA_CUDA_PATH", "CUDA_HOME"]:
    if os.environ.get(variable):
        toolkit = toolkit or os.environ[variable]
        config.environment[variable] = os.environ[variable]
ptxas = shutil.which("ptxas")
toolkit = toolkit or (
    "/usr/local/cuda"
    if os.path.exists("/usr/local/cuda/bin/ptxas")
    else ptxas and os.path.dirname(os.path.dirname(ptxas))
)
if toolkit and os.path.exists(
    os.path.join(toolkit, "nvvm", "libdevice", "libdevice.10.bc")
):
    config.available_features.add("cuda-toolkit")

# ./dev tidy installs clang-tidy, a test does not.
if shutil.which("clang-tidy-22"):
    config.available_features.add("clang-tidy")

# Pages, and a browser that opens them.
if config.tessera_has_pages:
    config.available_features.add("pages")
if config.tessera_has_pages and shutil.which("chromium") and shutil.which("chromedriver"):
    config.available_features.add("browser")
else:
    lit_config.note("pages are not tested: expects node-d3, chromium and chromium-driver")

# Another solver of cost networks.
if shutil.which("toulbar2"):
    config.available_features.add("toulbar2")

# Nodes of a cluster on this machine; see test/nodes/nodes.py.
missing = subprocess.run(
    [sys.executable, os.path.join(config.test_source_root, "nodes", "nodes.py"), "--check"],
    capture_output=True,
    text=True,
)
missing = (missing.stdout + missing.stderr).strip()
if missing:
    lit_config.note(f"programs on several nodes are not tested: {missing}")
else:
    config.available_features.add("nodes")
# strace is there but sees nothing if debuggers are not allowed.
if shutil.which("strace") and not subprocess.run(
    ["strace", "-o", os.devnull, "true"], stderr=subprocess.DEVNULL
).returncode:
    config.available_features.add("strace")
else:
    lit_config.note("sockets that programs open are not watched: expects strace")
if shutil.which("mpirun.openmpi"):
    config.available_features.add("openmpi")
# Slurm's daemons run as root alone.
if shutil.which("slurmctld") and os.getuid() == 0:
    config.available_features.add("slurm")

# Pythons with jax, with torch and transformers, and with torch and onnx, which import functions,
# modules and files.
for framework in ["jax", "torch", "onnx"]:
    python = os.environ.get(f"TESSERA_{framework.upper()}_PYTHON")
    if python:
        config.available_features.add(framework)
        config.substitutions.append((f"%{framework}_python", python))
# torch has a cache, which must not be among temporary files.
config.environment["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(
    config.tessera_bin_dir, os.pardir, "torchinductor")
