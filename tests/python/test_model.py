"""Models of pydantic, of the version that is there: strict ones, and those that would name files."""
import os
import sys
import tempfile
import unittest

from hookline_runtime import testing

try:
    import pydantic
except ImportError:
    pydantic = None

STRICT = '''
import datetime, uuid
from typing import List
import pydantic

class Strict(pydantic.BaseModel):
    model_config = {"strict": True}
    id: uuid.UUID
    day: datetime.date
    n: int

def run(x: List[Strict]): return [x[0].id.version, x[0].day.year, x]
'''
PATH = '''
import pathlib
from typing import Dict, List
import pydantic

class Inner(pydantic.BaseModel):
    files: List[pathlib.Path]

class Model(pydantic.BaseModel):
    inner: Dict[str, Inner] = {}

def run(x: Model): return 1
'''
ID = "0193e000-0000-7000-8000-00000000000a"


@unittest.skipIf(pydantic is None, "pydantic is not installed")
class Models(unittest.TestCase):
    def load(self, source):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        path = os.path.join(self.directory.name, "main.py")
        with open(path, "w") as file:
            file.write(source)
        return testing.client(path)

    def test_a_path_anywhere_in_a_model_stops_the_start(self):
        with self.assertRaisesRegex(testing.CannotStart, r"run\(\): the hint of 'x' cannot be held: \w+\.Model has a path"):
            self.load(PATH)

    @unittest.skipUnless(pydantic and hasattr(pydantic, "TypeAdapter"), "pydantic is not version 2")
    def test_a_strict_model_takes_what_json_has_no_type_for_as_text(self):
        client = self.load(STRICT)
        good = {"id": ID, "day": "2026-01-31", "n": 1}
        self.assertEqual(client.run(x=[good]), [7, 2026, [good]])
        wrong = client.call("run", x=[{"id": "x", "day": "2026-01-31", "n": "1"}])
        self.assertEqual(wrong.status, 422)
        self.assertRegex(wrong.json["detail"], r"'x\[0\]\.id' is refused: .*; 'x\[0\]\.n' is refused: .*valid integer")


if __name__ == "__main__":
    unittest.main()
