"""Predictions of pretrained models on the test sets of CIFAR-10 and CIFAR-100.

    python -m studies.cifar --data DIR --out DIR [--download]

The models are those of chenyaofo/pytorch-cifar-models on TorchHub. A model meets the data set that its name says, with
that data set's normalisation; the number of classes is checked three times (names, labels, width of the scores).
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from studies import network
from studies.command import arguments, need, run_command, versions
from studies.predict import Labels, Refusal, Run, metadata, predict, say

HUB = "chenyaofo/pytorch-cifar-models"
MODELS = ("resnet32", "vgg16_bn", "mobilenetv2_x1_4")


@dataclass(frozen=True)
class Cifar:
    """A test set, and what its models were trained with."""

    # The class in torchvision.datasets.
    loader: str
    n_classes: int
    # As in the training logs of the models (logs/ of their repository).
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    # Top-1 in percent, as in the README of the models.
    published: Mapping[str, float]
    n_rows: int = 10_000


DATASETS = {
    "cifar10": Cifar(
        "CIFAR10",
        10,
        (0.4914, 0.4822, 0.4465),
        (0.2023, 0.1994, 0.2010),
        {"resnet32": 93.53, "vgg16_bn": 94.16, "mobilenetv2_x1_4": 94.22},
    ),
    "cifar100": Cifar(
        "CIFAR100",
        100,
        (0.5070, 0.4865, 0.4409),
        (0.2673, 0.2564, 0.2761),
        {"resnet32": 70.16, "vgg16_bn": 74.00, "mobilenetv2_x1_4": 75.98},
    ),
}
# Other decoders and other arithmetic move a few rows in ten thousand; a wrong normalisation moves
# hundreds.
WITHIN_POINTS = 0.25


def main(argv: Sequence[str] | None = None, datasets: Mapping[str, Cifar] = DATASETS) -> int:
    parser = arguments("Predictions of pretrained models on the test sets of CIFAR-10 and CIFAR-100.")
    parser.add_argument("--dataset", nargs="+", choices=list(datasets), default=list(datasets))
    parser.add_argument("--model", nargs="+", default=list(MODELS), metavar="NAME", help=f"default: {' '.join(MODELS)}")
    parser.add_argument(
        "--hub", default=HUB, help=f"repository on GitHub, or a folder with a hubconf.py (default: {HUB})"
    )
    parser.add_argument("--download", action="store_true", help="let torchvision fetch a data set that is not in DIR")
    options = parser.parse_args(argv)
    return run_command(lambda: _all(options, datasets))


def _all(options: Any, datasets: Mapping[str, Cifar]) -> None:
    need("torch", "torchvision")
    for name in options.dataset:
        images, labels, order = _test_set(name, datasets[name], options)
        for model_name in options.model:
            _one(name, datasets[name], model_name, images, labels, order, options)


def _test_set(name: str, cifar: Cifar, options: Any) -> tuple[network.Images, Labels, str]:
    from torchvision import datasets, transforms

    steps = [transforms.ToTensor(), transforms.Normalize(cifar.mean, cifar.std)]
    try:
        loader = getattr(datasets, cifar.loader)
        found = loader(str(options.data), train=False, transform=transforms.Compose(steps), download=options.download)
    except (RuntimeError, OSError) as error:
        how = "the download failed" if options.download else "give --download to fetch it, or put it there"
        raise Refusal(f"{name} is not whole in {options.data}: {how} ({network.first_line(error)})") from error
    if len(found.classes) != cifar.n_classes:
        raise Refusal(f"{name} must have {cifar.n_classes} classes, got the names of {len(found.classes)}")
    labels = np.asarray(found.targets, dtype=np.int64)
    if len(labels) != cifar.n_rows or len(found.data) != cifar.n_rows:
        raise Refusal(f"{name} must have {cifar.n_rows} test images, got {len(found.data)} and {len(labels)} labels")
    return partial(_image, found), labels, hashlib.sha256(found.data.tobytes()).hexdigest()


def _image(found: Any, row: int) -> Any:
    return found[row][0]


def _one(
    dataset: str, cifar: Cifar, name: str, images: network.Images, labels: Labels, order: str, options: Any
) -> None:
    entry = f"{dataset}_{name}"
    on = network.device(options.device)
    model = _load(entry, options.hub)
    local = Path(options.hub).is_dir()
    settings = {
        "weights": {"source": "a local folder" if local else options.hub, "sha256": network.weights_sha256(model)},
        "images_sha256": order,
        "transform": {"mean": cifar.mean, "std": cifar.std},
        "device": network.device_name(on),
        "versions": versions("numpy", "torch", "torchvision"),
    }
    run = Run(
        entry, dataset, cifar.n_classes, labels, settings, options.batch_size, options.part_batches, options.limit
    )
    scores = network.batches(model, images, on=on, batch_size=options.batch_size, n_workers=options.workers)
    made = metadata(predict(run, scores, options.out / f"{entry}.npz", restart=options.restart))
    published = cifar.published.get(name)
    if published is not None and not made["limited"] and abs(100 * made["accuracy"] - published) > WITHIN_POINTS:
        say(f"warning: accuracy of {entry} is {100 * made['accuracy']:.2f} %, its authors state {published:.2f} %")


def _load(entry: str, hub: str) -> Any:
    import torch

    source = "local" if Path(hub).is_dir() else "github"
    try:
        return torch.hub.load(hub, entry, source=source, pretrained=True, trust_repo=True, verbose=False)
    except Exception as error:  # of any kind: it runs the code of another repository
        raise Refusal(f"cannot load {entry} from {hub}: {type(error).__name__}: {network.first_line(error)}") from error


if __name__ == "__main__":
    sys.exit(main())
