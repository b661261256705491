"""The files of runtime/coming-from.md: each is served, and answers as the page says."""
import os
import re
import tempfile
import unittest

from hookline_runtime import Request, testing

PAGE = os.path.join(os.path.dirname(__file__), "../../runtime/coming-from.md")
CALLS = {
    "Cerebrium": [("predict", {"prompt": "x"}, {"text": "x at 0.7"})],
    "Cog": [("run", {"prompt": "x"}, "X"), ("predict", {"prompt": "x", "times": 2}, "XX")],
    "BentoML": [("summarize", {"text": "One. Two."}, "One")],
    "Modal": [("generate", {"name": "you"}, ["Hello", "you"])],
    "RunPod": [("run", {"input": {"prompt": "x"}}, {"echo": "x"})],
    "functions-framework": [("hello", Request("POST", "/hello", "", {}, b'{"name": "x"}'), {"hello": "x"}),
                            ("hello", Request("GET", "/hello", "name=x", {}, b""), {"hello": "x"})],
}


class ComingFrom(unittest.TestCase):
    def test_each_file_of_the_page_is_served(self):
        with open(PAGE) as page:
            sections = re.findall(r"^## (\S+)\n.*?```python\n(.*?)```", page.read(), re.MULTILINE | re.DOTALL)
        self.assertEqual([name for name, _ in sections], list(CALLS))
        for name, source in sections:
            with self.subTest(name), tempfile.TemporaryDirectory() as directory:
                path = os.path.join(directory, "main.py")
                with open(path, "w") as file:
                    file.write(source)
                with testing.client(path) as client:
                    for function, sent, value in CALLS[name]:
                        result = client.call(function, sent) if isinstance(sent, Request) else \
                            client.call(function, **sent)
                        self.assertEqual((result.status, result.json), (200, value))


if __name__ == "__main__":
    unittest.main()
