"""Builds the program gpfit into the wheel, for the platform that its tag names.

PYGPFIT_TARGET chooses the platform; the default is the one of the Go installation:

    linux/amd64, linux/arm64      glibc, with the CUDA code (manylinux)
    musl/amd64, musl/arm64        static and without the CUDA code, because CUDA's
                                  driver needs glibc (musllinux)
    darwin/arm64, darwin/amd64, windows/amd64

PYGPFIT_BINARY names a finished program to take instead of building one.
"""

import os
import subprocess
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# glibc: built without cgo, the program imports libc, libdl and libpthread with unversioned
# symbols that glibc 2.17 has. Go 1.26 needs macOS 12.
TAGS = {
    "linux/amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "linux/arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64",
    "musl/amd64": "musllinux_1_1_x86_64",
    "musl/arm64": "musllinux_1_1_aarch64",
    "darwin/arm64": "macosx_12_0_arm64",
    "darwin/amd64": "macosx_12_0_x86_64",
    "windows/amd64": "win_amd64",
}


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version, build_data):
        repository = Path(self.root).parent
        target = os.environ.get("PYGPFIT_TARGET") or go("env", "GOOS") + "/" + go("env", "GOARCH")
        if target not in TAGS:
            raise ValueError(f"PYGPFIT_TARGET {target}: must be one of {', '.join(TAGS)}")
        name = "gpfit.exe" if target.startswith("windows/") else "gpfit"
        program = os.environ.get("PYGPFIT_BINARY")
        if not program:
            program = Path(self.root) / "build" / target.replace("/", "-") / name
            build(repository, target, program)
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + TAGS[target]
        build_data["shared_scripts"][str(program)] = name
        for licence in ("LICENSE", "THIRD_PARTY_LICENSES"):
            build_data["force_include"][str(repository / licence)] = "pygpfit/" + licence


def build(repository, target, program):
    system, processor = target.split("/")
    env = {**os.environ, "CGO_ENABLED": "0", "GOOS": "linux" if system == "musl" else system, "GOARCH": processor}
    tags = ["-tags", "nogpu"] if system == "musl" else []
    command = ["go", "build", "-trimpath", "-ldflags=-s -w", *tags, "-o", str(program), "./cmd/gpfit"]
    subprocess.run(command, cwd=repository, env=env, check=True)


def go(*args):
    return subprocess.run(["go", *args], capture_output=True, text=True, check=True).stdout.strip()
