"""The picture of a report: its top, as Chromium shows it.

CALIPERS=target/fast/calipers python docs/figures/report.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CALIPERS = os.environ.get("CALIPERS", str(ROOT / "target" / "fast" / "calipers"))
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def main(folder: Path = HERE) -> None:
    """Write the picture, next to this file unless told otherwise."""
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as started:
        page = Path(scratch) / "report.html"
        models = ["--prob", "naive_bayes", "--prob", "mlp"]
        command = [CALIPERS, "report", str(ROOT / "examples" / "breast_cancer.csv"), *models, "-o", str(page)]
        subprocess.run([*command, "--title", "Is the tumour malignant?"], check=True, capture_output=True)
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        opened = browser.new_page(viewport={"width": 1100, "height": 1180})
        opened.goto(page.as_uri())
        opened.screenshot(path=folder / "report.png")
        browser.close()


if __name__ == "__main__":
    main()
