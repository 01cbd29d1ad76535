"""What the system refuses: closed streams, full disks, read-only folders, too little memory. A sentence and code 2."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from calque.cli.main import answered, run

CALQUE = f"exec {sys.executable} -m calque"
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full and ulimit")


def shell(command: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, **options)


def sentence(ended: subprocess.CompletedProcess[str]) -> str:
    """The one line that a command said while it refused."""
    assert ended.stderr.startswith("calque: "), ended.stderr
    assert ended.stderr.count("\n") == 1, ended.stderr
    assert "bug of ours" not in ended.stderr
    assert ended.returncode == 2
    return ended.stderr


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "es.vec"
    path.write_text("".join(f"word{row} {row} 1.5\n" for row in range(1, 5)))
    return path


@linux
@pytest.mark.parametrize("arguments", ["--help", "--version", "recipes", "recipes default", "inspect {file}"])
def test_a_full_disk_under_stdout(arguments, vectors):
    ended = shell(f"{CALQUE} {arguments.format(file=vectors)} > /dev/full")
    assert "the result cannot be printed: No space left on device" in sentence(ended)


@linux
@pytest.mark.parametrize("arguments", ["--help", "--version", "recipes", "inspect {file}", "inspect none.vec"])
def test_a_closed_stdout(arguments, vectors):
    assert "stdout is closed" in sentence(shell(f"{CALQUE} {arguments.format(file=vectors)} >&-"))


@linux
def test_a_closed_stdin(tmp_path):
    assert "stdin, which is closed" in sentence(shell(f"{CALQUE} translate {tmp_path} - <&-"))
    assert shell(f"{CALQUE} recipes <&-").returncode == 0


@linux
def test_a_closed_stderr_does_not_move_errors_to_stdout():
    ended = shell(f"{CALQUE} inspect none.vec 2>&-")
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", "")


@linux
@pytest.mark.parametrize("megabytes", [300, 600, 1000, 2000])
def test_too_little_memory(megabytes, vectors):
    code = f"ulimit -v {megabytes * 1024}; export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1; {CALQUE} inspect {vectors}"
    ended = shell(code)
    if ended.returncode:
        assert "there is not enough memory" in sentence(ended)
    else:
        assert "words: 4" in ended.stdout


@linux
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
@pytest.mark.parametrize("fault", ["ro", "size=16k"])
def test_a_read_only_and_a_full_file_system(fault, tmp_path, vectors):
    """In a mount namespace of its own, so that nothing stays mounted."""
    place = tmp_path / "place"
    place.mkdir()
    source = "".join(f"w{row} {row} 2.25 3.125\n" for row in range(1, 5000))
    vectors.write_text(source)
    inner = f"mount -t tmpfs -o {fault} none {place} && {CALQUE} --no-cache convert {vectors} {place}/out.npz"
    inner = inner.replace("--no-cache convert", "convert --no-cache")
    ended = shell(f"unshare -m bash -c '{inner}; code=$?; ls -A {place}; exit $code'")
    if "unshare" in ended.stderr or "mount" in ended.stderr:
        pytest.skip("may not mount here")
    said = sentence(ended)
    assert str(place) in said
    assert ("Read-only file system" if fault == "ro" else "No space left") in said
    assert ended.stdout == ""


@dataclass(frozen=True)
class Breaking:
    """A command that ends in an error."""

    error: Exception
    verbose: bool = False

    def run(self) -> int:
        raise self.error


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp:121] DefaultCPUAllocator: can't allocate memory: you tried"),
        RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB"),
        RuntimeError("can't start new thread"),
        ImportError("libtorch_cpu.so: failed to map segment from shared object"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
    ],
    ids=repr,
)
def test_every_library_that_lacks_memory_is_answered_alike(error, capsys):
    assert run(Breaking(error)) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "calque: there is not enough memory; read fewer words with --limit, or allow more\n")


def test_what_the_system_refuses_names_the_file(capsys):
    error = OSError(errno.EROFS, "Read-only file system", "/mnt/run/config.json")
    assert answered(lambda: run(Breaking(error))) == 2
    assert capsys.readouterr().err == "calque: /mnt/run/config.json: cannot be used: Read-only file system\n"


def test_a_bug_is_still_called_one(capsys):
    assert run(Breaking(KeyError("x"))) == 1
    assert "this is a bug of ours" in capsys.readouterr().err
