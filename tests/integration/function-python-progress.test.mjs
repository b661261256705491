// A Python function says how far it is: progress(value) is an interim response before the answer.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import http from 'node:http';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { Told } from './lib/progress.mjs';
import { INTERPRETERS, startPython } from './lib/python.mjs';
import { connect } from './lib/raw.mjs';
import { until } from './lib/until.mjs';

const STREAM = { Accept: 'text/event-stream' };

/** Functions that go on when a test makes a file in the app's directory. */
const GATE = `
import asyncio, contextvars, os, threading, time
from hookline_runtime import context, progress

def passed(gate):
    return os.path.exists(gate)

def wait_for(gate):
    while not passed(gate):
        time.sleep(0.01)

async def pause_for(gate):
    while not passed(gate):
        await asyncio.sleep(0.01)

for helper in (passed, wait_for, pause_for):
    helper.__module__ = "elsewhere"
`;

const open = (app, gate) => writeFile(join(app.directory, gate), '');

for (const python of INTERPRETERS) {
    test(`${python}: progress() goes out at once from wherever a function runs`, async (t) => {
        const app = await startPython(
            t,
            `${GATE}
def plain(gate):
    progress("plain")
    wait_for(gate)
    return "done"

def generator(gate):
    progress("generator")
    wait_for(gate)
    yield "done"

async def coroutine(gate):
    progress("coroutine")
    await pause_for(gate)
    return "done"

async def async_generator(gate):
    progress("async_generator")
    await pause_for(gate)
    yield "done"

def awaitable(gate):
    async def inner():
        progress("awaitable")
        await pause_for(gate)
        return "done"
    return inner()

async def in_task(gate):
    async def inner():
        progress("in_task")
    await asyncio.create_task(inner())
    await pause_for(gate)
    return "done"

async def in_thread(gate):
    await asyncio.to_thread(progress, "in_thread")
    await pause_for(gate)
    return "done"

def own_thread(gate):
    thread = threading.Thread(target=contextvars.copy_context().run, args=(progress, "own_thread"))
    thread.start()
    thread.join()
    wait_for(gate)
    return "done"
`,
            { python },
        );
        const kinds = ['plain', 'generator', 'coroutine', 'async_generator', 'awaitable', 'in_task', 'in_thread'];
        for (const name of [...kinds, 'own_thread']) {
            const told = await Told.call(t, app, name, { gate: name });
            assert.equal(await told.nextLine(), JSON.stringify(name));
            await open(app, name);
            const { told: more, response } = await told.rest();
            assert.deepEqual(more, [], name);
            assert.equal(response.status, 200);
            assert.equal(response.text, name.includes('generator') ? '["done"]' : '"done"');
            await told.ask(name, { gate: name }); // the connection goes on
            assert.deepEqual((await told.rest()).told, [name]);
            told.close();
        }
    });
}

test('a value is compact JSON in ASCII, whatever is in it', async (t) => {
    const app = await startPython(
        t,
        `${GATE}
VALUES = [{"step": 3, "of": [20, 0.5]}, None, True, "", "\\r\\nX-Forged: 1", "\\x00\\x7f\\x85\\u2028", "ä \\U0001f600",
    "\\ud800", {"ä": "b\\tc"}, "x" * 1022, ["ä" * 170]]

def run(i):
    progress(VALUES[i])
`,
    );
    const lines = [
        '{"step":3,"of":[20,0.5]}',
        'null',
        'true',
        '""',
        '"\\r\\nX-Forged: 1"',
        '"\\u0000\\u007f\\u0085\\u2028"',
        '"\\u00e4 \\ud83d\\ude00"',
        '"\\ud800"',
        '{"\\u00e4":"b\\tc"}',
        `"${'x'.repeat(1022)}"`,
        `["${'\\u00e4'.repeat(170)}"]`,
    ];
    for (const [i, line] of lines.entries()) {
        const told = await Told.call(t, app, 'run', { i });
        assert.equal(await told.nextLine(), line);
        assert.equal((await told.rest()).response.text, 'null');
        told.close();
    }
});

test('a client that reads interim responses gets them as events', async (t) => {
    const app = await startPython(
        t,
        `${GATE}
def run():
    progress([1])
    return "done"
`,
    );
    const [informations, text] = await new Promise((resolve, reject) => {
        const options = { host: '127.0.0.1', port: app.port, path: '/run', method: 'POST', agent: false };
        const seen = [];
        const ask = http.request(options, (response) => {
            let body = '';
            response.setEncoding('utf8').on('data', (piece) => (body += piece));
            response.on('end', () => resolve([seen, body]));
        });
        ask.on('information', ({ statusCode, headers }) => seen.push([statusCode, headers]));
        ask.on('error', reject);
        ask.end();
    });
    assert.deepEqual(informations, [[103, { 'x-run-progress': '[1]' }]]);
    assert.equal(text, '"done"');
});

test('what cannot go out raises; outside of a call nothing happens', async (t) => {
    const app = await startPython(
        t,
        `${GATE}
outside = []

def told(value):
    try:
        progress(value)
        return "nothing"
    except Exception as error:
        return f"{type(error).__name__}: {error}"

loop = []
loop.append(loop)
VALUES = {"long": "x" * 1023, "long when escaped": "ä" * 171, "set": {1}, "bytes": b"a", "key": {(1, 2): 3},
    "nan": float("nan"), "loop": loop}

outside.append(told(1))
thread = threading.Thread(target=lambda: outside.append(told(1)))

def raised(what):
    return told(VALUES[what])

async def raised_async(what):
    return told(VALUES[what])

def elsewhere():
    thread.start()
    thread.join()
    return outside

def lets_go():
    progress({1})
`,
    );
    for (const [what, text] of [
        ['long', /^ValueError: hookline_runtime\.progress\(\): the value has 1025 bytes as JSON, and 1024 are/],
        ['long when escaped', /^ValueError: .* the value has 1028 bytes as JSON/],
        ['set', /^TypeError: Object of type set is not JSON serializable$/],
        ['bytes', /^TypeError: Object of type bytes is not JSON serializable$/],
        ['key', /^TypeError: keys must be str, int, float, bool or None, not tuple$/],
        ['nan', /^ValueError: Out of range float values are not JSON compliant/],
        ['loop', /^ValueError: Circular reference detected/],
    ]) {
        for (const name of ['raised', 'raised_async']) {
            const told = await Told.call(t, app, name, { what });
            const { told: values, response } = await told.rest();
            assert.deepEqual(values, [], what);
            assert.match(JSON.parse(response.text), text);
            told.close();
        }
        const old = await app.call('raised', { what }, { headers: { Connection: 'close' } });
        assert.match(old.json(), text);
    }
    assert.deepEqual((await app.call('elsewhere', {})).json(), ['nothing', 'nothing']);
    const failed = await Told.call(t, app, 'lets_go');
    const { response } = await failed.rest();
    assert.equal(response.status, 500);
    assert.match(JSON.parse(response.text).detail, /^TypeError: Object of type set/);
});

test('a value that still waits goes before the answer, a failure’s and a stream’s too', async (t) => {
    const app = await startPython(
        t,
        `${GATE}
def told():
    for i in range(100):
        progress(i)

told.__module__ = "elsewhere"

def returns():
    told()
    return "done"

def raises():
    told()
    raise ValueError("at last")

async def later():
    told()
    return "done"

def yields():
    told()
    yield "one"
    progress("late")
    yield "two"
    progress("later")

async def yields_async():
    told()
    yield "one"
    progress("late")
    yield "two"
    progress("later")
`,
    );
    for (const [name, status, text] of [
        ['returns', 200, /^"done"$/],
        ['raises', 500, /ValueError: at last/],
        ['later', 200, /^"done"$/],
        ['yields', 200, /^data: one\n\ndata: two\n\n$/],
        ['yields_async', 200, /^data: one\n\ndata: two\n\n$/],
    ]) {
        const told = await Told.call(t, app, name, {}, STREAM);
        const { told: values, response } = await told.rest();
        assert.equal(values.at(-1), 99, `${name}: ${values}`);
        assert.ok(values.length <= 2, `${name}: ${values}`);
        assert.equal(response.status, status);
        assert.match(response.text, text);
        told.close();
    }
    const told = await Told.call(t, app, 'yields'); // an array: its head goes out at the end
    const { told: values, response } = await told.rest();
    assert.equal(values.at(-1), 'later');
    assert.equal(response.text, '["one","two"]');
});

test('a function that tells all the time is heard twice a second, and never waits', async (t) => {
    const app = await startPython(
        t,
        `${GATE}
def run(gate):
    count = 0
    while not passed(gate):
        count += 1
        progress(count)
    return count

async def later(gate):
    count = 0
    while not passed(gate):
        count += 1
        progress(count)
        await asyncio.sleep(0)
    return count
`,
        { env: { HOOKLINE_FUNCTION_CONCURRENCY: '2' } },
    );
    const begin = Date.now();
    const calls = ['run', 'later'].map(async (name) => {
        const told = await Told.call(t, app, name, { gate: name });
        const values = [];
        while (values.length < 4) values.push(await told.next());
        await open(app, name);
        const { told: more, response } = await told.rest();
        const elapsed = Date.now() - begin;
        values.push(...more);
        const count = JSON.parse(response.text);
        // One at once and one before the answer, and a third because clocks differ.
        assert.ok(values.length <= 3 + elapsed / 500, `${values.length} in ${elapsed} ms`);
        assert.ok(count > 10 * values.length, `${values} of ${count}`);
        assert.equal(values.at(-1), count, 'the newest one is never lost');
        assert.deepEqual(values, [...values].sort((a, b) => a - b));
    });
    await Promise.all(calls);
});

test('callers of HTTP/1.0 get the answer alone', async (t) => {
    const app = await startPython(t, `${GATE}
def run():
    progress("unseen")
    return "done"

def words():
    progress("unseen")
    yield "done"
`);
    for (const [name, fields, end] of [
        ['run', '', '"done"'],
        ['words', 'Accept: text/event-stream\r\n', 'data: done\n\n'],
    ]) {
        const client = await connect(t, app);
        await client.send(`POST /${name} HTTP/1.0\r\n${fields}Content-Length: 0\r\n\r\n`);
        const bytes = (await client.reader.rest()).toString();
        assert.match(bytes, /^HTTP\/1\.1 200 OK\r\n/);
        assert.ok(!bytes.includes('X-Run-Progress'), bytes);
        assert.ok(bytes.endsWith(`\r\n\r\n${end}`), bytes);
    }
});

test('many calls at once get what is theirs', async (t) => {
    const app = await startPython(
        t,
        `${GATE}
def run(me):
    progress([me, "begun"])
    time.sleep(0.01)
    progress([me, "ended"])
    return me

async def later(me):
    progress([me, "begun"])
    await asyncio.sleep(0.01)
    await asyncio.to_thread(progress, [me, "ended"])
    return me

def words(me):
    progress([me, "begun"])
    progress([me, "ended"])
    yield me
`,
        { env: { HOOKLINE_FUNCTION_CONCURRENCY: '16' } },
    );
    const names = ['run', 'later', 'words'];
    await Promise.all(
        Array.from({ length: 24 }, async (_, i) => {
            const told = await Told.call(t, app, names[i % 3], { me: `${i} 0` });
            for (let nth = 0; nth < 10; nth++) {
                const me = `${i} ${nth}`;
                const { told: values, response } = await told.rest();
                assert.deepEqual(JSON.parse(response.text), i % 3 === 2 ? [me] : me);
                assert.deepEqual(values.at(-1), [me, 'ended']);
                assert.ok(values.length <= 2 && values.every(([whose]) => whose === me), JSON.stringify(values));
                if (nth < 9) await told.ask(names[i % 3], { me: `${i} ${nth + 1}` });
            }
            told.close();
        }),
    );
});

test('a caller that has gone is told nothing, and nor is one whose call is over', async (t) => {
    const app = await startPython(
        t,
        `${GATE}
left = []

def run(gate):
    progress("begun")
    while not context().is_cancelled:
        time.sleep(0.01)
    for i in range(1000):
        progress(i)
    open(gate, "w").close()

async def leaves(gate):
    def linger():
        wait_for(gate)
        for i in range(1000):
            progress(i)
        open(gate + "-told", "w").close()
    left.append(asyncio.get_running_loop().run_in_executor(None, contextvars.copy_context().run, linger))
    return "done"

def quiet(gate):
    wait_for(gate)
    return "quiet"
`,
        { env: { HOOKLINE_FUNCTION_CONCURRENCY: '2' } },
    );
    const gone = await Told.call(t, app, 'run', { gate: 'seen' });
    assert.equal(await gone.next(), 'begun');
    gone.close();
    await until('it goes on', () => existsSync(join(app.directory, 'seen')));

    const over = await Told.call(t, app, 'leaves', { gate: 'over' });
    assert.equal((await over.rest()).response.text, '"done"');
    await over.ask('quiet', { gate: 'over-told' }); // on the same connection
    await open(app, 'over');
    const { told, response } = await over.rest();
    assert.equal(response.text, '"quiet"');
    assert.deepEqual(told, []);
});

for (const python of INTERPRETERS) {
    test(`${python}: a forked process tells the caller nothing`, async (t) => {
        const app = await startPython(
            t,
            `${GATE}
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

forking = multiprocessing.get_context("fork")

def tell(value):
    for _ in range(100):
        progress(value)
    return "told"

def forks():
    progress("parent")
    pid = os.fork()
    if pid == 0:
        tell("child")
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

async def forks_async():
    return forks()

def process():
    progress("parent")
    child = forking.Process(target=tell, args=("child",))
    child.start()
    child.join()
    return child.exitcode

def pool():
    progress("parent")
    with ProcessPoolExecutor(1, mp_context=forking) as executor:
        return executor.submit(tell, "child").result()

def streams():
    progress("parent")
    pid = os.fork()
    if pid == 0:
        tell("child")
        os._exit(7)
    yield os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
`,
            { python },
        );
        for (const [name, result] of [
            ['forks', 7],
            ['forks_async', 7],
            ['process', 0],
            ['pool', 'told'],
            ['streams', [7]],
        ]) {
            const told = await Told.call(t, app, name);
            const { told: values, response } = await told.rest();
            assert.deepEqual(JSON.parse(response.text), result, name);
            assert.deepEqual(values, ['parent'], name);
            told.close();
        }
    });
}
