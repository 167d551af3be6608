"""A torch model on the rows of a data set: float32, on one device, batch by batch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from studies.command import need
from studies.predict import Batches, Refusal, Scores

# The image of a row, ready for the model.
Images = Callable[[int], Any]


def device(name: str) -> Any:
    """The device, if it is here. Shortened float32 arithmetic is switched off."""
    (torch,) = need("torch")
    try:
        found = torch.device(name)
        torch.zeros(1, device=found)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise Refusal(f"device {name} cannot be used: {first_line(error)}") from error
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    return found


def device_name(on: Any) -> str:
    """What the last bits depend on."""
    (torch,) = need("torch")
    return f"cuda ({torch.cuda.get_device_name(on)})" if on.type == "cuda" else str(on.type)


def weights_sha256(model: Any) -> str:
    """Digest of all weights: the same model is the same numbers, whatever file they came from."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        array = np.ascontiguousarray(tensor.detach().cpu().numpy())
        digest.update(f"{name} {array.dtype} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def batches(model: Any, images: Images, *, on: Any, batch_size: int, n_workers: int) -> Batches:
    (torch,) = need("torch")
    model = model.eval().to(device=on, dtype=torch.float32)

    def scores(rows: range) -> Iterable[Scores]:
        loader = torch.utils.data.DataLoader(_Rows(images, rows), batch_size=batch_size, num_workers=n_workers)
        try:
            with torch.inference_mode():
                for batch in _in_one_line(loader):
                    yield model(batch.to(on)).cpu().numpy()
        except torch.OutOfMemoryError as error:
            raise Refusal(
                f"{on} has no memory for {batch_size} images at a time: give a smaller --batch-size"
            ) from error

    return scores


def _in_one_line(loader: Any) -> Iterable[Any]:
    """The batches. A refusal in a worker comes with the worker's traceback: only its own text is kept."""
    try:
        yield from loader
    except Refusal as refusal:
        raise Refusal(str(refusal).strip().rpartition("Refusal: ")[2]) from None


class _Rows:
    """Some rows, as DataLoader asks for them."""

    def __init__(self, images: Images, rows: range) -> None:
        self.images, self.rows = images, rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> Any:
        return self.images(self.rows[i])


def first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
