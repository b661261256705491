"""Forms: how multipart/form-data is read, and what its parts become."""
import asyncio
import io
import os
import random
import re
import tempfile
import threading
import time
import unittest
from unittest import mock

from hookline_runtime import testing
from hookline_runtime.endpoint import Endpoint
from hookline_runtime.event_loop import EventLoop
from hookline_runtime.host import Host
from hookline_runtime.upload import BadForm, Form

SOURCE = '''
from typing import List, Optional
from hookline_runtime import File

paths = []

def run(image: File, n: int = 1, tags: Optional[List[str]] = None):
    paths.append(image.path)
    with open(image.path, "rb") as file:
        same = file.read() == image.read()
    return [image.name, image.type, image.size, same, n, tags, image.path[-4:]]

async def later(data: bytes, on: bool, x: dict):
    return [data.decode(), on, x]

def several(files: List[File]):
    for file in files:
        file.seek(-1, 2)
        yield file.read(9).decode()

def gone():
    import os
    return [os.path.exists(path) for path in paths]
'''


def form(body: bytes, boundary: str = "b") -> Form:
    file = tempfile.TemporaryFile()
    file.write(body)
    file.flush()
    with file:
        return Form(file.fileno(), f"multipart/form-data; boundary={boundary}")


def part(words: str, content: bytes, more: str = "") -> bytes:
    return f"--b\r\nContent-Disposition: form-data; {words}\r\n{more}\r\n".encode() + content + b"\r\n"


def files_of(body: bytes):
    read = form(body)
    contents = [file.read() for file in read.files]
    assert [len(content) for content in contents] == [file.size for file in read.files]
    read.close()
    return contents


class Forms(unittest.TestCase):
    def test_fields_are_texts_and_files_ranges(self):
        big = os.urandom(1 << 20).replace(b"\r\n--b", b"")
        read = form(b"preamble\r\n" + part('name="a"', "ä".encode()) + part('name="a"', b"") +
                    part('name="f"; filename="C:\\\\x\\\\pic.png"', big, "Content-Type: image/png\r\n") +
                    part('name="g"; filename="e%22.txt"', b"--b is no end\r\n--bc\r\n") + b"--b--\r\nepilogue")
        self.assertEqual(read.parts["a"], ["ä", ""])
        file, other = read.files
        self.assertEqual((file.name, file.type, file.size), ("pic.png", "image/png", len(big)))
        self.assertTrue(file.read() == big)
        self.assertEqual(file.seek(-3, os.SEEK_END), len(big) - 3)
        self.assertEqual(file.read(), big[-3:])
        self.assertEqual((other.name, other.type), ('e".txt', "application/octet-stream"))
        self.assertEqual(other.read(), b"--b is no end\r\n--bc\r\n")
        self.assertEqual(io.BufferedReader(other).read(), b"")
        path = file.path
        self.assertTrue(path.endswith(".png") and os.path.exists(path))
        read.close()
        self.assertFalse(os.path.exists(os.path.dirname(path)))
        with self.assertRaises(ValueError):
            file.read()

    def test_what_is_no_form_is_refused(self):
        many = b"".join(part('name="a"', b"") for _ in range(1001))
        for body, why in [(b"", "it is empty"), (b"x", "it has no end"), (part('name="a"', b"x"), "it has no end"),
                          (b"--b\r\nContent-Disposition: form-data", "the head of a part has no end"),
                          (b"--b\r\n\r\nx\r\n--b--", "a part of it has no name"),
                          (many + b"--b--", "it has more than 1000 parts"),
                          (part('name="a"', b"x" * (1 << 20) + b"x") + b"--b--", "the field 'a' is too long")]:
            with self.assertRaisesRegex(BadForm, why):
                form(body)
        with self.assertRaisesRegex(BadForm, "names no boundary"):
            with tempfile.TemporaryFile() as file:
                Form(file.fileno(), "multipart/form-data")
        self.assertEqual(form(b"--b--").parts, {})

    def test_what_stands_before_the_first_boundary_counts_for_nothing(self):
        for before in (b"", b"\r\n", b"any\r\n", b"--bc\r\n", b"--bc--\r\n--b c\r\n"):
            self.assertEqual(form(before + part('name="a"', b"x") + b"--b--").parts, {"a": ["x"]}, before)

    def test_whatever_was_done_to_a_form_it_is_read_by_its_boundaries_or_refused(self):
        chance = random.Random(1)
        boundary = re.compile(rb"\r\n--b(--|[ \t]*\r\n)")
        words = [b"\r\n", b"\r\n\r\n", b"--b", b"\r\n--b", b"--b\r\n", b"--b--", b"--", b" ", b'"', b"\\", b";", b"=",
                 b'; filename="', b"name=", b"%22", b"\0", b"\xff", b"\n"]
        end = time.monotonic() + 1
        for _ in range(5000):
            if time.monotonic() > end:
                break
            contents = [b"".join(chance.choices(words, k=chance.randrange(6))) for _ in range(chance.randrange(5))]
            body = b"".join(part(f'name="{i}"; filename="f"', content) for i, content in enumerate(contents)) + b"--b--\r\n"
            if not any(boundary.search(b"\r\n" + content + b"\r\n") for content in contents):
                self.assertEqual(files_of(body), contents)
            for _ in range(chance.randrange(1, 4)):
                at = chance.randrange(len(body) + 1)
                to = at + chance.choice([0, 0, 1, 2, 5, 30])
                body = body[:at] + chance.choice([b"", chance.choice(words), body[at:to] * 2]) + body[to:]
            try:
                files = files_of(body)
            except BadForm:
                continue
            for content in files:
                self.assertIn(b"\r\n" + content + b"\r\n--b" if content else b"\r\n--b", body)
                self.assertIsNone(boundary.search(b"\r\n" + content + b"\r\n"), body)

    def test_parts_become_what_the_hints_say(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "main.py")
            with open(path, "w") as file:
                file.write(SOURCE)
            picture = os.path.join(directory, "a.png")
            with open(picture, "wb") as file:
                file.write(b"PNG")
            with testing.client(path) as client:
                with open(picture, "rb") as image:
                    self.assertEqual(client.run(image=image, n=3, tags="x"),
                                     ["a.png", "image/png", 3, True, 3, ["x"], ".png"])
                self.assertEqual(client.call("gone").json, [False])
                descriptors = os.listdir("/proc/self/fd")
                self.assertEqual(list(client.stream("several", files=io.BytesIO(b"abc"))), ["c"])
                with self.assertRaises(testing.BadArguments):
                    client.stream("several", data=io.BytesIO(b"abc"))
                self.assertEqual(os.listdir("/proc/self/fd"), descriptors, "a stream's form is closed as well")
                data = io.BytesIO(b"bytes")
                self.assertEqual(client.call("later", data=data, on=True, x={"a": 1}).json, ["bytes", True, {"a": 1}])
                self.assertEqual(client.call("several", files=io.BytesIO(b"abc")).json, ["c"])
                wrong = client.call("run", image="x", n=io.BytesIO(b""))
                self.assertEqual(wrong.status, 422)
                self.assertEqual(wrong.json["detail"], "run(): 'image' must be a file of a form (multipart/form-data), "
                                 "not a string (\"x\"); 'n' must be an integer, not a file")
                self.assertEqual(client.call("run", image="x").status, 422)

    def test_nothing_is_left_of_a_form_whose_caller_goes_while_it_is_read(self):
        async def run(data: bytes):
            raise AssertionError("it was called")

        call = testing._Call(0, {"data": io.BytesIO(b"bytes")}, None)
        host = Host(None, {"run": Endpoint("run", run)}, EventLoop())
        begun, go, forms, read = threading.Event(), threading.Event(), [], Form._read

        def read_slowly(form, content_type):
            forms.append(form)
            begun.set()
            go.wait(60)
            read(form, content_type)

        async def leave():
            serving = asyncio.ensure_future(host._serve_async(call))
            await asyncio.to_thread(begun.wait)
            call.is_gone = True
            serving.cancel()
            await asyncio.sleep(0)
            go.set()
            await serving

        with mock.patch.object(Form, "_read", read_slowly):
            asyncio.run(leave())
        self.assertEqual([form.descriptor for form in forms], [-1])


if __name__ == "__main__":
    unittest.main()
