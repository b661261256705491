"""Writes the module `table` of hookline_runtime/pure: the statuses and texts that the C core answers with, for its counterpart in
Python, and the version. They stand once, in proxy/http/refusal.c and problem.c, and CMakeLists.txt.

    python3 table.py OUTPUT
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
HTTP = HERE.parent.parent / "proxy" / "http"

TEXT = r'"(?:[^"\\]|\\.)*"'
ROW = re.compile(rf"\b(?:ROW|LATER|WITH)\((\w+), (\d+),\s*(?:(\w+),\s*|({TEXT}),\s*)?((?:{TEXT}\s*)+)\)")
RETRY = re.compile(r"HL_RETRY_(\w+) = (\d+)")
PHRASE = re.compile(rf"\{{(\d+), ({TEXT})\}}")
USED = re.compile(r'\brefusal\(\s*"(\w+)"')


def text_of(literals):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"')


def refusals():
    waits = dict(RETRY.findall((HTTP / "refusal.h").read_text()))
    rows = {cause: (int(status), int(waits.get(retry, 0)), text_of(field), text_of(detail))
            for cause, status, retry, field, detail in ROW.findall((HTTP / "refusal.c").read_text())}
    used = {cause for path in (HERE / "hookline_runtime" / "pure").glob("*.py") for cause in USED.findall(path.read_text())}
    return {cause: rows[cause] for cause in sorted(used)}


def phrases():
    return {int(status): text_of(phrase) for status, phrase in PHRASE.findall((HTTP / "problem.c").read_text())}


def version():
    text = (HERE.parent.parent / "CMakeLists.txt").read_text()
    return re.search(r"project\(hookline VERSION ([\d.]+)", text)[1]


def write(path):
    lines = ['"""Made by runtime/python/table.py of proxy/http/refusal.c and problem.c."""', "from typing import Dict, Tuple", "",
             f"VERSION = {version()!r}", ""]
    lines += ["# By cause: status, seconds of Retry-After, a further field, detail.", "REFUSALS: Dict[str, Tuple[int, int, str, str]] = {"]
    lines += [f"    {cause!r}: {row!r}," for cause, row in refusals().items()]
    lines += ["}", "", "PHRASES: Dict[int, str] = {"]
    lines += [f"    {status}: {phrase!r}," for status, phrase in phrases().items()]
    lines += ["}", ""]
    pathlib.Path(path).write_text("\n".join(lines))


if __name__ == "__main__":
    write(sys.argv[1])
