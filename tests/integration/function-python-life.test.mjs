// The life of a Python app: start, set-up, calls side by side, functions that block, stop.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import http from 'node:http';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { DEBIAN, get, runPython, spawnPython, startPython, isPure } from './lib/python.mjs';
import { connect, request } from './lib/raw.mjs';
import { freePort } from './lib/sidecar.mjs';
import { until } from './lib/until.mjs';

const JSON_FIELDS = { 'Content-Type': 'application/json' };

test('setup() runs once, and nothing is served before it has ended', async (t) => {
    for (const word of ['def', 'async def']) {
        const app = await spawnPython(
            t,
            `
import os, time

runs = 0

${word} setup():
    global runs
    runs += 1
    open("begun", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.01)

def run():
    return runs
`,
        );
        atEnd(t, () => app.stop());
        await until('setup() has begun', () => existsSync(join(app.directory, 'begun')));
        assert.equal(await get(`${app.url}/healthz`), null, 'nobody listens yet');
        await writeFile(join(app.directory, 'go'), '');
        await until('it is ready', async () => (await get(`${app.url}/healthz`)) === 200);
        const client = await connect(t, app);
        await client.send(request('POST', '/run', JSON_FIELDS, '{}'));
        assert.equal((await client.response('POST')).text, '1');
    }
});

test('what cannot be served ends with status 1 and says why', async (t) => {
    const failing = [
        ['import nothing_of_that_name\n', /main\.py failed to import$/, /ModuleNotFoundError: No module named/],
        ['def run(:\n', /main\.py failed to import$/, /SyntaxError/],
        ['import sys; sys.exit(0)\n', /main\.py failed to import$/, /SystemExit/],
        ['def setup():\n    raise ValueError("no model")\ndef run(): pass\n', /^setup\(\) failed$/, /ValueError: no model/],
        ['async def setup():\n    raise ValueError("no model")\ndef run(): pass\n', /^setup\(\) failed$/, /no model/],
        ['import sys\nasync def setup():\n    sys.exit(3)\ndef run(): pass\n', /^setup\(\) failed$/, /SystemExit: 3/],
        ['def setup():\n    while True: pass\ndef run(): pass\n', /^setup\(\) has not ended within 0\.2 s/, /in setup\n/],
        ['def run(): pass\n\ndef run(x): pass\n', /defines run\(\) twice, in line 1 and in line 3/],
        ['class Own: pass\ndef run(a: int, x: Own): pass\n', /run\(\): the hint of 'x' cannot be held: main\.Own$/],
        [
            'from pydantic import Field\nfrom typing import Annotated\ndef run(x: Annotated[str, Field(regex="[")]): pass\n',
            /run\(\): the hint of 'x' cannot be held: regex='\[' \(unterminated character set/,
        ],
        ['from pydantic import Field\ndef run(x: int = Field(2, ge="a")): pass\n', /'x' cannot be held: ge='a' of an integer$/],
        ['def run(x: complex): pass\n', /run\(\): the hint of 'x' cannot be held: complex$/],
        ['from pathlib import Path\ndef run(x: list[Path]): pass\n', /'x' cannot be held: pathlib\.Path would name files/],
        [
            'import dataclasses\n@dataclasses.dataclass\nclass P:\n    z: complex\ndef run(x: P): pass\n',
            /'x' cannot be held: complex, in main\.P$/,
        ],
        [
            'class A:\n    def predict(self): pass\nclass B:\n    def predict(self): pass\n',
            /predict\(\) is there twice, the second time in the class B: give one of them another name$/,
        ],
        [
            'class A:\n    def run(self): pass\n\n    def run(self, x): pass\n',
            /defines A\.run\(\) twice, in line 2 and in line 4/,
        ],
        ['class A:\n    def f(self, x: complex): pass\n', /A\.f\(\): the hint of 'x' cannot be held: complex \(a class whose/],
        ['class A:\n    def __init__(self, n): pass\n    def f(self): pass\n', /no public function.*class A is not served: its __init__ needs 'n'$/],
        [
            'class A:\n    def __init__(self):\n        raise ValueError("no model")\n    def f(self): pass\n',
            /^A\(\) failed$/,
            /ValueError: no model/,
        ],
        ['class A:\n    def setup(self):\n        while True: pass\n    def f(self): pass\n', /^A\.setup\(\) has not ended within 0\.2 s/, /in setup\n/],
        ['from os import getcwd\n_x = 1\n', /defines no public function; .*def run/],
        ['', /defines no public function/],
        [null, /main\.py does not exist: name the file/],
        [
            'from hookline_runtime import Request\ndef run(request: Request, n: int): pass\n',
            /run\(\): a parameter that is a Request must be the only one/,
        ],
    ];
    for (const [source, message, traceback] of failing) {
        const env = `${message}`.includes('has not ended') ? { HOOKLINE_FUNCTION_SETUP_TIMEOUT: '200ms' } : {};
        const { code, log, stderr } = await runPython(t, source, { env });
        assert.equal(code, 1, stderr);
        const line = log.find((entry) => entry.level === 'error');
        assert.match(line.msg, message);
        if (!traceback) assert.equal(line.traceback, undefined);
        else assert.match(line.traceback, traceback);
        assert.doesNotMatch(line.traceback ?? '', /importlib|hookline_runtime/, 'only the author’s frames');
    }
    const { code, log } = await runPython(t, '', { args: ['.'] });
    assert.equal(code, 1);
    assert.match(log[0].msg, /is a directory/);
});

const NO_SERVICES = `
import abc, dataclasses, enum, json
from typing import NamedTuple, Protocol, TypedDict
import pydantic

class Size(enum.Enum):
    SMALL = 1
    def a(self): pass

@dataclasses.dataclass
class Record:
    def b(self): pass

class Pair(NamedTuple):
    x: int
    def c(self): pass

class Model(pydantic.BaseModel):
    def d(self): pass

class Failure(Exception):
    def e(self): pass

class Shape(Protocol):
    def f(self): pass

class Abstract(abc.ABC):
    @abc.abstractmethod
    def g(self): pass

class _Hidden:
    def h(self): pass

class Encoder(json.JSONEncoder):
    def default(self, value): pass

class Needy:
    def __init__(self, n): pass
    def i(self): pass

Alias = Needy
`;

test('a class’s public methods are endpoints of one instance that is made before the first call', async (t) => {
    const one = await startPython(
        t,
        `${NO_SERVICES}
import functools, json, os, textwrap

def other(): return "a function"

class Base:
    def inherited(self): return self.made

class Predictor(Base):
    made = 0
    def __init__(self):
        Predictor.made += 1
    async def setup(self):
        self.model = [Predictor.made]
    def predict(self, prompt: str, n: int = 1):
        """Says it.

        Several times."""
        return [self.model, prompt * n]
    async def later(self): return self.model
    async def stream(self):
        yield 1
        yield 2
    @staticmethod
    def fixed(x: int): return x
    half = staticmethod(functools.partial(lambda by, x: x / by, 2))
    @classmethod
    def kind(cls): return cls.__name__
    @functools.lru_cache
    def cached(self, x: int): return x
    @property
    def size(self): return 1
    def _private(self): pass
    dumps = staticmethod(json.dumps)
    system = staticmethod(os.system)
    dedent = textwrap.dedent
`,
    );
    const { functions } = await (await fetch(`${one.url}/_hookline/functions`)).json();
    const names = ['other', 'inherited', 'predict', 'later', 'stream', 'fixed', 'half', 'kind', 'cached', 'run'];
    assert.deepEqual(functions.map(({ name }) => name), names);
    const run = functions.at(-1).input;
    assert.deepEqual(Object.keys(run.properties), ['prompt', 'n'], 'self is nobody’s parameter');
    assert.equal(run.description, 'Says it.');
    const answers = {
        other: [{}, 'a function'], inherited: [{}, 1], predict: [{ prompt: 'x', n: 2 }, [[1], 'xx']],
        run: [{ prompt: 'x' }, [[1], 'x']], later: [{}, [1]], stream: [{}, [1, 2]], fixed: [{ x: 3 }, 3], half: [{ x: 3 }, 1.5],
        kind: [{}, 'Predictor'], cached: [{ x: 4 }, 4],
    };
    for (const [name, [members, value]] of Object.entries(answers))
        assert.deepEqual((await one.call(name, members)).json(), value, name);
    const refused = (await one.call('predict', { n: 'x' })).json();
    assert.match(refused.detail, /^predict\(\): 'prompt' is missing; 'n' must be an integer/);

    const two = await startPython(
        t,
        `
class A:
    def predict(self, x: int): return x + 1
    def info(self): return "A"

class B:
    def info(self): return "B"
`,
    );
    const values = { 'A/predict': 2, predict: 2, run: 2, 'A/info': 'A', 'B/info': 'B' };
    for (const [name, value] of Object.entries(values))
        assert.equal((await two.call(name, name.endsWith('info') ? {} : { x: 1 })).json(), value, name);
    assert.equal((await two.call('info', {})).status, 404);
});

const COG = `
from typing import Optional
from cog import BaseModel, BasePredictor, ConcatenateIterator, Input, Path

class Output(BaseModel):
    text: str
    seed: Optional[int] = None

class Predictor(BasePredictor):
    def setup(self) -> None:
        """Load the model"""
        self.model = "m"

    def predict(
        self,
        prompt: str = Input(description="What to draw"),
        scale: float = Input(default=1.5, ge=0, le=10),
        kind: str = Input(default="text", choices=["text", "file", "pieces"]),
    ) -> Output:
        """Run a single prediction"""
        if kind == "file":
            Path("out.txt").write_text(prompt)
            return Path("out.txt")
        return Output(text=f"{self.model} {prompt} {scale:g}")

    def pieces(self, prompt: str) -> ConcatenateIterator[str]:
        yield from prompt.split()
`;

test('a predictor written for Cog is served as it is, without its package', async (t) => {
    const app = await startPython(t, COG);
    assert.deepEqual((await app.call('run', { prompt: 'a' })).json(), { text: 'm a 1.5', seed: null });
    const refused = (await app.call('predict', { scale: 11, kind: 'x' })).json();
    assert.equal(
        refused.detail,
        "predict(): 'prompt' is missing; 'scale' must be at most 10, not 11; 'kind' must be one of 'text', 'file', 'pieces', not \"x\"",
    );
    const file = await app.call('predict', { prompt: 'a', kind: 'file' });
    assert.equal(file.headers['content-type'], 'text/plain');
    assert.equal(file.text, 'a');
    assert.deepEqual((await app.call('pieces', { prompt: 'a b' })).json(), ['a', 'b']);
    const { functions } = await (await fetch(`${app.url}/_hookline/functions`)).json();
    assert.deepEqual(functions.find(({ name }) => name === 'predict').input.properties.scale, {
        type: 'number', minimum: 0, maximum: 10, default: 1.5,
    });
});

test('a wrong setting or option ends with one line', async (t) => {
    const app = 'def run(): pass\n';
    for (const [options, pattern] of [
        [{ env: { HOOKLINE_FUNCTION_CONCURRENCY: 'many' } }, /HOOKLINE_FUNCTION_CONCURRENCY.*many/],
        [{ env: { PORT: '99999999' }, args: ['main.py'] }, /PORT.*99999999/],
        [{ args: ['main.py', '--port', 'x'] }, /--port.*x/],
        [{ args: ['main.py', '--portt', '1'] }, /--portt/],
    ]) {
        const { code, stderr } = await runPython(t, app, options);
        assert.notEqual(code, 0);
        assert.match(stderr, pattern);
        assert.doesNotMatch(stderr, /Traceback/);
    }
    const taken = http.createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    atEnd(t, () => taken.close());
    const { code, log } = await runPython(t, app, { args: ['main.py', '--port', `${taken.address().port}`] });
    assert.equal(code, 1);
    assert.match(log.at(-1).msg, /address/i);
});

test('it listens where --port, --socket or the environment say', async (t) => {
    const source = 'def run(): return "here"\n';
    const port = await freePort();
    const byEnvironment = await spawnPython(t, source, { env: { PORT: `${port}` }, args: ['main.py'] });
    atEnd(t, () => byEnvironment.stop());
    await until('PORT', async () => (await get(`http://127.0.0.1:${port}/healthz`)) === 200);
    const { address, functions, concurrency } = await byEnvironment.logged(/^listening$/);
    assert.deepEqual([address, functions, concurrency], [`127.0.0.1:${port}`, 'run', 1]);

    const socket = await spawnPython(t, source, { args: ['main.py', '--socket', 'app.sock'] });
    atEnd(t, () => socket.stop());
    const path = join(socket.directory, 'app.sock');
    const answer = () =>
        new Promise((resolve) => {
            const call = http.request({ socketPath: path, path: '/run', method: 'POST', agent: false });
            call.on('response', (response) => {
                let text = '';
                response.on('data', (piece) => (text += piece)).on('end', () => resolve(text));
            });
            call.on('error', () => resolve(null)).end();
        });
    assert.equal(await until('--socket', answer), '"here"');
    assert.equal((await socket.logged(/^listening$/)).address, 'unix:app.sock');

    const anywhere = await spawnPython(t, source, { args: ['main.py', '--port', '0'] });
    atEnd(t, () => anywhere.stop());
    const free = (await anywhere.logged(/^listening$/)).address;
    assert.equal(await get(`http://${free}/healthz`), 200);

});

test('the file may have any name and place; modules beside it can be imported', async (t) => {
    const port = await freePort();
    const app = await spawnPython(t, null, {
        files: {
            'apps/my-app.v2': 'import beside\ndef run(): return [beside.VALUE, __name__, __file__]\n',
            'apps/beside.py': 'VALUE = "beside"\n',
        },
        args: ['apps/my-app.v2', '--port', `${port}`],
    });
    atEnd(t, () => app.stop());
    await until('it is ready', async () => (await get(`http://127.0.0.1:${port}/healthz`)) === 200);
    const client = await connect(t, { port });
    await client.send(request('POST', '/run', JSON_FIELDS, '{}'));
    const [value, name, path] = JSON.parse((await client.response('POST')).text);
    assert.equal(value, 'beside');
    assert.notEqual(name, '__main__');
    assert.equal(path, join(app.directory, 'apps/my-app.v2'));
});

test('one call runs at a time unless HOOKLINE_FUNCTION_CONCURRENCY says otherwise', async (t) => {
    const source = `
import asyncio, threading, time

lock = threading.Lock()
inside = most = 0

def enter():
    global inside, most
    with lock:
        inside += 1
        most = max(most, inside)

def leave():
    global inside
    with lock:
        inside -= 1

enter.__module__ = leave.__module__ = "elsewhere"

def run():
    enter()
    time.sleep(0.02)
    leave()

async def later():
    enter()
    await asyncio.sleep(0.02)
    leave()

def figures():
    return most
`;
    for (const [env, most] of [
        [{}, 1],
        [{ HOOKLINE_FUNCTION_CONCURRENCY: '3' }, 3],
    ]) {
        for (const name of ['run', 'later']) {
            const app = await startPython(t, source, { env });
            await Promise.all(Array.from({ length: 24 }, () => app.call(name, {})));
            assert.equal((await app.call('figures', {})).json(), most);
        }
    }
});

test('async functions of all calls share one loop', async (t) => {
    const app = await startPython(
        t,
        `
import asyncio, threading

loops = set()
opened = None

async def setup():
    global opened
    opened = asyncio.Event()
    loops.add(id(asyncio.get_running_loop()))

async def wait():
    loops.add(id(asyncio.get_running_loop()))
    await opened.wait()
    return threading.current_thread().name

async def open():
    loops.add(id(asyncio.get_running_loop()))
    opened.set()
    return len(loops)
`,
        { env: { HOOKLINE_FUNCTION_CONCURRENCY: '2' } },
    );
    const waiting = app.call('wait', {});
    assert.equal((await app.call('open', {})).json(), 1);
    assert.equal((await waiting).json(), 'asyncio');
});

test('a function that holds the interpreter’s lock blocks no health check', { skip: isPure && 'in pure Python it does' }, async (t) => {
    const app = await startPython(
        t,
        `
import ctypes, os

def run(begun, fifo):
    os.mkfifo(fifo)
    open(begun, "w").close()
    libc = ctypes.PyDLL(None)  # its functions are called without letting the lock go
    fd = libc.open(fifo.encode(), os.O_RDONLY)
    libc.close(fd)
    return "done"
`,
    );
    const [begun, fifo] = ['begun', 'fifo'].map((name) => join(app.directory, name));
    const running = app.call('run', { begun, fifo });
    await until('it has begun', () => existsSync(begun));
    for (let i = 0; i < 3; i++) assert.equal(await get(`${app.url}/healthz`), 200);
    assert.equal(await get(`${app.url}/none`), 404);
    execFileSync('sh', ['-c', 'exec 3>"$0"', fifo]);
    assert.equal((await running).json(), 'done');
});

test('a function that blocks holds up neither health nor the streams of other calls', async (t) => {
    const app = await startPython(
        t,
        `
import threading

opened = threading.Event()

def block():
    opened.wait()
    return "done"

def stream(n):
    for i in range(n):
        yield i

def open():
    opened.set()
`,
        { env: { HOOKLINE_FUNCTION_CONCURRENCY: '2' } },
    );
    const blocked = app.call('block', {});
    assert.equal(await get(`${app.url}/healthz`), 200);
    const stream = await app.call('stream', { n: 3 }, { headers: { Accept: 'text/event-stream' } });
    assert.equal(stream.text, 'data: 0\n\ndata: 1\n\ndata: 2\n\n');
    await app.call('open', {});
    assert.equal((await blocked).json(), 'done');
});

test('on SIGTERM running calls finish, nothing new is accepted, the process ends with 0', async (t) => {
    const app = await startPython(
        t,
        `
import asyncio, atexit, os, pathlib, time

atexit.register(lambda: pathlib.Path("ended").touch())

def wait():
    while not os.path.exists("go"):
        time.sleep(0.01)

wait.__module__ = "elsewhere"

def run():
    pathlib.Path("run").touch()
    wait()
    return "whole"

def stream():
    yield "one"
    pathlib.Path("stream").touch()
    wait()
    yield "two"

async def later():
    asyncio.create_task(asyncio.sleep(3600))  # left behind
    pathlib.Path("later").touch()
    await asyncio.to_thread(wait)
    return "later"
`,
        { env: { HOOKLINE_FUNCTION_CONCURRENCY: '3' } },
    );
    const calls = ['run', 'stream', 'later'].map((name) =>
        app.call(name, {}, { headers: { Accept: 'text/event-stream' } }),
    );
    for (const name of ['run', 'stream', 'later'])
        await until(`${name} has begun`, () => existsSync(join(app.directory, name)));
    app.signal('SIGTERM');
    await until('nobody listens any more', async () => (await get(`${app.url}/healthz`)) === null);
    assert.ok(app.isRunning);
    await writeFile(join(app.directory, 'go'), '');
    const [run, stream, later] = await Promise.all(calls);
    assert.equal(run.text, '"whole"');
    assert.equal(stream.text, 'data: one\n\ndata: two\n\n');
    assert.equal(later.text, '"later"');
    assert.deepEqual(await app.exited(), { code: 0, signal: null });
    assert.ok(existsSync(join(app.directory, 'ended')), 'the interpreter ended in its own way');
});

test('--help and --version answer', async (t) => {
    const help = await runPython(t, null, { args: ['--help'], python: DEBIAN });
    assert.equal(help.code, 0);
    assert.match(help.stdout, /main\.py/);
    const version = await runPython(t, null, { args: ['--version'] });
    assert.match(version.stdout, /^hookline_runtime \d+\.\d+\.\d+\n$/);
});
