// A function-style Python app: which functions are endpoints, what becomes their arguments, what their values become.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { INTERPRETERS, startPython } from './lib/python.mjs';

const JSON_TYPE = 'application/json';
const PROBLEM = 'application/problem+json';

/** Asserts a refusal with that status; answers its detail. */
function detailOf(response, status) {
    assert.equal(response.status, status, response.text);
    assert.equal(response.headers['content-type'], PROBLEM);
    const problem = response.json();
    assert.equal(problem.status, status);
    return problem.detail;
}

for (const python of INTERPRETERS) {
    test(`${python}: plain, async and yielding functions answer`, async (t) => {
        const app = await startPython(
            t,
            `
import asyncio

def run(prompt, n=1):
    return {"output": prompt * n}

async def later(prompt: str):
    await asyncio.sleep(0)
    return prompt

def words(prompt):
    yield from prompt.split()

async def letters(prompt):
    for letter in prompt:
        yield letter
`,
            { python },
        );
        const answer = await app.call('run', { prompt: 'ab', n: 2 });
        assert.equal(answer.status, 200);
        assert.equal(answer.headers['content-type'], JSON_TYPE);
        assert.equal(answer.text, '{"output":"abab"}');
        assert.deepEqual((await app.call('later', { prompt: 'x' })).json(), 'x');
        assert.deepEqual((await app.call('words', { prompt: 'a b' })).json(), ['a', 'b']);
        assert.deepEqual((await app.call('letters', { prompt: 'ab' })).json(), ['a', 'b']);
        assert.match(detailOf(await app.call('run', {}), 422), /'prompt' is missing/);
    });
}

test('public functions of the file are endpoints; imported names, classes, values and _names are none', async (t) => {
    const app = await startPython(
        t,
        `
import functools, json
from os.path import join

LIMIT = 3

class Model:
    pass

def run():
    return "run"

def _hidden():
    return "hidden"

def setup():
    return "setup"

def healthz():
    return "mine"

@functools.lru_cache
def cached():
    return "cached"

def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return [function(*args, **kwargs)]
    return wrapper

@logged
def decorated(x: int):
    return x

shout = lambda text: text.upper()
`,
    );
    for (const name of ['run', 'cached']) assert.equal((await app.call(name, {})).json(), name);
    assert.deepEqual((await app.call('decorated', { x: 1 })).json(), [1]);
    assert.match(detailOf(await app.call('decorated', { x: 'a' }), 422), /'x' must be an integer/);
    assert.equal((await app.call('shout', { text: 'a' })).json(), 'A');
    for (const name of ['_hidden', 'setup', 'join', 'json', 'Model', 'LIMIT', 'nothing', '', 'run/x']) {
        const detail = detailOf(await app.call(name, {}), 404);
        for (const known of ['run', 'cached', 'decorated', 'shout'])
            assert.match(detail, new RegExp(`\\b${known}\\b`));
        assert.doesNotMatch(detail, /hidden|setup|join|healthz/);
    }
    assert.equal((await app.logged(/^healthz\(\) is not an endpoint/)).level, 'warn');
});

test('a functools.partial of a function of the file is an endpoint; one of another function is warned about', async (t) => {
    const app = await startPython(
        t,
        `
import asyncio, functools, textwrap

def _join(prefix, words: list[str], end: str = "."):
    return prefix + " ".join(words) + end

async def _later(prompt: str, n: int):
    await asyncio.sleep(0)
    return prompt * n

def _letters(word, times):
    for letter in word:
        yield letter * times

join = functools.partial(_join, "> ", end="!")
again = functools.partial(join, end="?")
later = functools.partial(_later, n=2)
letters = functools.partial(_letters, times=2)
shorten = functools.partial(textwrap.shorten, width=5)
_hidden = functools.partial(textwrap.shorten, width=5)
`,
    );
    const json = async (name, members) => (await app.call(name, members)).json();
    assert.equal(await json('join', { words: ['a', 'b'] }), '> a b!');
    assert.equal(await json('join', { words: ['a'], end: ';' }), '> a;', 'what it names is a default');
    assert.equal(await json('again', { words: ['a'] }), '> a?');
    assert.equal(await json('later', { prompt: 'x' }), 'xx');
    assert.deepEqual(await json('letters', { word: 'ab' }), ['aa', 'bb']);
    assert.match(detailOf(await app.call('join', { words: ['a', 1] }), 422), /'words\[1\]' must be a string/);
    assert.match(detailOf(await app.call('join', { prefix: 'x', words: [] }), 422), /'prefix' is not a parameter/);
    detailOf(await app.call('shorten', { text: 'a b c d' }), 404);
    await app.logged(/is not an endpoint/);
    const warnings = app.log.filter(({ level }) => level === 'warn').map(({ msg }) => msg);
    assert.equal(warnings.length, 1, warnings.join('\n'));
    assert.match(warnings[0], /^shorten is not an endpoint: .*functools\.partial/);
});

test('members are keyword arguments; what is missing or surplus is named, all of it at once', async (t) => {
    const app = await startPython(
        t,
        `
def run(prompt, n=1, *, style="plain"):
    return [prompt, n, style]

def positional(a, b=2, /, c=3):
    return [a, b, c]

def anything(first, **rest):
    return [first, rest]

def nothing():
    return "nothing"
`,
    );
    const json = async (name, members) => (await app.call(name, members)).json();
    assert.deepEqual(await json('run', { prompt: 'p' }), ['p', 1, 'plain']);
    assert.deepEqual(await json('run', { style: 's', prompt: null, n: [2] }), [null, [2], 's']);
    assert.deepEqual(await json('positional', { a: 1, c: 5 }), [1, 2, 5]);
    assert.deepEqual(await json('positional', { a: 1, b: 4 }), [1, 4, 3]);
    assert.deepEqual(await json('anything', { first: 1, x: 2 }), [1, { x: 2 }]);
    assert.equal(await json('nothing', {}), 'nothing');
    assert.equal(await json('nothing', undefined), 'nothing', 'without a body there are no arguments');

    assert.match(detailOf(await app.call('run', {}), 422), /^run\(\): 'prompt' is missing$/);
    const several = detailOf(await app.call('run', { promt: 1, stile: 2 }), 422);
    assert.match(several, /'prompt' is missing/);
    assert.match(several, /'promt' is not a parameter \(did you mean 'prompt'\?\)/);
    assert.match(several, /'stile' is not a parameter \(did you mean 'style'\?\)/);
    assert.match(detailOf(await app.call('nothing', { x: 1 }), 422), /'x' is not a parameter/);
    assert.match(detailOf(await app.call('anything', { x: 1 }), 422), /'first' is missing/);
});

test('type hints are held: a wrong type is 422 that names the parameter and what it must be', async (t) => {
    const app = await startPython(
        t,
        `
from __future__ import annotations
from typing import Any, Dict, List, Literal, Optional, Union
import pydantic

class Shy(pydantic.BaseModel):
    n: int
    @classmethod
    def schema(cls, *args, **kwargs): raise RuntimeError("no schema")

def shy(x: Shy): return x.n
def a_dict(x: dict): return x
def a_list(x: list): return x
def an_int(x: int): return x
def a_float(x: float): return [x, type(x).__name__]
def a_str(x: str): return x
def a_bool(x: bool): return x
def a_bytes(x: bytes): return x.hex()
def an_optional(x: Optional[int] = 7): return x
def a_union(x: int | None): return x
def one_of(x: Union[str, List[str]]): return x
def either(x: float | int): return [x, type(x).__name__]
def ints(x: list[int]): return x
def counts(x: Dict[str, int]): return x
def size(x: Literal["s", "m"]): return x
def defaults_to_none(x: int = None): return x
def anything(x: Any): return x
def unhinted(x): return x
def others(**members: float): return members
def unknown(x: Model, y: str): return [x, y]

class Model: ...
del Model
`,
    );
    const good = [
        ['a_dict', { a: 1 }],
        ['a_list', [1]],
        ['an_int', 3],
        ['an_int', 12345678901234567n],
        ['a_float', 1.5, [1.5, 'float']],
        ['a_float', 2, [2, 'float']],
        ['a_str', 'ä'],
        ['a_bool', false],
        ['a_bytes', 'AP8=', '00ff'],
        ['an_optional', null],
        ['an_optional', 3],
        ['a_union', null],
        ['a_union', 1],
        ['one_of', 'a'],
        ['one_of', ['a']],
        ['either', 3, [3, 'int']],
        ['ints', [1, 2]],
        ['counts', { a: 1 }],
        ['size', 'm'],
        ['defaults_to_none', null],
        ['anything', { a: [null] }],
        ['unhinted', 'x'],
        ['others', 2.5, { x: 2.5 }],
    ];
    const write = (value) => (typeof value === 'bigint' ? `${value}` : JSON.stringify(value));
    for (const [name, value, result = value] of good) {
        const body = `{"x": ${write(value)}}`;
        const answer = await app.call(name, undefined, { body });
        assert.equal(answer.status, 200, `${name} ${body}: ${answer.text}`);
        assert.equal(write(answer.json()), write(typeof result === 'bigint' ? Number(result) : result));
    }
    const bad = [
        ['a_dict', [1], /must be an object, not an array/],
        ['a_list', { a: 1 }, /must be an array, not an object/],
        ['an_int', '3', /must be an integer, not a string/],
        ['an_int', 1.5, /must be an integer, not a number with a fraction/],
        ['an_int', true, /must be an integer, not true/],
        ['an_int', null, /must be an integer, not null/],
        ['a_float', true, /must be a number, not true/],
        ['a_float', '1', /must be a number/],
        ['a_str', 1, /must be a string, not an integer/],
        ['a_bool', 1, /must be true or false, not an integer/],
        ['a_bytes', '!', /must be a string of base64/],
        ['a_bytes', 1, /must be a string of base64, not an integer/],
        ['an_optional', 'a', /must be an integer or null, not a string/],
        ['a_union', false, /must be an integer or null, not false/],
        ['one_of', 1, /must be a string or an array, not an integer/],
        ['one_of', [1], /'x\[0\]' must be a string/],
        ['ints', [1, 'b'], /'x\[1\]' must be an integer/],
        ['counts', { a: 'b' }, /'x\.a' must be an integer/],
        ['size', 'xl', /must be one of 's', 'm'/],
        ['defaults_to_none', 'a', /must be an integer or null/],
        ['others', 'a', /must be a number, not a string/],
    ];
    for (const [name, value, pattern] of bad) {
        const detail = detailOf(await app.call(name, { x: value }), 422);
        assert.match(detail, /'x/, name);
        assert.match(detail, pattern, name);
    }
    assert.equal((await app.call('an_optional', {})).json(), 7);
    assert.equal((await app.call('shy', { x: { n: 3 } })).json(), 3, 'a model that cannot describe itself');
    const { functions } = await (await fetch(`${app.url}/_hookline/functions`)).json();
    assert.equal(functions.find(({ name }) => name === 'shy').input, null);
    await app.logged(/^shy\(\): what it takes cannot be described, .*RuntimeError: no schema$/);
    assert.deepEqual((await app.call('unknown', { x: 1, y: 'a' })).json(), [1, 'a']);
    const notice = await app.logged(/unknown\(\): a type hint cannot be read/);
    assert.equal(notice.level, 'warn');
});

test('a body that is not a JSON object is refused before the function is called', async (t) => {
    const app = await startPython(t, 'def run(x=1):\n    return x\n');
    const bad = ['{', '[1]', '"x"', '1', 'null', '{"x": NaN}', '{"x": 1} 2', '{"x": "\xff"}', '\ufeff{}'];
    for (const body of bad) {
        const response = await app.call('run', undefined, { body: Buffer.from(body, 'latin1') });
        assert.ok([400, 422].includes(response.status), `${body}: ${response.status}`);
        detailOf(response, response.status);
    }
    const deep = `{"x": ${'['.repeat(512)}${']'.repeat(512)}}`;
    assert.match(detailOf(await app.call('run', undefined, { body: deep }), 400), /nested deeper than 512 levels/);
    const digits = `{"x": ${'9'.repeat(5000)}}`;
    const long = await app.call('run', undefined, { body: digits });
    assert.match(detailOf(long, 400), /cannot be read/);
    assert.equal((await app.call('run', undefined, { body: ' \r\n{"x" : 2}\n' })).json(), 2);
    assert.match(detailOf(await app.call('run', undefined, { method: 'GET' }), 405), /POST/);
});

test('a single parameter that is a Request gets the request as it came', async (t) => {
    const app = await startPython(
        t,
        `
import hookline_runtime
from hookline_runtime import Request, Response

def run(request: hookline_runtime.Request):
    return [request.method, request.path, request.query_string, request.query, request.content_type,
            request.headers["X-Thing"], "x-nothing" in request.headers, request.body.hex()]

def named(*, request: "Request"):
    return request.json()

async def later(request: Request):
    return request.text

def echo(request: Request):
    return Response(request.body, request.headers["content-type"], 201)
`,
    );
    const answer = await app.call('run?a=1&b=&a=%20', undefined, {
        method: 'PUT',
        headers: { 'Content-Type': 'Image/PNG; x=y', 'x-thing': 'a' },
        body: Buffer.from([0, 255]),
    });
    assert.deepEqual(answer.json(), [
        'PUT',
        '/run',
        'a=1&b=&a=%20',
        { a: ['1', ' '], b: [''] },
        'image/png',
        'a',
        false,
        '00ff',
    ]);
    assert.deepEqual((await app.call('named', { a: 1 })).json(), { a: 1 });
    const text = { headers: { 'Content-Type': 'text/plain' }, body: 'plain text' };
    assert.equal((await app.call('later', undefined, text)).json(), 'plain text');
    const echoed = await app.call('echo', undefined, text);
    assert.equal(echoed.status, 201);
    assert.equal(echoed.headers['content-type'], 'text/plain');
    assert.equal(echoed.text, 'plain text');
});

test('a returned value is the answer: JSON, bytes, a pair of status and value', async (t) => {
    const app = await startPython(
        t,
        `
import collections
import hookline_runtime

def value(which):
    return {
        "null": None, "true": True, "int": 2**70, "float": 1.5, "text": "ä\\u2028\\U0001f600", "half": "\\ud800",
        "list": [1, [2]], "tuple": (1, 2, 3), "numbers": (1, 2), "booleans": (True, 2),
        "ordered": collections.OrderedDict(b=1, a=2), "keys": {1: "x", None: "y"},
    }[which]

def data(which):
    return {"bytes": b"\\x00\\xff", "bytearray": bytearray(b"ab"), "view": memoryview(b"abc")[1:], "none": b""}[which]

def pair(status, value):
    return status, value

def pair_of_bytes():
    return 404, b"nothing"

def pair_of_response(outer, inner):
    return outer, hookline_runtime.Response(b"gone", "text/x", inner)

def response(status):
    return hookline_runtime.Response(b"", "text/x", status)
`,
    );
    const values = {
        null: 'null',
        true: 'true',
        int: `${2n ** 70n}`,
        float: '1.5',
        text: '"ä\u2028😀"',
        half: '"\\ud800"',
        list: '[1,[2]]',
        tuple: '[1,2,3]',
        numbers: '[1,2]',
        booleans: '[true,2]',
        ordered: '{"b":1,"a":2}',
        keys: '{"1":"x","null":"y"}',
    };
    for (const [which, text] of Object.entries(values)) {
        const answer = await app.call('value', { which });
        assert.equal(answer.status, 200, which);
        assert.equal(answer.headers['content-type'], JSON_TYPE);
        assert.equal(answer.text, text);
    }
    for (const [which, hex] of Object.entries({ bytes: '00ff', bytearray: '6162', view: '6263', none: '' })) {
        const answer = await app.call('data', { which });
        if (hex) assert.equal(answer.headers['content-type'], 'application/octet-stream');
        assert.equal(answer.body.toString('hex'), hex);
    }
    for (const status of [200, 201, 404, 599]) {
        const answer = await app.call('pair', { status, value: { a: 1 } });
        assert.equal(answer.status, status);
        assert.deepEqual(answer.json(), { a: 1 });
    }
    const empty = await app.call('pair', { status: 204, value: null });
    assert.equal(empty.status, 204);
    assert.equal(empty.text, '');
    assert.equal((await app.call('pair_of_bytes', {})).text, 'nothing');
    for (const status of [199, 600]) {
        const answer = await app.call('pair', { status, value: 1 });
        assert.deepEqual(answer.json(), [status, 1], 'no status: the pair is the value');
    }
    assert.equal((await app.call('pair_of_response', { outer: 404, inner: 200 })).status, 404);
    assert.equal((await app.call('pair_of_response', { outer: 200, inner: 410 })).status, 410);
    for (const status of [205, 304]) {
        const wrong = `ValueError: the status is ${status}: allowed are 200 to 599, without 205 and 304`;
        assert.equal(detailOf(await app.call('pair', { status, value: null }), 500), wrong);
        assert.equal(detailOf(await app.call('response', { status }), 500), wrong);
    }
});

test('what an object’s to_dict() raises is an exception as any other, with its traceback', async (t) => {
    const app = await startPython(
        t,
        `
import decimal

class Model:
    def __init__(self, error):
        self.error = error
    def to_dict(self):
        raise self.error from KeyError("cause")

def value():
    return {"a": Model(ValueError("in to_dict"))}

def beside():
    return [decimal.Decimal("1.10"), Model(TypeError("in to_dict"))]

async def yielding():
    yield Model(RecursionError("in to_dict"))
`,
    );
    for (const [name, kind] of [['value', 'ValueError'], ['beside', 'TypeError'], ['yielding', 'RecursionError']]) {
        assert.equal(detailOf(await app.call(name, {}), 500), `${kind}: in to_dict`);
        const { traceback } = await app.logged(new RegExp(`${name}\\(\\) raised ${kind}`));
        assert.match(traceback, /KeyError: 'cause'[^]*direct cause[^]*main\.py", line \d+, in to_dict/);
        assert.doesNotMatch(traceback, /_Raised|_HasDecimal/);
    }
});

test('a value that is not JSON is a 500 that names its type', async (t) => {
    const app = await startPython(
        t,
        `
class Model:
    pass

def value(which):
    loop = []
    loop.append(loop)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    return {"inside": {"a": [1, Model()]}, "nan": float("nan"), "key": {(1, 2): 3}, "loop": loop,
            "complex": 1j, "function": len, "deep": deep}[which]

def yielding():
    yield {1j}

async def later():
    return Model()
`,
    );
    const cases = {
        inside: /\bmain\.Model, at \.a\[1\]$/,
        nan: /\bfloat \(nan\)/,
        key: /\btuple\b/,
        loop: /\blist\b/,
        complex: /\bcomplex\b/,
        function: /\bbuiltin_function_or_method\b/,
        deep: /\blist\b.*too deep/,
    };
    for (const [which, pattern] of Object.entries(cases)) {
        const detail = detailOf(await app.call('value', { which }), 500);
        assert.match(detail, /^value\(\) .* not JSON/);
        assert.match(detail, pattern);
    }
    assert.match(detailOf(await app.call('yielding', {}), 500), /yielding\(\).*not JSON.*\bcomplex\b/);
    assert.match(detailOf(await app.call('later', {}), 500), /main\.Model/);
    assert.equal((await app.logged(/later\(\) .*not JSON/)).level, 'error');
});

test('an exception is a 500 with its type and message; its traceback is in the log only', async (t) => {
    const app = await startPython(
        t,
        `
import sys

class Odd(Exception):
    def __str__(self):
        raise RuntimeError("no text")

class ModelError(Exception):
    pass

def run(which):
    secret_local = "s3cret"
    raise {"value": ValueError("no \\x1b[31mgood"), "own": ModelError("mine"), "odd": Odd(), "empty": KeyError(),
           "exit": SystemExit(3), "interrupt": KeyboardInterrupt()}[which]

async def later():
    raise ModelError("later")
`,
    );
    const cases = {
        value: 'ValueError: no \x1b[31mgood',
        own: 'main.ModelError: mine',
        odd: 'main.Odd',
        exit: 'SystemExit: 3',
        interrupt: 'KeyboardInterrupt',
    };
    for (const [which, expected] of Object.entries(cases)) {
        const response = await app.call('run', { which });
        const detail = detailOf(response, 500);
        assert.ok(detail.startsWith(expected), detail);
        assert.doesNotMatch(response.text, /Traceback|main\.py/);
    }
    assert.match(detailOf(await app.call('later', {}), 500), /^main\.ModelError: later$/);
    const line = await app.logged(/^run\(\) raised ValueError$/);
    assert.equal(line.level, 'error');
    assert.match(line.traceback, /^Traceback .*\n  File ".*main\.py", line \d+, in run\n/);
    assert.doesNotMatch(line.traceback, /hookline_runtime/);
    assert.match(line.run_id, /^[0-9a-f-]{36}$/);
    const async = await app.logged(/^later\(\) raised main\.ModelError$/);
    assert.match(async.traceback, /main\.py", line \d+, in later/);
});

test('HOOKLINE_FUNCTION_ENVELOPE wraps values, and nothing else', async (t) => {
    const app = await startPython(
        t,
        `
def run(): return {"a": 1}
def pair(): return 201, "made"
def data(): return b"bytes"
def words(): yield "a"
def boom(): raise ValueError("no")
`,
        { env: { HOOKLINE_FUNCTION_ENVELOPE: 'on' } },
    );
    const id = '0193e000-0000-7000-8000-000000000001';
    const wrapped = await app.call('run', {}, { headers: { 'X-Request-Id': id } });
    const { run_time_ms: time, ...rest } = wrapped.json();
    assert.deepEqual(rest, { run_id: id, result: { a: 1 } });
    assert.ok(Number.isInteger(time) && time >= 0);
    const pair = await app.call('pair', {});
    assert.equal(pair.status, 201);
    assert.equal(pair.json().result, 'made');
    assert.deepEqual((await app.call('words', {})).json().result, ['a']);
    assert.equal((await app.call('data', {})).text, 'bytes');
    detailOf(await app.call('boom', {}), 500);
});
