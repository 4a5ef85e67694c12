"""A page in headless Chromium: what it logs, what it asks the network for, and what a script finds in it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest

_ANSWER = "data-answer"


@dataclass(frozen=True)
class Seen:
    """What came of it."""

    answer: Any
    console: list[str]
    requests: list[str]


def opened(page: Path, script: str, folder: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> Seen:
    """Open a copy of the page, and run ``script``, the body of a function whose result is JSON."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium is installed")
    asked = folder / "asked.html"
    answer_it = f'document.body.setAttribute("{_ANSWER}", JSON.stringify((() => {{ {script} }})()))'
    told = f'addEventListener("load", () => {answer_it})'
    asked.write_text(f"{page.read_text(encoding='utf-8')}<script>{told}</script>", encoding="utf-8")
    network = folder / "network.json"
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--enable-logging=stderr",
        f"--user-data-dir={folder / 'profile'}",
        f"--window-size={width},{height}",
        f"--log-net-log={network}",
        *(["--blink-settings=preferredColorScheme=0"] if dark else []),
        "--dump-dom",
    ]
    done = subprocess.run([chromium, *options, asked.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    answer = re.search(rf'{_ANSWER}="([^"]*)"', done.stdout)
    assert answer is not None, done.stdout[-2000:]
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    loaded = re.findall(r'"url":"((?:https?|wss?)://[^"]+)"', network.read_text(errors="replace"))
    # What the browser asks for on its own account is not the page's doing.
    own = re.compile(r"^https?://[^/]*(google|gstatic|gvt1)[^/]*/")
    return Seen(json.loads(unescape(answer[1])), console, [url for url in loaded if not own.match(url)])
