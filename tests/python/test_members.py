"""The members of a body: which are read, and that none is there twice."""
import unittest

from hookline_runtime.endpoint import BadArguments, Endpoint
from hookline_runtime.host import members_of


class Call:
    upload = -1

    def __init__(self, text):
        self.text = text


def read(text, function=lambda **members: None):
    return members_of(Call(text), Endpoint("run", function), None)


class Members(unittest.TestCase):
    def test_two_of_one_name_are_refused_wherever_they_stand(self):
        for text in ('{"a": 1, "a": 2}', '{"a":1,"a":1}', '{"a" :1,"a":2}', '{"a":1,"b":{"a":1,"a":2}}',
                     '{"b":[{"a":1,"a":2}]}', '{"url":"http://x","a"\n:1,"a":1}', '{"\\u0061": 1, "a": 2}',
                     '{"a":":","a":1}', '{"b":{},"b":1}'):
            with self.assertRaisesRegex(BadArguments, "the body has two members '[ab]'", msg=text):
                read(text)

    def test_others_are_read_as_they_stand(self):
        for text, members in (("", {}), ("{}", {}), ('{"a": 1.5}', {"a": 1.5}), ('{"url": "http://x:1/"}', {"url": "http://x:1/"}),
                              ('{"a": {"b": 1}, "b": [{"b": 2}, {"b": 3}]}', {"a": {"b": 1}, "b": [{"b": 2}, {"b": 3}]}),
                              ('{"a": "\\"b\\": 1"}', {"a": '"b": 1'})):
            self.assertEqual(read(text), members)

    def test_many_members_are_read(self):
        text = "{" + ",".join(f'"m{i}":{i}' for i in range(100_000)) + "}"
        self.assertEqual(len(read(text)), 100_000)


if __name__ == "__main__":
    unittest.main()
