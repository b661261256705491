"""Builds the wheel of hookline_runtime, one for every CPython from 3.9 on.

The extension module is made by the repository's own CMake build, so that there is one description of it: a compiler,
cmake, pkg-config and the development packages of hookline are needed. HOOKLINE_PYTHON_EXTENSION names one that is
built already.
"""
import os
import pathlib
import re
import shutil
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = pathlib.Path(__file__).resolve().parent
EXTENSION = "HOOKLINE_PYTHON_EXTENSION"
VERSION = "HOOKLINE_VERSION"


def version():
    if os.environ.get(VERSION):
        return os.environ[VERSION]
    text = (HERE.parent.parent / "CMakeLists.txt").read_text()
    return re.search(r"project\(hookline VERSION ([\d.]+)", text)[1]


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


setup(
    version=version(),
    ext_modules=[Extension("hookline_runtime._server", sources=[], py_limited_api=True)],
    cmdclass={"build_ext": BuildExtension},
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
