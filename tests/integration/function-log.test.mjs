// The log of a function host that runs by itself: nothing waits for whoever reads its standard error.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { clog } from './lib/clogged.mjs';
import { FUNCTION_BINARY, compileText } from './lib/function.mjs';
import { NODE_HOST } from './lib/hosts.mjs';
import { DEBIAN, PACKAGE, get, runPython, coreSettings, startPython } from './lib/python.mjs';
import { freePort, temporaryDirectory } from './lib/sidecar.mjs';
import { caller } from './lib/stage.mjs';
import { until, within } from './lib/until.mjs';

// says: `lines` lines of `length` bytes. forks: a child says 20 lines, and one more when the gate is open.
const IN_C = `
#include <hookline/function.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(struct hl_fn_call *call, int lines, int length)
{
    char text[2048];
    memset(text, 'y', sizeof(text));
    for (int i = 0; i < lines; i++)
        hl_fn_log(call, HL_FN_INFO, "%.*s", length, text);
}

static int says(struct hl_fn_call *call)
{
    say(call, (int)hl_fn_get_integer(call, "lines", 1), (int)hl_fn_get_integer(call, "length", 500));
    return 0;
}

static int forks(struct hl_fn_call *call)
{
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        say(call, 20, 500);
        fclose(fopen("said", "w"));
        while (access("gate", F_OK) != 0)
            usleep(10000);
        hl_fn_log(call, HL_FN_INFO, "again");
        return 0;
    }
    waitpid(pid, &status, 0);
    hl_fn_put_integer(call, status);
    return hl_fn_result(call);
}

static int setup(const struct hl_fn_host *host)
{
    (void)host;
    return getenv("FAILS") ? 7 : 0;
}

static const struct hl_fn_function functions[] = {
    {.name = "says", .run = says}, {.name = "forks", .run = forks}, {0}};

HL_FN_MODULE(functions, setup, NULL);
`;

const IN_PYTHON = `
import os, time

def says(lines=1, length=500):
    for _ in range(lines):
        print("y" * length)

def forks():
    pid = os.fork()
    if pid == 0:
        says(20)
        open("said", "w").close()
        while not os.path.exists("gate"):
            time.sleep(0.01)
        print("again")
        return
    return os.waitpid(pid, 0)[1]

def setup():
    if "FAILS" in os.environ:
        raise ValueError("it returned 7")
`;

const IN_JAVASCRIPT = `
export function says({ lines = 1, length = 500 }) {
    for (let i = 0; i < lines; i++) console.log('y'.repeat(length));
}

export function setup() {
    if (process.env.FAILS) throw new Error('it returned 7');
}
`;

const hosts = {
    async C(t) {
        return { command: [FUNCTION_BINARY, await compileText(t, IN_C)], env: { ASAN_OPTIONS: 'exitcode=99' } };
    },
    async Python(t) {
        const file = join(await temporaryDirectory(t), 'main.py');
        await writeFile(file, IN_PYTHON);
        const command = [DEBIAN, '-m', 'hookline_runtime', file];
        return { command, env: { PYTHONPATH: PACKAGE, PYTHONDONTWRITEBYTECODE: '1', ...coreSettings() } };
    },
    async Node(t) {
        const file = join(await temporaryDirectory(t), 'main.mjs');
        await writeFile(file, IN_JAVASCRIPT);
        return { command: [process.execPath, NODE_HOST, file], env: {} };
    },
};

/** A host whose stderr is a full pipe; `call`, `directory`, `read()` as of clog, `ended`. */
async function spawnClogged(t, host, settings = {}) {
    const { path, read } = await clog(t);
    const { command, env } = await host(t);
    const port = await freePort();
    const directory = await temporaryDirectory(t);
    const child = spawn('/bin/sh', ['-c', `exec "$0" "$@" 2>"${path}"`, ...command], {
        cwd: directory,
        env: { PATH: process.env.PATH, PORT: `${port}`, HOOKLINE_LOG_FORMAT: 'json', ...env, ...settings },
        stdio: 'ignore',
    });
    const ended = once(child, 'close');
    atEnd(t, () => {
        child.kill('SIGKILL');
        return ended;
    });
    const url = `http://127.0.0.1:${port}`;
    const plain = caller(t, { port, url });
    const fields = { 'Content-Type': 'application/json' };
    const call = (name, members = {}) =>
        within(`an answer of ${name}`, plain(`/${name}`, { headers: fields, body: JSON.stringify(members) }));
    const isServing = async () => (await get(`${url}/healthz`)) === 200;
    return { child, path, read, directory, call, isServing, ended };
}

async function startClogged(t, host, settings) {
    const app = await spawnClogged(t, host, settings);
    await until('it is ready', app.isServing);
    return app;
}

for (const [kind, host] of Object.entries(hosts)) {
    test(`${kind}: a log that nobody reads holds up neither calls nor the end`, async (t) => {
        const app = await startClogged(t, host, { HOOKLINE_LOG_LEVEL: 'debug' });
        for (let i = 0; i < 5; i++) assert.equal((await app.call('says', { lines: 10 })).status, 200);
        assert.equal((await app.call('says', { lines: 3000, length: 1000 })).status, 200, 'more than is kept');
        assert.equal((await app.call('says')).status, 200);
        assert.ok(await app.isServing());
        app.child.kill('SIGTERM');
        assert.deepEqual(await within('the end', app.ended), [0, null]);
    });

    test(`${kind}: lines for which there is no room are counted, and said once there is`, async (t) => {
        const app = await startClogged(t, host);
        await app.call('says', { lines: 3000, length: 1000 });
        const { log, noise } = app.read();
        const said = await until('it is said', () => log.find((l) => /lines were dropped/.test(l.msg)));
        assert.equal(said.level, 'warn');
        assert.equal(log.filter((l) => /^y+$/.test(l.msg)).length + said.lines, 3000);
        await app.call('says', { length: 7 });
        await until('the next line is logged', () => log.some((l) => l.msg === 'yyyyyyy'));
        app.child.kill('SIGTERM');
        assert.deepEqual(await within('the end', app.ended), [0, null]);
        await until('the last line is there', () => log.some((l) => l.msg === 'stopped'));
        assert.deepEqual(noise, []);
    });

    test(`${kind}: why it does not start is in a log that is read late`, async (t) => {
        const { child, path, read, ended } = await spawnClogged(t, host, { FAILS: 'yes' });
        const holds = () => readlink(`/proc/${child.pid}/fd/2`).catch(() => null);
        await until('it has the full pipe', async () => (await holds()) === path);
        const output = read();
        assert.deepEqual(await within('the end', ended), [1, null]);
        await until('the error is there', () => /returned 7/.test(output.text));
    });

    if (kind === 'Node') continue; // which forks nothing
    test(`${kind}: a forked process waits for no reader of the log either`, async (t) => {
        const app = await startClogged(t, host);
        const forks = app.call('forks');
        forks.catch(() => {});
        await until('the child has said much', () => existsSync(join(app.directory, 'said')));
        const { log } = app.read();
        await until('there is room again', () => log.some((l) => l.msg === 'listening'));
        await writeFile(join(app.directory, 'gate'), '');
        assert.equal((await forks).json(), 0);
        await until('its last line is there', () => log.some((l) => l.msg === 'again'));
        assert.equal(log.find((l) => /lines were dropped/.test(l.msg)).lines, 20);
    });
}

test('processes that are forked while others log say what they have to say', async (t) => {
    const app = await startPython(
        t,
        `
import os, threading

ended = threading.Event()

def chatters():
    while not ended.is_set():
        print("chatter")

def forks():
    statuses = []
    for i in range(40):
        pid = os.fork()
        if pid == 0:
            print("child", i)
            return
        statuses.append(os.waitpid(pid, 0)[1])
    ended.set()
    return statuses
`,
        { env: { HOOKLINE_FUNCTION_CONCURRENCY: '2' } },
    );
    const chatter = app.call('chatters', {});
    const numbers = Array.from({ length: 40 }, (_, i) => i);
    assert.deepEqual((await within('the children end', app.call('forks', {}))).json(), numbers.fill(0));
    await chatter;
    const said = () => app.log.filter(({ msg }) => /^child \d+$/.test(msg));
    await until('all have said it', () => said().length === 40);
});

test('long lines come whole, and longer texts cut off', async (t) => {
    const app = await startPython(
        t,
        `
import logging

def run():
    print("p" * 60_000)
    print("\\x01" * 60_000)
    logging.warning("w" * 3_000_000)
    raise ValueError("e" * 3_000_000)
`,
    );
    await app.call('run', {});
    const raised = await app.logged(/run\(\) raised/);
    assert.match(raised.traceback, /in run/);
    assert.match(raised.error, /^ValueError: e+…$/);
    const [printed, controls, warned] = ['p', '\x01', 'w'].map((c) => app.log.find(({ msg }) => msg[0] === c).msg);
    assert.deepEqual([printed.length, controls.length], [60_000, 60_000]);
    assert.match(warned, /^w{60000,}…$/);
});

test('what a function printed before it crashed is in the log', async (t) => {
    const source = `
import os, signal

print("as the last")
os.kill(os.getpid(), signal.SIGABRT)
`;
    for (let i = 0; i < 10; i++) {
        const { signal, stderr } = await runPython(t, source);
        assert.equal(signal, 'SIGABRT');
        assert.match(stderr, /as the last/);
        assert.match(stderr, /Fatal Python error: Aborted/);
    }
});
