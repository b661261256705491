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
from pydantic import BaseModel, validator

def model_that(raises):
    class Model(BaseModel):
        x: int
        @validator("x", allow_reuse=True)
        def check(cls, value):
            raise raises
    return Model

class Speechless(ValueError):
    def __str__(self):
        raise RuntimeError("no words")

Exits, Refuses, Chokes = model_that(SystemExit(4)), model_that(KeyError("x")), model_that(Speechless())

def exits(model: Exits):
    return 1

async def refuses(model: Refuses):
    return 1

def chokes(model: Chokes):
    return 1

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
    const validators = { exits: 'SystemExit: 4', refuses: "KeyError: 'x'", chokes: 'RuntimeError: no words' };
    for (const [name, detail] of Object.entries({ ...failures, ...validators })) {
        const response = await app.call(name, name in validators ? { model: { x: 1 } } : {});
        assert.equal(response.status, 500, name);
        assert.ok(response.json().detail.startsWith(detail), response.text);
        assert.equal((await app.call('fine', {})).text, '"fine"', `an async function after ${name}`);
        assert.equal((await app.call('plain', {})).text, '"plain"', `a plain one after ${name}`);
    }
    const line = await app.logged(/^syntax\(\) raised SyntaxError$/);
    assert.match(line.traceback, /main\.py", line \d+, in syntax/);
});

test('a function that stops the event loop stops nobody: calls inside and later ones have it', async (t) => {
    const app = await startPython(
        t,
        `
import asyncio

async def stops():
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0.01)
    return "went on"

async def waits():
    await asyncio.sleep(0.3)
    return "waited"
`,
        { concurrency: 4 },
    );
    const inside = app.call('waits', {});
    for (let i = 0; i < 3; i++) assert.equal((await app.call('stops', {})).text, '"went on"');
    assert.equal((await inside).text, '"waited"');
    assert.equal((await app.call('waits', {})).text, '"waited"');
    assert.equal((await app.logged(/a function stopped the event loop/)).level, 'warn');
});
