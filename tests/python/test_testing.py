"""The client of hookline_runtime.testing: functions called as a caller would, in the test's own process."""
import contextlib
import io
import os
import tempfile
import unittest

from hookline_runtime import Request, context, progress, testing

SOURCE = '''
import asyncio, dataclasses, datetime
import hookline_runtime
from hookline_runtime import context, progress

made = []
closed = []

def setup():
    made.append("setup")

@dataclasses.dataclass
class Words:
    text: str

def run(prompt: str, n: int = 1):
    if prompt == "missing":
        return 404, {"error": "no such model"}
    if prompt == "broken":
        raise KeyError("broken")
    progress({"page": 1})
    progress({"page": 2})
    return {"answer": Words(prompt * n), "made": made}

async def later(when: datetime.date):
    await asyncio.sleep(0)
    return [when, len(context().run_id)]

def words(prompt: str):
    try:
        for word in prompt.split():
            yield word
        yield {"end": context().run_id is not None}
    finally:
        closed.append("words")

async def numbers():
    for i in range(3):
        await asyncio.sleep(0)
        yield i

async def fails_late():
    yield 1
    raise ValueError("late")

def picture():
    return hookline_runtime.Response(b"\\x89PNG", "image/png")

def raw(request: hookline_runtime.Request):
    return [request.method, request.headers.get("x-a"), request.text]

def was_closed():
    return closed

class Counter:
    def setup(self):
        self.count = 0
    def add(self, n: int):
        self.count += n
        return self.count
'''


class Testing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        path = os.path.join(cls.directory.name, "main.py")
        with open(path, "w") as file:
            file.write(SOURCE)
        cls.path = path
        cls.client = testing.client(path)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.directory.cleanup()

    def test_run_gives_the_value_as_a_caller_gets_it(self):
        self.assertEqual(self.client.run(prompt="x", n=2), {"answer": {"text": "xx"}, "made": ["setup"]})

    def test_a_status_of_the_function_comes_with_its_value(self):
        result = self.client.run(prompt="missing")
        self.assertEqual((result.status, result.json), (404, {"error": "no such model"}))

    def test_what_a_function_raises_is_raised_by_run_and_told_by_call(self):
        with self.assertRaisesRegex(KeyError, "broken"):
            with contextlib.redirect_stderr(io.StringIO()):
                self.client.run(prompt="broken")
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            result = self.client.call("run", prompt="broken")
        self.assertEqual((result.status, result.json["detail"]), (500, "KeyError: 'broken'"))
        self.assertIsInstance(result.error, KeyError)
        self.assertRegex(said.getvalue(), r'(?s)ERROR "?run\(\) raised KeyError.*Traceback.*raise KeyError')

    def test_wrong_members_are_told_as_to_a_caller(self):
        with self.assertRaisesRegex(testing.BadArguments, r"'prompt' is missing; 'n' must be an integer"):
            self.client.run(n="x")
        result = self.client.call("run", n="x")
        self.assertEqual(result.status, 422)
        self.assertRegex(result.json["detail"], "'prompt' is missing")

    def test_progress_and_events_are_kept(self):
        self.assertEqual(self.client.call("run", prompt="x").progress, [{"page": 1}, {"page": 2}])
        result = self.client.call("words", prompt="a b")
        self.assertEqual(result.events, ["a", "b", {"end": True}])
        self.assertEqual(result.json, result.events)
        self.assertEqual(self.client.call("numbers").events, [0, 1, 2])
        with contextlib.redirect_stderr(io.StringIO()):
            late = self.client.call("fails_late")
        self.assertEqual((late.status, late.events), (500, [1]))

    def test_a_stream_is_read_value_by_value_and_closed_when_left(self):
        stream = self.client.stream("words", prompt="a b c")
        self.assertEqual(next(stream), "a")
        before = len(self.client.call("was_closed").json)
        stream.close()
        self.assertEqual(len(self.client.call("was_closed").json), before + 1)
        self.assertEqual(list(self.client.stream("numbers")), [0, 1, 2])
        with self.assertRaisesRegex(ValueError, "late"):
            list(self.client.stream("fails_late"))
        with self.assertRaisesRegex(TypeError, r"later\(\) gave a list, which is no stream"):
            self.client.stream("later", when="2026-01-31")
        with self.assertRaises(testing.BadArguments):
            self.client.stream("words")

    def test_async_functions_raw_ones_and_methods_are_called(self):
        self.assertEqual(self.client.call("later", when="2026-01-31").json, ["2026-01-31", 36])
        picture = self.client.call("picture")
        self.assertEqual((picture.body, picture.content_type, picture.json), (b"\x89PNG", "image/png", None))
        request = Request("PUT", "/raw", "", {"x-a": "1"}, b"body")
        self.assertEqual(self.client.call("raw", request).json, ["PUT", "1", "body"])
        self.assertEqual([self.client.call("add", n=2).json, self.client.call("add", n=3).json], [2, 5])

    def test_an_unknown_name_raises(self):
        for call in (self.client.call, self.client.stream):
            with self.assertRaisesRegex(LookupError, "there is no function 'other'; available are: run, later"):
                call("other")

    def test_a_file_that_cannot_be_served_raises_with_the_cause(self):
        path = os.path.join(self.directory.name, "broken.py")
        with open(path, "w") as file:
            file.write("def setup():\n    raise ValueError('no model')\ndef run(): pass\n")
        with self.assertRaisesRegex(testing.CannotStart, r"^setup\(\) failed$") as caught:
            testing.client(path)
        self.assertIsInstance(caught.exception.__cause__, ValueError)
        with self.assertRaisesRegex(testing.CannotStart, "nothing.py does not exist"):
            testing.client("nothing.py")

    def test_outside_of_a_call_context_and_progress_do_nothing(self):
        self.assertEqual(context().run_id, "no run")
        self.assertEqual((context().attempt, context().deadline, context().is_cancelled), (1, None, False))
        self.assertIsNone(progress(object()))


if __name__ == "__main__":
    unittest.main()
