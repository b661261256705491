// A process that a Python function forks runs the function's code, and has nothing of the host's.
import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { INTERPRETERS, get, startPython } from './lib/python.mjs';
import { connect } from './lib/raw.mjs';
import { until, within } from './lib/until.mjs';

const LEAVES_BEHIND = `
import asyncio, multiprocessing, os, time

forking = multiprocessing.get_context("fork")
left = []

def stay(is_there):
    is_there.set()
    time.sleep(600)

def leave_behind():
    is_there = forking.Event()
    child = forking.Process(target=stay, args=(is_there,), daemon=True)
    child.start()
    is_there.wait()
    left.append(child)
    return child

def links(pid):
    """The open files of a process that no other has by chance, beside those that every child gets."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            if int(fd) > 2:
                found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:
            pass
    return {link for link in found if link.startswith(("pipe:", "socket:", "anon_inode:"))}
`;

for (const python of INTERPRETERS) {
    test(`${python}: a process that stays behind has none of the host’s descriptors`, async (t) => {
        const app = await startPython(
            t,
            `${LEAVES_BEHIND}
at_start = links(os.getpid())

async def warm():
    return "the event loop runs"

def shared():
    of_host = links(os.getpid()) - at_start  # before multiprocessing makes its pipes
    return sorted(of_host & links(leave_behind().pid))
`,
            { python },
        );
        assert.equal((await app.call('warm', {})).status, 200);
        assert.deepEqual((await app.call('shared', {})).json(), []);
        assert.equal((await app.call('warm', {})).status, 200, 'the event loop has all of its own');
    });

    test(`${python}: a stream that is cut ends, whoever was forked meanwhile`, async (t) => {
        const app = await startPython(
            t,
            `${LEAVES_BEHIND}
def cut():
    yield 1
    leave_behind()
    raise ValueError("in the middle")
`,
            { python },
        );
        for (const version of ['1.1', '1.0']) {
            const client = await connect(t, app);
            const fields = 'Host: a\r\nAccept: text/event-stream\r\nContent-Length: 0\r\n';
            await client.send(`POST /cut HTTP/${version}\r\n${fields}\r\n`);
            const text = await within('the end of the stream', everything(client));
            assert.match(text, /data: 1\n\n/, version);
        }
    });

    test(`${python}: a forked process that comes back to the host ends, and runs no call that waits`, async (t) => {
        const app = await startPython(
            t,
            `
import multiprocessing, os, signal, sys, time
from concurrent.futures import ProcessPoolExecutor

forking = multiprocessing.get_context("fork")

class Odd(Exception):
    def __str__(self):
        raise ValueError

ENDS = {
    "returns": lambda: "a value",
    "returns no JSON": lambda: object(),
    "raises": lambda: 1 / 0,
    "raises oddly": lambda: (_ for _ in ()).throw(Odd()),
    "exits": lambda: sys.exit(),
    "exits with 7": lambda: sys.exit(7),
    "exits with a text": lambda: sys.exit("for a reason"),
}

def status_of(pid):
    end = time.monotonic() + 15
    while time.monotonic() < end:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "lives on"

def wait_for_gate():
    while not os.path.exists("gate"):
        time.sleep(0.01)

def plain(how):
    wait_for_gate()
    pid = os.fork()
    return status_of(pid) if pid else ENDS[how]()

def generator(how):
    try:
        wait_for_gate()
        pid = os.fork()
        yield status_of(pid) if pid else ENDS[how]()
    finally:
        note("the end of the generator")

def awaitable(how):
    async def inner():
        pid = os.fork()
        return status_of(pid) if pid else ENDS[how]()
    wait_for_gate()
    return inner()

async def coroutine(how):
    wait_for_gate()
    pid = os.fork()
    return status_of(pid) if pid else ENDS[how]()

async def async_generator(how):
    wait_for_gate()
    pid = os.fork()
    yield status_of(pid) if pid else ENDS[how]()

async def in_thread(how):
    import asyncio
    return await asyncio.to_thread(plain, how)

async def awaits():
    import asyncio
    wait_for_gate()
    pid = os.fork()
    if pid == 0:
        await asyncio.get_event_loop().create_future()
    return status_of(pid)

def process(how):
    wait_for_gate()
    child = forking.Process(target=ENDS[how])
    child.start()
    child.join()
    return child.exitcode

def end_of(how):
    return ENDS[how]()

def pool(how):
    wait_for_gate()
    with ProcessPoolExecutor(1, mp_context=forking) as executor:
        try:
            return executor.submit(end_of, how).result()
        except BaseException as error:
            return type(error).__name__

def note(text):
    with open("notes", "a") as file:
        file.write(f"{text}\\n")

def waits(text):
    note(text)

async def waits_async(text):
    note(text)
`,
            { python },
        );
        const statuses = {
            returns: 0,
            'returns no JSON': 0,
            raises: 1,
            'raises oddly': 1,
            exits: 0,
            'exits with 7': 7,
            'exits with a text': 1,
        };
        const kinds = ['plain', 'generator', 'awaitable', 'coroutine', 'async_generator', 'in_thread'];
        const cases = kinds.flatMap((kind) =>
            Object.entries(statuses).map(([how, status]) => [kind, { how }, kind.includes('generator') ? [status] : status]),
        );
        cases.push(['awaits', {}, 1], ['process', { how: 'exits with 7' }, 7], ['process', { how: 'raises' }, 1]);
        cases.push(['pool', { how: 'returns' }, 'a value'], ['pool', { how: 'raises' }, 'ZeroDivisionError']);
        const file = (name) => join(app.directory, name);
        for (const [name, members, result] of cases) {
            const what = `${name} ${members.how}`;
            await rm(file('gate'), { force: true });
            await rm(file('notes'), { force: true });
            const forks = app.call(name, members);
            const waiting = ['waits', 'waits_async'].map((other) => app.call(other, { text: other }));
            assert.equal(await get(`${app.url}/healthz`), 200); // the calls wait: health came in behind them
            await writeFile(file('gate'), '');
            assert.deepEqual((await forks).json(), result, what);
            for (const response of await Promise.all(waiting)) assert.equal(response.status, 200, what);
            const notes = (await readFile(file('notes'), 'utf8')).trim().split('\n').sort();
            const ends = name !== 'generator' ? 0 : /^(raises|exits)/.test(members.how) ? 2 : 1; // the child's is its own
            const own = Array(ends).fill('the end of the generator');
            assert.deepEqual(notes, [...own, 'waits', 'waits_async'], what);
        }
        const line = await app.logged(/^plain\(\) ended a process that it forked by ZeroDivisionError$/);
        assert.match(line.traceback, /main\.py", line \d+, in <lambda>/);
    });

    test(`${python}: what setup() or the file itself forks does not serve`, async (t) => {
        const app = await startPython(
            t,
            `
import os, sys

def status_of(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

pid = os.fork()
if pid:
    statuses = [status_of(pid)]

async def setup():
    pid = os.fork()
    if pid == 0:
        sys.exit(3)
    statuses.append(status_of(pid))

def run():
    return statuses
`,
            { python },
        );
        assert.deepEqual((await app.call('run', {})).json(), [0, 3]);
        const isUp = ({ msg }) => msg === 'listening';
        await until('it is said that it listens', () => app.log.some(isUp));
        assert.equal(app.log.filter(isUp).length, 1);
    });
}

/** What comes until the peer ends the connection. */
async function everything(client) {
    let text = '';
    try {
        for (let piece; (piece = await client.reader.some()) !== null; ) text += piece;
    } catch {
        // a reset is an end, too: without chunks nothing else tells that the stream was cut
    }
    return text;
}
