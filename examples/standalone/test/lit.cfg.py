"""The tests of the standalone example, run by `check-toy`."""

import os
import sys

import lit.formats

config.name = "toy"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.toy_build, "test")
config.environment["PATH"] = os.pathsep.join(
    [config.toy_build, config.llvm_tools, os.environ["PATH"]])
config.substitutions.append(("%build", config.toy_build))
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%library", lit_config.params["library"]))
