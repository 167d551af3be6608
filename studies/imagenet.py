"""Predictions of six timm models on the 50,000 validation images of ImageNet-1K, which are in a local folder.

    python -m studies.imagenet --data DIR --out DIR [--truth FILE]

DIR has a folder for each class (n01440764, ...), or all images beside each other and FILE says their classes.
Both give the same rows: images are in the order of their file names, which does not go by class.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from studies import network
from studies.command import arguments, need, run_command, versions
from studies.predict import Labels, Refusal, Run, predict

MODELS = (
    "resnet18.a1_in1k",
    "resnet50.a1_in1k",
    "efficientnet_b0.ra_in1k",
    "mobilenetv3_large_100.ra_in1k",
    "vit_base_patch16_224.augreg2_in21k_ft_in1k",
    "regnety_080.ra3_in1k",
)
N_IMAGES = 50_000
SUFFIXES = {".jpeg", ".jpg", ".png"}


@dataclass(frozen=True)
class Images:
    """Files in the order of their names, and their classes."""

    paths: list[Path]
    labels: Labels
    classes: list[str]

    def sha256(self) -> str:
        """Digest of the order: names and sizes. Folders do not matter."""
        lines = (f"{path.stem} {path.stat().st_size}\n" for path in self.paths)
        return hashlib.sha256("".join(lines).encode()).hexdigest()


def main(argv: Sequence[str] | None = None) -> int:
    parser = arguments("Predictions of timm models on the validation images of ImageNet-1K.")
    parser.add_argument("--truth", type=Path, metavar="FILE", help="classes of images that are not in class folders")
    parser.add_argument(
        "--model", nargs="+", default=list(MODELS), metavar="NAME", help="timm names (default: six models)"
    )
    parser.add_argument(
        "--weights", type=Path, metavar="FILE", help="a file of weights for one model, instead of the hub's"
    )
    parser.add_argument(
        "--classes", type=Path, metavar="FILE", help="class names in the model's order (default: timm's 1,000)"
    )
    parser.add_argument(
        "--n-images", type=int, default=N_IMAGES, metavar="N", help=f"how many there must be (default: {N_IMAGES})"
    )
    options = parser.parse_args(argv)
    return run_command(lambda: _all(options))


def _all(options: Any) -> None:
    _, _, timm = need("torch", "torchvision", "timm")
    if options.weights is not None and len(options.model) != 1:
        raise Refusal(f"--weights are those of one model, got {len(options.model)}")
    if options.classes is not None:
        classes = _lines(options.classes)
    else:
        classes = list(timm.data.ImageNetInfo("imagenet-1k").label_names())
    images = find_images(options.data, options.truth, classes, options.n_images)
    order = images.sha256()
    for name in options.model:
        _one(name, images, order, options)


def _one(name: str, images: Images, order: str, options: Any) -> None:
    import timm

    on = network.device(options.device)
    model = _load(name, len(images.classes), options.weights)
    config = timm.data.resolve_model_data_config(model)
    transform = timm.data.create_transform(**config, is_training=False)
    settings = {
        "weights": {
            "source": model.pretrained_cfg.get("hf_hub_id") if options.weights is None else "a local file",
            "sha256": network.weights_sha256(model),
        },
        "images_sha256": order,
        "classes_sha256": hashlib.sha256("\n".join(images.classes).encode()).hexdigest(),
        "transform": {key: list(v) if isinstance(v, tuple) else v for key, v in config.items()},
        "device": network.device_name(on),
        "versions": versions("numpy", "pillow", "timm", "torch", "torchvision"),
    }
    run = Run(
        name,
        "imagenet",
        len(images.classes),
        images.labels,
        settings,
        options.batch_size,
        options.part_batches,
        options.limit,
    )
    read = partial(_image, images.paths, transform)
    scores = network.batches(model, read, on=on, batch_size=options.batch_size, n_workers=options.workers)
    predict(run, scores, options.out / f"imagenet_{name}.npz", restart=options.restart)


def _load(name: str, n_classes: int, weights: Path | None) -> Any:
    import timm

    if not timm.is_model(name.split(".")[0]):
        raise Refusal(f"timm has no model {name}")
    try:
        if weights is None:
            return timm.create_model(name, pretrained=True)
        model = timm.create_model(name, pretrained=False, num_classes=n_classes)
        timm.models.load_checkpoint(model, str(weights), strict=True, weights_only=True)
    except Exception as error:  # of any kind: hubs and their clients
        where = "its hub" if weights is None else weights
        raise Refusal(
            f"cannot load {name} from {where}: {type(error).__name__}: {network.first_line(error)}"
        ) from error
    return model


def _image(paths: list[Path], transform: Any, row: int) -> Any:
    from PIL import Image

    try:
        with Image.open(paths[row]) as image:
            return transform(image.convert("RGB"))
    except OSError as error:
        raise Refusal(f"image {paths[row]} of row {row} cannot be read: {network.first_line(error)}") from error


def find_images(folder: Path, truth: Path | None, classes: list[str], n_images: int) -> Images:
    """All images under `folder`, which must be `n_images`, and the class of each."""
    if not folder.is_dir():
        raise Refusal(f"{folder} is not a folder: it must have the validation images, which nothing here fetches")
    index = {name: i for i, name in enumerate(classes)}
    by_class = sorted(entry for entry in folder.iterdir() if entry.is_dir() and entry.name in index)
    found: list[tuple[str, Path, int]]
    if by_class and truth is not None:
        raise Refusal(f"{folder} has a folder for each class: leave out --truth")
    if by_class:
        found = [(path.stem, path, index[place.name]) for place in by_class for path in _files(place)]
    elif truth is not None:
        names = sorted(_files(folder), key=lambda path: path.stem)
        label_of = read_truth(truth, index, [path.stem for path in names])
        found = [(path.stem, path, label_of[path.stem]) for path in names if path.stem in label_of]
        if len(found) != len(names):
            first = next(path.name for path in names if path.stem not in label_of)
            raise Refusal(f"{truth} has no class for {len(names) - len(found)} images, the first is {first}")
    else:
        raise Refusal(f"{folder} has no class folders such as {classes[0]}: for images beside each other give --truth")
    if len(found) != n_images:
        raise Refusal(
            f"{folder} must have {n_images} images, got {len(found)}: is it a part of them? (--n-images, --limit)"
        )
    found.sort()
    for (stem, path, _), (next_stem, next_path, _) in pairwise(found):
        if stem == next_stem:
            raise Refusal(f"two images have the same name: {path} and {next_path}")
    labels = np.array([label for _, _, label in found], dtype=np.int64)
    return Images([path for _, path, _ in found], labels, classes)


def read_truth(path: Path, index: Mapping[str, int], stems: list[str]) -> dict[str, int]:
    """The class of each image.

    A line is `IMAGE CLASS ...`, with blanks or a comma between; the class is a name (n01440764) or a number from 0
    in the order of the names. Lines of one number alone are the development kit's: its numbers from 1 have an order
    of their own, which only the file meta.mat beside it tells.
    """
    lines = _lines(path)
    if lines and lines[0].lower().startswith("imageid,"):  # the table of Kaggle
        lines = lines[1:]
    if lines and all(line.isdigit() for line in lines):
        return _read_devkit(path, index, [int(line) for line in lines], stems)
    label_of: dict[str, int] = {}
    for line in lines:
        name, *rest = re.split(r"[\s,]+", line)
        label = rest[0] if rest else ""
        if label in index:
            number = index[label]
        elif label.isdigit() and int(label) < len(index):
            number = int(label)
        else:
            raise Refusal(f"a line of {path} must be an image and its class, got {line[:80]!r}")
        if label_of.setdefault(Path(name).stem, number) != number:
            raise Refusal(f"{path} has two classes for {name}")
    return label_of


def _read_devkit(path: Path, index: Mapping[str, int], numbers: list[int], stems: list[str]) -> dict[str, int]:
    beside = path.parent / "meta.mat"
    if not beside.is_file():
        raise Refusal(f"{path} has numbers in the order of the development kit: its meta.mat must stand beside it")
    (io,) = need("scipy.io")
    synsets = io.loadmat(beside, squeeze_me=True)["synsets"]
    name_of = {int(synset["ILSVRC2012_ID"]): str(synset["WNID"]) for synset in synsets}
    if len(numbers) != len(stems):
        raise Refusal(f"{path} has {len(numbers)} lines for {len(stems)} images")
    unknown = [number for number in numbers if name_of.get(number) not in index]
    if unknown:
        raise Refusal(f"{path} has class {unknown[0]}, which is none of the {len(index)}")
    return {stem: index[name_of[number]] for stem, number in zip(stems, numbers, strict=True)}


def _files(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        return [Path(entry.path) for entry in entries if Path(entry.name).suffix.lower() in SUFFIXES]


def _lines(path: Path) -> list[str]:
    try:
        return [line.strip() for line in path.read_text().splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(f"{path} cannot be read: {network.first_line(error)}") from error


if __name__ == "__main__":
    sys.exit(main())
