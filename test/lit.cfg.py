import os
import sys

import lit.formats

config.name = "Tessera"
# lit's internal shell: no process for the shell of each RUN line.
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
config.substitutions.append(("%bin", config.tessera_bin_dir))
config.substitutions.append(("%src", config.tessera_src_root))
config.substitutions.append(("%models", os.path.join(config.tessera_src_root, "share", "models")))
