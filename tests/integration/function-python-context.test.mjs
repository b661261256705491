// What a Python function learns about its call, and what it says: context(), print() and logging in the log.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { startPython } from './lib/python.mjs';
import { until } from './lib/until.mjs';

const ID = '0193e000-0000-7000-8000-000000000001';
const OTHER = '0193e000-0000-7000-8000-000000000002';
const as = (id) => ({ headers: { 'X-Request-Id': id } });

/** The messages of the log lines that carry this run's id. */
const said = (app, id) => app.log.filter((line) => line.run_id === id).map((line) => line.msg);

test('context() tells the run in functions, coroutines and generators of either kind', async (t) => {
    const app = await startPython(
        t,
        `
import asyncio
from hookline_runtime import context

def tell():
    c = context()
    return [c.run_id, c.attempt, c.deadline, c.headers["X-Thing"], c.headers.get("x-none"), "X-THING" in c.headers]

tell.__module__ = "elsewhere"

def run():
    return tell()

async def later():
    await asyncio.sleep(0)
    return await asyncio.create_task(inner())

async def inner():
    return tell()

inner.__module__ = "elsewhere"

def words():
    yield tell()

async def letters():
    await asyncio.sleep(0)
    yield tell()
`,
    );
    const headers = {
        'X-Request-Id': ID,
        'X-Run-Attempt': '2',
        'X-Run-Deadline': '1795253391',
        'x-thing': 'thing',
    };
    const expected = [ID, 2, 1795253391, 'thing', null, true];
    for (const name of ['run', 'later']) {
        assert.deepEqual((await app.call(name, {}, { headers })).json(), expected, name);
    }
    for (const name of ['words', 'letters']) {
        assert.deepEqual((await app.call(name, {}, { headers })).json(), [expected], name);
    }
    const bare = (await app.call('run', {}, { headers: { 'X-Thing': '' } })).json();
    assert.match(bare[0], /^[0-9a-f]{8}-[0-9a-f-]{27}$/, 'a call without an id gets one');
    assert.deepEqual(bare.slice(1, 3), [1, null]);
});

test('calls side by side have contexts of their own, and leave nothing behind', async (t) => {
    const app = await startPython(
        t,
        `
import asyncio, contextvars, threading, time
from hookline_runtime import context

mine = contextvars.ContextVar("mine", default=None)
outside = []

def thread():
    here = context()
    outside.append([here.run_id, here.attempt, here.deadline, here.is_cancelled, len(here.headers)])

def run():
    before = mine.get()
    mine.set(context().run_id)
    time.sleep(0.005)
    return [before, mine.get(), context().run_id]

async def later():
    before = mine.get()
    mine.set(context().run_id)
    await asyncio.sleep(0.005)
    return [before, mine.get(), context().run_id]

def threads():
    t = threading.Thread(target=thread)
    t.start()
    t.join()
    return outside

thread()
`,
        { env: { HOOKLINE_FUNCTION_CONCURRENCY: '4' } },
    );
    const calls = Array.from({ length: 40 }, async (_, i) => {
        const id = `0193e000-0000-7000-8000-${`${i}`.padStart(12, '0')}`;
        const answer = await app.call(i % 2 ? 'run' : 'later', {}, as(id));
        assert.deepEqual(answer.json(), [null, id, id]);
    });
    await Promise.all(calls);
    const outside = (await app.call('threads', {})).json();
    const none = ['no run', 1, null, false, 0];
    assert.deepEqual(outside, [none, none]);
});

test('print() and logging become log lines with the run’s id', async (t) => {
    const app = await startPython(
        t,
        `
import asyncio, logging, sys, warnings

log = logging.getLogger("model")
print("while importing")

def run():
    print("printed", 1, end="")
    print(" on one line")
    print("two\\nlines")
    print("to stderr", file=sys.stderr)
    sys.stdout.buffer.write(b"bytes \\xff\\n")
    log.info("info %d", 7)
    log.warning("warned")
    log.debug("not shown")
    try:
        1 / 0
    except ZeroDivisionError:
        log.exception("caught")
    print("\\x1b[31mred \\u2028 \\x9b", '{"forged": 1}')
    print("without an end", end="")

async def later():
    await asyncio.sleep(0)
    print("from a coroutine")
    log.error("failed")

def words():
    print("from a generator")
    yield 1

def warned():
    warnings.warn("careful")
`,
    );
    await app.call('run', {}, as(ID));
    await app.call('later', {}, as(OTHER));
    await until('all is logged', () => said(app, OTHER).length === 2);
    assert.deepEqual(said(app, ID), [
        'printed 1 on one line',
        'two',
        'lines',
        'to stderr',
        'bytes \ufffd',
        'info 7',
        'warned',
        'caught',
        '\x1b[31mred \u2028 \x9b {"forged": 1}',
        'without an end',
    ]);
    assert.deepEqual(said(app, OTHER), ['from a coroutine', 'failed']);
    const line = (msg) => app.log.find((entry) => entry.msg === msg);
    assert.equal(line('while importing').run_id, undefined);
    assert.equal(line('to stderr').stream, 'stderr');
    assert.equal(line('warned').level, 'warn');
    assert.equal(line('warned').logger, 'model');
    assert.equal(line('failed').level, 'error');
    assert.match(line('caught').traceback, /ZeroDivisionError/);
    assert.match(line('printed 1 on one line').time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.doesNotMatch(app.stderr, /[\x1b\x9b\u2028]/, 'controls are escaped');

    await app.call('words', {}, as('0193e000-0000-7000-8000-000000000003'));
    assert.equal((await app.logged(/from a generator/)).run_id.slice(-1), '3');
    await app.call('warned', {});
    assert.match((await app.logged(/careful/)).logger, /warnings/);
});

test('lines of calls side by side are never mixed', async (t) => {
    const app = await startPython(
        t,
        `
def run(word):
    for _ in range(50):
        print(word, end="")
        print(word * 200, end="")
        print()
`,
        { env: { HOOKLINE_FUNCTION_CONCURRENCY: '4' } },
    );
    const words = ['a', 'b', 'c', 'd'];
    await Promise.all(
        words.map((word, i) => app.call('run', { word }, as(`0193e000-0000-7000-8000-00000000000${i}`))),
    );
    const lines = (i) => said(app, `0193e000-0000-7000-8000-00000000000${i}`);
    for (const [i, word] of words.entries()) {
        await until('all lines', () => lines(i).length === 50);
        for (const line of lines(i)) assert.equal(line, word.repeat(201));
    }
});

test('an exception in a thread of the app’s own is one log line', async (t) => {
    const app = await startPython(
        t,
        `
import asyncio, threading

def boom():
    raise ValueError("in a thread")

boom.__module__ = "elsewhere"

def run():
    thread = threading.Thread(target=boom, name="mine")
    thread.start()
    thread.join()

async def later():
    async def failing():
        raise ValueError("in a task")
    task = asyncio.create_task(failing())
    await asyncio.wait([task])
    del task
`,
    );
    await app.call('run', {});
    const line = await app.logged(/an exception ended a thread/);
    assert.equal(line.thread, 'mine');
    assert.match(line.traceback, /ValueError: in a thread/);
    await app.call('later', {});
    const task = await app.logged(/Task exception was never retrieved/);
    assert.match(task.traceback, /in a task/);
});

test('the log is text for people with HOOKLINE_LOG_FORMAT=text, and but for what is printed as quiet as HOOKLINE_LOG_LEVEL says', async (t) => {
    const source = `
import logging

def run():
    print("printed")
    logging.warning("warned \\x1b[31m")
    raise ValueError("no\\x1b[31m")
`;
    const text = await startPython(t, source, { env: { HOOKLINE_LOG_FORMAT: 'text' } });
    text.check = () => {};
    await text.call('run', {}, as(ID));
    await until('the traceback', () => /ValueError: no\\u001b/.test(text.stderr));
    assert.match(text.stderr, new RegExp(`^\\S+Z INFO printed stream=stdout run_id=${ID}$`, 'm'));
    assert.match(text.stderr, /^\S+Z WARN warned \\u001b\[31m logger=root run_id=/m);
    assert.match(text.stderr, /^\S+Z ERROR run\(\) raised ValueError .*\nTraceback .*\n {2}File /m);
    assert.doesNotMatch(text.stderr, /\x1b/);

    const quiet = await startPython(t, source, { env: { HOOKLINE_LOG_LEVEL: 'error' } });
    await quiet.call('run', {});
    await quiet.logged(/raised/);
    const others = quiet.log.filter((line) => line.stream !== 'stdout');
    assert.ok(others.every((line) => line.level === 'error'));
    assert.deepEqual(quiet.log.filter((line) => line.stream === 'stdout').map((line) => line.msg), ['printed']);
});
