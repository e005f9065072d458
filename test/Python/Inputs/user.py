"""A user's file, for mypy --strict."""

import pathlib
from typing import Any

import tessera


def train(model: Any, ids: Any) -> dict[str, Any]:
    optimizer = tessera.AdamW(lr=3e-4, betas=(0.9, 0.95), clip=1.0, lr_schedule="cosine")
    loss = tessera.with_loss(model, lambda logits, labels: (logits - labels).square().mean())
    with tessera.compile(loss, (ids, ids), train=optimizer, ranks=4, strategy="auto",
                         cluster=pathlib.Path("host.json"), micro_batches=2, overlap=False,
                         memory_limit="2GB") as step:
        out: tessera.StepResult = step(ids, ids)
        print(out.loss, out.grad_norm, step.seconds, step.mesh["dp"])
        step.load_training_state(step.training_state())
        step.save_weights("weights")
        report: dict[str, Any] = step.report()
        text: str = step.ir("partition")
        print(report, text.upper())
        return step.state_dict()


def infer(model: Any, ids: Any) -> Any:
    program: tessera.Program = tessera.compile(model, (ids,), {"labels": ids},
                                               mesh={"dp": 2, "tp": 2}, strategy="dp,tp")
    try:
        return program(ids)
    except tessera.ProgramError as error:
        failure: tessera.Error = error
        raise failure
