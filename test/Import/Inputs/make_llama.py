"""make_llama.py CONFIG.json: a config for the Llama of torch_models.py, derived from another one.
"""

import json
import pathlib
import sys

config = json.loads(pathlib.Path(sys.argv[1]).read_text())
config.update(hidden_size=48, intermediate_size=96, rope_theta=10000.0, rms_norm_eps=1e-6)
config["rope_scaling"].update(factor=8.0, original_max_position_embeddings=16)
print(json.dumps(config))
