"""The service and the container fit the program: what they start, how they stop it, and what they do not repeat."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections import defaultdict
from fnmatch import fnmatch
from pathlib import Path

import pytest

from bot.cli.shell import Exit
from bot.live import LiveSettings
from config.settings import Settings, keys

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNIT = DEPLOY / "ricordo.service"
UNITS_OF_TIME = {"s": 1, "min": 60}


def unit() -> dict[str, list[str]]:
    values: defaultdict[str, list[str]] = defaultdict(list)
    for line in UNIT.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            values[key].append(value)
    return values


def seconds(text: str) -> int:
    number, name = re.fullmatch(r"(\d+)(s|min)", text).groups()  # type: ignore[union-attr] # a failure is the test's
    return int(number) * UNITS_OF_TIME[name]


def instructions() -> list[tuple[str, str]]:
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines]


def copied() -> list[str]:
    return [source for name, rest in instructions() if name == "COPY" and "--from" not in rest for source in rest.split()[:-1]]


def test_the_service_waits_for_the_bot_as_long_as_the_bot_needs() -> None:
    live, values = LiveSettings(), unit()
    assert values["Type"] == ["notify"]  # bot/supervisor.py says READY, WATCHDOG and STOPPING
    assert seconds(values["WatchdogSec"][0]) > 3 * live.beat_seconds
    assert seconds(values["TimeoutStopSec"][0]) > 2 * live.store_seconds


def test_the_service_starts_again_what_a_new_start_may_help_and_nothing_else() -> None:
    values = unit()
    assert values["Restart"] == ["on-failure"]
    assert set(map(int, values["RestartPreventExitStatus"][0].split())) == {int(Exit.USAGE), int(Exit.REFUSED)}


def test_systemd_takes_the_service(tmp_path: Path) -> None:
    analyse = shutil.which("systemd-analyze")
    if analyse is None:
        pytest.skip("systemd-analyze is not on this machine")
    text = UNIT.read_text().replace("/opt/ricordo/.venv/bin/ricordo", shutil.which("true") or "/bin/true")
    (tmp_path / "ricordo.service").write_text(text)
    checked = subprocess.run(
        [analyse, "verify", "--man=no", tmp_path / "ricordo.service"], capture_output=True, text=True, check=False
    )
    assert "ricordo.service:" not in checked.stderr, checked.stderr
    rated = subprocess.run(
        [analyse, "security", "--offline=yes", "--threshold=20", tmp_path / "ricordo.service"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "unrecognized option" in rated.stderr:
        pytest.skip("this systemd-analyze rates no files")
    assert rated.returncode == 0, rated.stdout


def test_the_container_gets_files_that_exist_and_are_not_kept_from_it() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert ignored[0] == "*"
    for source in copied():
        assert (ROOT / source).exists(), source
        assert any(fnmatch(source, line.removeprefix("!")) for line in ignored[1:] if line.startswith("!")), source


def test_the_container_runs_as_nobody_in_particular_and_holds_no_secret() -> None:
    steps = instructions()
    names = [name for name, _ in steps]
    assert dict(steps)["USER"] == "ricordo"
    assert names.index("USER") > max(at for at, name in enumerate(names) if name in {"RUN", "COPY"})
    told = " ".join(rest for name, rest in steps if name in {"ENV", "ARG", "LABEL"})
    assert not re.search(r"(?i)secret|token|key=", told)


@pytest.mark.parametrize("file", ["Dockerfile", "ricordo.service", "compose.yaml"])
def test_settings_that_are_named_exist(file: str) -> None:
    known = {f"RICORDO_{section}__{key}".upper() for section, key in keys(Settings)} | {"RICORDO_CONFIG"}
    assert set(re.findall(r"RICORDO_[A-Z_]+", (DEPLOY / file).read_text())) <= known


def test_the_composition_keeps_the_data_and_starts_again_a_limited_number_of_times() -> None:
    yaml = pytest.importorskip("yaml")
    service = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["ricordo"]
    assert service["restart"] == "on-failure:10"
    assert service["volumes"] == ["ricordo:/data"]
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).resolve() == DEPLOY / "Dockerfile"
    assert int(service["stop_grace_period"].removesuffix("s")) > 2 * LiveSettings().store_seconds


@pytest.mark.slow
def test_what_the_container_gets_is_enough_to_build_the_program(tmp_path: Path) -> None:
    for source in copied():
        target = tmp_path / "build" / source
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, target)
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
         "--wheel-dir", tmp_path, tmp_path / "build"],
        capture_output=True, text=True, check=False, env=os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    held = zipfile.ZipFile(wheel).namelist()
    for source in (
        "config/defaults.toml",
        "lore/canon/",
        "memory/store/migrations/versions/",
        "replays/samples/",
        "bot/cli/setup.py",
    ):
        assert any(name.startswith(source) for name in held), source
    _run_as_in_the_container(wheel, tmp_path)


def _run_as_in_the_container(wheel: Path, folder: Path) -> None:
    """Let the wheel, without the checkout it came from, play the bundled chat in a folder that is all it may write to."""
    program, data = folder / "opt", folder / "data"
    zipfile.ZipFile(wheel).extractall(program)
    data.mkdir(mode=0o700)
    (data / "ricordo.toml").write_text("")
    told = next(rest for name, rest in instructions() if name == "ENV")
    given = {key: value.replace("/data", str(data)) for key, value in (pair.split("=", 1) for pair in told.split())}
    environment = {**given, "PATH": os.environ["PATH"], "PYTHONPATH": str(program), "HOME": str(data)}
    command = [sys.executable, "-m", "replays", *dict(instructions())["CMD"].strip('[]"').split(), "--demo"]
    played = subprocess.run(command, cwd=data, env=environment, capture_output=True, text=True, check=False)
    assert played.returncode == 0, played.stderr
    assert "Briciola" in played.stdout
    assert sorted(path.name for path in data.iterdir()) == ["out", "ricordo.toml"]
    assert not list(program.rglob("__pycache__"))
