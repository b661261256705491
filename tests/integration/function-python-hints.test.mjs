// What type hints ask for and results become: dataclasses, dates, decimals, models of pydantic, bounds, and their schema.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import Ajv from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { test } from './lib/case.mjs';
import { startPython } from './lib/python.mjs';

const SOURCE = `
import dataclasses, datetime, decimal, enum, ipaddress, pathlib, uuid
from typing import Annotated, Any, List, Literal, NamedTuple, Optional, TypedDict, TypeVar, Union
import pydantic
from pydantic import Field

class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"

class Ratio(float, enum.Enum):
    ONE = 1.0

@dataclasses.dataclass
class And:
    kind: Literal["and"]
    items: List[Union["And", "Or"]]

@dataclasses.dataclass
class Or:
    kind: Literal["or"]
    items: List[Union["And", "Or"]]

@dataclasses.dataclass
class Node:
    """A tree."""
    name: str
    weight: float = 1.0
    children: List["Node"] = dataclasses.field(default_factory=list)

    def __post_init__(self):
        if self.name == "odd":
            raise ValueError("an odd name")
        if self.name == "broken":
            raise KeyError("broken")

class Place(TypedDict, total=False):
    day: datetime.date
    note: str

class Point(NamedTuple):
    x: int
    y: int = 0

class Model(pydantic.BaseModel):
    n: int = Field(le=4)
    pair: tuple[int, str] = (1, "a")
    next: Optional["Model"] = None

    @pydantic.validator("n")
    def is_odd(cls, value):
        if value == 3:
            raise RuntimeError("three")
        return value

class Bound:
    """As those of annotated_types: known by their attributes."""
    def __init__(self, **bounds):
        vars(self).update(bounds)

class Array:
    """As numpy's: what it holds comes from tolist()."""
    dtype = "float64"
    def __init__(self, items): self.items = items
    def tolist(self): return self.items

class Custom:
    def __json__(self): return {"custom": True}

def _said(value):
    return f"{type(value).__name__} {value!r}"

def a_node(x: Node): return x
def a_size(x: Size): return _said(x)
def a_place(x: Place): return _said(x)
def a_point(x: Point): return _said(x)
def a_model(x: Model): return x
def models(x: dict[str, List[Model]]): return [type(x["a"][0]).__name__, x]
def a_decimal(x: decimal.Decimal): return x
def decimals(x: List[Union[decimal.Decimal, None]], y: float = 0, z: Any = None): return [x, y, z]
def a_time(x: datetime.datetime): return x
def a_date(x: datetime.date): return x
def a_clock(x: datetime.time): return x
def a_duration(x: datetime.timedelta): return x
def an_id(x: uuid.UUID): return x
def a_pair(x: tuple[int, str]): return _said(x)
def numbers(x: tuple[int, ...]): return _said(x)
def a_set(x: set[int]): return x
def a_limit(x: Annotated[int, Field(ge=1, le=4)]): return x
def a_default(x: int = Field(2, le=4, description="how many")): return x
def a_text(x: Annotated[str, Bound(min_length=2, max_length=3)]): return x
def either(x: Union[Node, Point, int, str]): return _said(x)
def a_tree(x: List[Union[And, Or]]): return type(x[0]).__name__
def a_ratio(x: Annotated[float, Field(multiple_of=0.1)]): return x
def a_choice(x: Ratio): return x
def a_bounded_one(x: Annotated[Union[int, str], Bound(ge=1)]): return x
def an_address(): return {"at": ipaddress.ip_address("127.0.0.1"), "odd": memoryview(b"a-b-")[::2]}
def a_variable(x: TypeVar("T"), y: object = None): return x

def results(which: str):
    return {
        "array": Array([1.5, 2.0]), "nan": {"a": Array([0.0, float("nan")])}, "custom": [Custom()],
        "enum": {"size": Size.LARGE}, "bytes": [b"ab"], "set": {1}, "path": [pathlib.Path("x")],
    }[which]

def a_file(name: str):
    path = pathlib.Path(name)
    path.write_text("<p>")
    return path
`;
const ID = '0193e000-0000-7000-8000-00000000000a';
const RFC_3339 = '2026-01-31T12:00:00.5Z';

/** A tree of which each level says last what it is. */
const nest = (kind, levels) => {
    let node = { items: [], kind };
    for (let i = 0; i < levels; i++) node = { items: [node], kind: 'or' };
    return node;
};

const GOOD = [
    ['a_node', { name: 'a', children: [{ name: 'b', weight: 2 }] },
        { name: 'a', weight: 1, children: [{ name: 'b', weight: 2, children: [] }] }],
    ['a_size', 'l', "Size <Size.LARGE: 'l'>"],
    ['a_place', { day: '2026-01-31' }, "dict {'day': datetime.date(2026, 1, 31)}"],
    ['a_point', { x: 1 }, 'Point Point(x=1, y=0)'],
    ['a_point', [1, 2], 'Point Point(x=1, y=2)'],
    ['a_model', { n: 1, next: { n: 2 } }, { n: 1, pair: [1, 'a'], next: { n: 2, pair: [1, 'a'], next: null } }],
    ['models', { a: [{ n: 1 }] }, ['Model', { a: [{ n: 1, pair: [1, 'a'], next: null }] }]],
    ['a_time', RFC_3339, '2026-01-31T12:00:00.500000+00:00'],
    ['a_date', '2026-01-31', '2026-01-31'],
    ['a_clock', '12:00:01', '12:00:01'],
    ['a_duration', 1.5, 1.5],
    ['an_id', ID, ID],
    ['a_pair', [1, 'a'], "tuple (1, 'a')"],
    ['numbers', [1, 2], 'tuple (1, 2)'],
    ['a_set', [1, 1], [1]],
    ['a_limit', 4, 4],
    ['a_text', 'abc', 'abc'],
    ['either', { name: 'a' }, "Node Node(name='a', weight=1.0, children=[])"],
    ['either', { x: 1 }, 'Point Point(x=1, y=0)'],
    ['either', 'a', "str 'a'"],
    ['a_tree', [nest('or', 40)], 'Or'],
    ['a_ratio', 0.3, 0.3],
    ['a_choice', 1, 1],
    ['a_variable', [null], [null]],
];

const BAD = [
    ['a_node', { weight: 'x', children: [{ name: 1 }], zz: 1 },
        /'x\.name' is missing; 'x\.weight' must be a number, not a string \("x"\); 'x\.children\[0\]\.name' must be a string, not an integer \(1\); 'x\.zz' is not a member \(it has name, weight, children\)$/],
    ['a_node', { name: 'odd' }, /'x' is refused: an odd name$/],
    ['a_size', 'xl', /'x' must be one of 's', 'l', not a string \("xl"\)/],
    ['a_place', { day: '2026-02-30' }, /'x\.day' must be a date, as 2026-01-31, not a string \("2026-02-30"\)/],
    ['a_point', [1, 2, 3], /'x' has 3 items, and Point has 2/],
    ['a_model', { n: 5, pair: [1], next: { n: 'z'.repeat(99) } },
        /'x\.n' is refused: .*, not 5; 'x\.pair' is refused: .*; 'x\.next\.n' is refused: .*, not "z{59}…"/],
    ['models', { a: [{ n: 9 }] }, /'x\.a\[0\]\.n' is refused/],
    ['a_decimal', 'NaN', /'x' must be a number, or a string with one, not "NaN"/],
    ['a_time', '2026-01-31T12:00:00', /'x' must be a date and time with its offset/],
    ['a_tree', [nest('neither', 40)], /must be one of 'and', not a string \("neither"\)/],
    ['a_bounded_one', 'a', /'x' cannot be compared with its bound, not "a"/],
    ['a_decimal', '1e9999999999999999999999', /'x' must be a number that a Decimal can hold/],
    ['a_duration', 1e300, /'x' must be seconds, at most/],
    ['an_id', ID.slice(1), /'x' must be a UUID/],
    ['a_pair', [1], /'x' must be an array of 2, and has 1/],
    ['a_set', [[1]], /'x\[0\]' must be an integer, not an array/],
    ['a_limit', 9, /'x' must be at most 4, not 9$/],
    ['a_limit', '9', /'x' must be an integer, not a string \("9"\)$/],
    ['a_default', 9, /'x' must be at most 4, not 9$/],
    ['a_text', 'a', /'x' must have a length of at least 2, and has 1$/],
];

test('a value is what its hint says; what is wrong is named, each with its path and what came', async (t) => {
    const app = await startPython(t, SOURCE);
    for (const [name, x, result] of GOOD) {
        const answer = await app.call(name, { x });
        assert.equal(answer.status, 200, `${name}: ${answer.text}`);
        assert.deepEqual(answer.json(), result, name);
    }
    for (const [name, x, pattern] of BAD) {
        const answer = await app.call(name, { x });
        assert.equal(answer.status, 422, `${name}: ${answer.text}`);
        assert.match(answer.json().detail, pattern, name);
    }
    assert.equal((await app.call('a_default', {})).json(), 2);
    const digits = `1.${'0123456789'.repeat(5)}`;
    const number = await app.call('a_decimal', undefined, { body: `{"x": ${digits}}` });
    assert.equal(number.text, digits, 'a number keeps its digits both ways');
    const body = `{"x": [${digits}, "1e400", ${'9'.repeat(5000)}, null], "y": 0.10, "z": [0.10]}`;
    const several = (await app.call('decimals', undefined, { body })).text;
    assert.equal(several, `[[${digits},1E+400,${'9'.repeat(5000)},null],0.1,[0.1]]`);

    const odd = await app.call('a_model', { x: { n: 3 } });
    assert.equal(odd.status, 500);
    assert.match(odd.json().detail, /RuntimeError: three/);
    const broken = await app.call('a_node', { x: { name: 'broken' } });
    assert.match(broken.json().detail, /KeyError: 'broken'/);

    const deep = `{"x": ${'{"name":"a","children":['.repeat(250)}${']}'.repeat(250)}}`;
    const nested = await app.call('a_node', undefined, { body: deep });
    assert.match(nested.json().detail, /nested too deep|must be an object|is missing/, 'one clear error');
    const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`m${i}`, i]));
    const surplus = (await app.call('a_limit', many)).json().detail;
    assert.match(surplus, /'m0' is not a parameter.*; and \d+ more$/);
    assert.ok(surplus.length < 5000);

    const values = { array: '[1.5,2.0]', custom: '[{"custom":true}]', enum: '{"size":"l"}', bytes: '["YWI="]', set: '[1]' };
    for (const [which, text] of Object.entries(values)) assert.equal((await app.call('results', { which })).text, text);
    assert.match((await app.call('results', { which: 'nan' })).json().detail, /float \(nan\), at \.a\[1\]$/);
    assert.equal((await app.call('an_address', {})).text, '{"at":"127.0.0.1","odd":"YWI="}');
    assert.match((await app.call('results', { which: 'path' })).json().detail, /PosixPath .*, at \[0\]$/);
    const file = await app.call('a_file', { name: 'page.html' });
    assert.equal(file.headers['content-type'], 'text/html');
    assert.equal(file.text, '<p>');

    const listed = await (await fetch(`${app.url}/_hookline/functions`)).json();
    const ajv = addFormats(new Ajv({ strict: false, validateFormats: true }));
    const schemas = new Map(listed.functions.map(({ name, input }) => [name, input]));
    assert.deepEqual(schemas.get('a_node').properties.x, { $ref: '#/$defs/Node' });
    assert.deepEqual(Object.keys(schemas.get('a_model').$defs), ['Model']);
    assert.deepEqual(schemas.get('a_default').properties.x, {
        type: 'integer', maximum: 4, description: 'how many', default: 2,
    });
    const validators = new Map([...schemas].map(([name, schema]) => [name, ajv.compile(schema)]));
    // An array for a NamedTuple, a set's items twice and a time without its offset are more than the schema asks for.
    const looser = (name, x) => ['a_set', 'a_clock', 'a_ratio'].includes(name) || (name === 'a_point' && Array.isArray(x));
    for (const [name, x] of GOOD)
        if (!looser(name, x))
            assert.ok(validators.get(name)({ x }), `${name}: ${JSON.stringify(validators.get(name).errors)}`);
    // What __post_init__, a timedelta, a Decimal and one option of several refuse, a schema cannot say.
    const unsaid = (name, x) => x.name === 'odd' || x.startsWith?.('1e') || ['a_duration', 'a_bounded_one'].includes(name);
    for (const [name, x] of BAD)
        if (!unsaid(name, x))
            assert.ok(!validators.get(name)({ x }), `${name} takes ${JSON.stringify(x)}`);
});

test('a form’s fields and files are parameters, as long as hookline lets bodies be; nothing is left of them', async (t) => {
    const env = { HOOKLINE_FUNCTION_MAX_BODY: '1MiB', HOOKLINE_MAX_REQUEST_BODY: '16MiB' };
    const app = await startPython(
        t,
        `
import os, hashlib
from hookline_runtime import File

def run(image: File, n: int, note: str = ""):
    digest = hashlib.sha256()
    while piece := image.read(1 << 16):
        digest.update(piece)
    return [image.name, image.type, image.size, digest.hexdigest(), n, note, os.path.getsize(image.path), image.path]

async def words(text: bytes):
    for word in text.decode().split():
        yield word

def exists(path: str): return os.path.exists(path)
`,
        { env },
    );
    const send = (name, form, options) => fetch(`${app.url}/${name}`, { method: 'POST', body: form, ...options });
    const form = (members) => {
        const body = new FormData();
        for (const [name, value] of Object.entries(members)) body.append(name, ...[value].flat());
        return body;
    };
    const bytes = Buffer.alloc(5 << 20, 'hookline\r\n--');
    const image = [new Blob([bytes], { type: 'image/png' }), 'a/picture.png'];
    const answer = await send('run', form({ image, n: '3', note: 'ä' }));
    const [name, type, size, digest, n, note, copied, path] = await answer.json();
    const sum = createHash('sha256').update(bytes).digest('hex');
    assert.deepEqual([name, type, size, digest], ['picture.png', 'image/png', bytes.length, sum]);
    assert.deepEqual([n, note, copied], [3, 'ä', bytes.length]);
    assert.equal((await app.call('exists', { path })).json(), false, 'gone after the call');

    const words = form({ text: new Blob(['one two']) });
    assert.deepEqual(await (await send('words', words)).json(), ['one', 'two']);
    const wrong = await send('run', form({ image: 'x', n: 'many', other: '1' }));
    assert.equal(wrong.status, 422);
    assert.match((await wrong.json()).detail, /'image' must be a file of a form .*; 'n' must be an integer.*; 'other' is not/);
    const headers = { 'Content-Type': 'multipart/form-data; boundary=b' };
    const broken = await send('run', '--b\r\n', { headers });
    assert.equal(broken.status, 400);
    assert.match((await broken.json()).detail, /^The request's form cannot be read: /);
    const long = form({ image: [new Blob([Buffer.alloc(17 << 20)]), 'long'], n: '1' });
    assert.equal(await send('run', long).then(({ status }) => status, () => 413), 413);
    assert.equal((await app.call('run', { n: 1, note: 'x'.repeat(2 << 20) })).status, 413, 'JSON is held in memory');
});
