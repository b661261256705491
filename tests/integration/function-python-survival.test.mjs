// What a Python function does to its own process, and the host goes on serving.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { startPython } from './lib/python.mjs';

test('a function may fork processes, and end them with SIGTERM', async (t) => {
    const app = await startPython(
        t,
        `
import multiprocessing, time

forking = multiprocessing.get_context("fork")

def pool():
    with forking.Pool(2) as workers:
        return workers.map(abs, [-1, -2])

def at_once():
    codes = set()
    for _ in range(50):
        child = forking.Process(target=time.sleep, args=(60,))
        child.start()
        child.terminate()
        child.join(30)
        codes.add(child.exitcode)
    return list(codes)
`,
    );
    assert.equal((await app.call('pool', {})).text, '[1,2]');
    assert.equal((await app.call('at_once', {})).text, '[-15]');
    assert.equal((await app.call('pool', {})).text, '[1,2]', 'the host has not taken the signal for its own');
});

test('sys.exit() in a task, or an exception that cannot be shown, ends one call and not its thread', async (t) => {
    const app = await startPython(
        t,
        `
import asyncio, sys

class Mute(Exception):
    def __str__(self):
        raise SystemExit

async def leave():
    sys.exit(3)

async def gathers():
    await asyncio.gather(asyncio.create_task(leave()))

def returns():
    return leave()

def mute():
    raise Mute

def syntax():
    raise SyntaxError("odd", ("template", 1, 1, 5))

async def fine():
    return "fine"

def plain():
    return "plain"
`,
    );
    const failures = { gathers: 'SystemExit: 3', returns: 'SystemExit: 3', mute: 'main.Mute', syntax: 'SyntaxError: odd' };
    for (const [name, detail] of Object.entries(failures)) {
        const response = await app.call(name, {});
        assert.equal(response.status, 500, name);
        assert.ok(response.json().detail.startsWith(detail), response.text);
        assert.equal((await app.call('fine', {})).text, '"fine"', `an async function after ${name}`);
        assert.equal((await app.call('plain', {})).text, '"plain"', `a plain one after ${name}`);
    }
    const line = await app.logged(/^syntax\(\) raised SyntaxError$/);
    assert.match(line.traceback, /main\.py", line \d+, in syntax/);
});
