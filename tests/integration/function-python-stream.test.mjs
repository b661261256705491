// Generators of a Python app are event streams: each value is sent as it is yielded, until the caller has gone.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { startPython } from './lib/python.mjs';
import { connect, request } from './lib/raw.mjs';
import { until } from './lib/until.mjs';

const STREAM = { Accept: 'text/event-stream', 'Content-Type': 'application/json' };
const TWO_AT_ONCE = { HOOKLINE_FUNCTION_CONCURRENCY: '2' };

/** A streaming call whose pieces are read one at a time. */
async function openStream(t, app, name, members = {}, headers = STREAM) {
    const client = await connect(t, app);
    await client.send(request('POST', `/${name}`, headers, JSON.stringify(members)));
    const head = await client.responseHead();
    const pieces = client.pieces(head);
    const next = async () => (await pieces.next()).value?.toString();
    return { client, head, next };
}

/** The whole text of a stream. */
async function streamOf(app, name, members = {}) {
    return (await app.call(name, members, { headers: STREAM })).text;
}

test('halves of surrogate pairs are escapes in JSON, U+FFFD in an event, and no failure', async (t) => {
    const app = await startPython(
        t,
        `
TEXTS = ["\\ud800", "a\\udc00b", "\\ud83d\\ude00"]

def returned(i):
    return TEXTS[i]

def run():
    yield from TEXTS

async def later():
    for text in TEXTS:
        yield text
`,
    );
    const texts = ['"\\ud800"', '"a\\udc00b"', '"\\ud83d\\ude00"'];
    for (const [i, text] of texts.entries()) assert.equal((await app.call('returned', { i })).text, text);
    for (const name of ['run', 'later']) {
        assert.equal((await app.call(name, {})).text, `[${texts}]`, `${name}: collected`);
        const events = 'data: \ufffd\n\ndata: a\ufffdb\n\ndata: \u{1f600}\n\n';
        assert.equal(await streamOf(app, name), events, `${name}: as events`);
    }
});

test('values that are too long together are a 500 that names the setting', async (t) => {
    const app = await startPython(t, 'def run():\n    for _ in range(3):\n        yield "x" * 500\n', {
        env: { HOOKLINE_FUNCTION_MAX_BODY: '1KiB' },
    });
    const response = await app.call('run', {});
    assert.equal(response.status, 500);
    assert.match(response.json().detail, /longer than HOOKLINE_FUNCTION_MAX_BODY allows/);
});

test('with Accept: text/event-stream values are events: strings as they are, others as JSON', async (t) => {
    const app = await startPython(
        t,
        `
VALUES = ["plain", "ä \\u2028", {"a": [1]}, 3, None, True, "", "two\\nlines", "cr\\r\\nlf\\rend", '{"json": "text"}']

def run():
    yield from VALUES

async def later():
    for value in VALUES:
        yield value

def iterator():
    return iter(VALUES)

def mapped():
    return map(str.upper, ["a", "b"])

def returned():
    def inner():
        yield "inner"
    return inner()

async def awaited():
    return later()

def status():
    return 200, iter(["a"])

def nothing():
    return iter(())
`,
    );
    const events = [
        'data: plain',
        'data: ä \u2028',
        'data: {"a":[1]}',
        'data: 3',
        'data: null',
        'data: true',
        'data: ',
        'data: two\ndata: lines',
        'data: cr\ndata: lf\ndata: end',
        'data: {"json": "text"}',
    ];
    const whole = events.map((event) => `${event}\n\n`).join('');
    for (const name of ['run', 'later', 'iterator', 'awaited']) {
        const answer = await app.call(name, {}, { headers: STREAM });
        assert.equal(answer.status, 200);
        assert.match(answer.headers['content-type'], /^text\/event-stream/);
        assert.equal(answer.text, whole, name);
        const array = await app.call(name, {});
        assert.equal(array.headers['content-type'], 'application/json');
        assert.deepEqual(array.json().slice(2, 8), [{ a: [1] }, 3, null, true, '', 'two\nlines']);
    }
    assert.equal(await streamOf(app, 'mapped'), 'data: A\n\ndata: B\n\n');
    assert.equal(await streamOf(app, 'returned'), 'data: inner\n\n');
    assert.equal(await streamOf(app, 'status'), 'data: a\n\n');
    assert.equal(await streamOf(app, 'nothing'), '');
    assert.deepEqual((await app.call('nothing', {})).json(), []);
    const mixed = { headers: { Accept: 'application/json;q=0.5, Text/Event-Stream' } };
    assert.match((await app.call('run', {}, mixed)).headers['content-type'], /event-stream/);
});

for (const kind of ['generator', 'async generator']) {
    const gate = kind === 'generator' ? 'opened.wait()' : 'await asyncio.to_thread(opened.wait)';
    const word = kind === 'generator' ? 'def' : 'async def';
    test(`each value of a ${kind} arrives before the next one is made`, async (t) => {
        const app = await startPython(
            t,
            `
import asyncio, threading

gates = [threading.Event() for _ in range(3)]

${word} run():
    for i, opened in enumerate(gates):
        yield f"value {i}"
        ${gate}

def open(i):
    gates[i].set()
`,
            { env: TWO_AT_ONCE },
        );
        const { head, next } = await openStream(t, app, 'run');
        assert.equal(head.status, 200);
        for (let i = 0; i < 3; i++) {
            assert.equal(await next(), `data: value ${i}\n\n`);
            await app.call('open', { i });
        }
        assert.equal(await next(), undefined, 'the stream ends whole');
    });
}

const GENERATORS = {
    'a generator': `
def run(path):
    try:
        while True:
            yield "tick"
            time.sleep(0.01)
    finally:
        Path(path).write_text("closed")
`,
    'an async generator that waits for something': `
async def run(path):
    try:
        yield "tick"
        await asyncio.Event().wait()
    finally:
        Path(path).write_text("closed")
`,
    'an async generator that never waits': `
async def run(path):
    try:
        while True:
            yield "tick" * 100
    finally:
        Path(path).write_text("closed")
`,
    'an async generator that answers its cancellation with values': `
async def run(path):
    try:
        yield "tick"
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
        while True:
            yield "tock"
    finally:
        Path(path).write_text("closed")
`,
};

for (const [what, source] of Object.entries(GENERATORS)) {
    test(`${what} is closed when its caller has gone: its finally runs, and the thread is free`, async (t) => {
        const imports = 'import asyncio, time\nfrom pathlib import Path\n';
        const app = await startPython(t, `${imports}${source}\ndef ping(): return "pong"\n`);
        const path = join(app.directory, 'closed');
        const { client, next } = await openStream(t, app, 'run', { path });
        assert.match(await next(), /tick/);
        client.close();
        await until('its finally has run', () => existsSync(path));
        assert.equal((await app.call('ping', {})).json(), 'pong');
    });
}

test('an async function is cancelled when its caller has gone', async (t) => {
    const app = await startPython(
        t,
        `
import asyncio
from pathlib import Path

async def run(path):
    Path(path + "1").touch()
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        Path(path).write_text("cancelled")
        raise

def ping(): return "pong"
`,
    );
    const path = join(app.directory, 'cancelled');
    const client = await connect(t, app);
    await client.send(request('POST', '/run', STREAM, JSON.stringify({ path })));
    await until('it has begun', () => existsSync(`${path}1`));
    client.close();
    await until('it was cancelled', () => existsSync(path));
    assert.equal(await readFile(path, 'utf8'), 'cancelled');
    assert.equal((await app.call('ping', {})).json(), 'pong');
    assert.ok(!app.log.some((line) => line.level === 'error'), 'that is not an error');
});

test('a function can see that its caller has gone', async (t) => {
    const app = await startPython(
        t,
        `
import time
from pathlib import Path
from hookline_runtime import context

def run(path):
    Path(path + "1").touch()
    while not context().is_cancelled:
        time.sleep(0.01)
    Path(path).touch()

def ping(): return context().is_cancelled
`,
    );
    const path = join(app.directory, 'seen');
    const client = await connect(t, app);
    await client.send(request('POST', '/run', STREAM, JSON.stringify({ path })));
    await until('it has begun', () => existsSync(`${path}1`));
    client.close();
    await until('it has seen it', () => existsSync(path));
    assert.equal((await app.call('ping', {})).json(), false);
});

test('an exception before the first value is a 500; after it an error event, and the stream is cut', async (t) => {
    const app = await startPython(
        t,
        `
def early():
    raise ValueError("early")
    yield

def late():
    yield "one"
    raise ValueError("late")

async def late_async():
    yield "one"
    raise ValueError("late")

def unfit():
    yield "one"
    yield {1j}
`,
    );
    const early = await app.call('early', {}, { headers: STREAM });
    assert.equal(early.status, 500);
    assert.match(early.json().detail, /^ValueError: early$/);
    assert.equal((await app.call('early', {})).status, 500);
    for (const [name, pattern] of [
        ['late', /"detail":"ValueError: late"/],
        ['late_async', /"detail":"ValueError: late"/],
        ['unfit', /not JSON.*complex/],
    ]) {
        const { head, next } = await openStream(t, app, name);
        assert.equal(head.status, 200);
        assert.equal(await next(), 'data: one\n\n');
        const event = await next();
        assert.match(event, /^event: error\ndata: \{.*\}\n\n$/);
        assert.match(event, pattern);
        await assert.rejects(next(), 'no one can take it for whole');
        const array = await app.call(name, {});
        assert.equal(array.status, 500, 'collected values are dropped');
    }
});

test('a caller that reads slowly holds its generator back, and nobody else', async (t) => {
    const app = await startPython(
        t,
        `
made = 0

def run():
    global made
    while True:
        made += 1
        yield "x" * 10_000

async def later():
    global made
    while True:
        made += 1
        yield "x" * 10_000

def count():
    return made

async def ping():
    return "pong"
`,
        { env: { HOOKLINE_FUNCTION_CONCURRENCY: '3' } },
    );
    for (const name of ['run', 'later']) {
        const { client } = await openStream(t, app, name);
        client.socket.pause();
        let before = -1;
        await until('it has stopped making values', async () => {
            const now = (await app.call('count', {})).json();
            const isStill = now === before;
            before = now;
            if (!isStill) await new Promise((resolve) => setTimeout(resolve, 100));
            return isStill;
        });
        assert.ok(before < 5_000, `${before} values of 10 kB were made for a caller that read none`);
        assert.equal((await app.call('ping', {})).json(), 'pong', 'the loop waits for nobody');
        client.close();
    }
});

test('cleaning up may await: a cancelled call is not cut off twice', async (t) => {
    const app = await startPython(
        t,
        `
import asyncio
from pathlib import Path

gone = asyncio.Event()

async def run(path):
    try:
        yield "tick"
        await asyncio.Event().wait()
    finally:
        Path(path + "-begun").touch()
        await gone.wait()
        Path(path).touch()

async def other():
    yield "tick"
    await asyncio.Event().wait()

async def open():
    gone.set()
`,
        { env: { HOOKLINE_FUNCTION_CONCURRENCY: '3' } },
    );
    const path = join(app.directory, 'cleaned');
    const first = await openStream(t, app, 'run', { path });
    await first.next();
    first.client.close();
    await until('its finally has begun', () => existsSync(`${path}-begun`));
    const second = await openStream(t, app, 'other');
    await second.next();
    second.client.close(); // the bell rings again
    await app.call('open', {});
    await until('its finally has run to the end', () => existsSync(path));
});
