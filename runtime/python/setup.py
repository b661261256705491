"""Builds the wheel of hookline_runtime, one for every CPython from 3.9 on.

The extension module is made by the repository's own CMake build, so that there is one description of it: a compiler,
cmake, pkg-config and the development packages of hookline are needed. HOOKLINE_PYTHON_EXTENSION names one that is
built already; where it is `none`, and where there is no compiler or no cmake, the wheel is pure Python, for any platform
and slower.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
EXTENSION = "HOOKLINE_PYTHON_EXTENSION"
VERSION = "HOOKLINE_VERSION"


def version():
    if os.environ.get(VERSION):
        return os.environ[VERSION]
    text = (HERE.parent.parent / "CMakeLists.txt").read_text()
    return re.search(r"project\(hookline VERSION ([\d.]+)", text)[1]


def is_pure():
    given = os.environ.get(EXTENSION)
    if given:
        return given == "none"
    has_compiler = any(shutil.which(name) for name in (os.environ.get("CC") or "cc", "gcc", "clang"))
    return not (has_compiler and shutil.which("cmake"))


class BuildModules(build_py):
    """With the one module that is written by a script of the repository, unless it is there already."""

    def run(self):
        super().run()
        target = pathlib.Path(self.build_lib, "hookline_runtime", "pure", "table.py")
        if not target.exists():
            subprocess.run([sys.executable, HERE / "table.py", target], check=True)


class BuildExtension(build_ext):
    """Has CMake make it, and puts it where setuptools wants it."""

    def build_extension(self, ext):
        target = pathlib.Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.environ.get(EXTENSION) or self.make(), target)

    def make(self):
        build = pathlib.Path(self.build_temp).resolve() / "cmake"
        subprocess.run(["cmake", "-S", HERE.parent.parent, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DHOOKLINE_TESTS=OFF"],
                       check=True)
        subprocess.run(["cmake", "--build", build, "--target", "hookline_python"], check=True)
        return build / "python" / "hookline_runtime" / "_server.abi3.so"


if is_pure():
    print("hookline_runtime is packed without its extension module: in pure Python, for any platform, and slower",
          file=sys.stderr)

setup(
    version=version(),
    ext_modules=[] if is_pure() else [Extension("hookline_runtime._server", sources=[], py_limited_api=True)],
    cmdclass={"build_ext": BuildExtension, "build_py": BuildModules},
    options={} if is_pure() else {"bdist_wheel": {"py_limited_api": "cp39"}},
)
