// A Python app behind hookline: synchronous, streaming, asynchronous with a webhook, cancelled.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { DEBIAN, DEBUG, PACKAGE, coreSettings, startPython } from './lib/python.mjs';
import { connect, request } from './lib/raw.mjs';
import { Receiver } from './lib/receiver.mjs';
import { freePort, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { RUN, UUID_V7, caller } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

const SOURCE = `
import asyncio, pathlib, threading, time
from hookline_runtime import context

opened = threading.Event()

def run(prompt: str, n: int = 1):
    print("running", prompt)
    return {"output": prompt * n, "run_id": context().run_id}

def words(prompt):
    try:
        for word in prompt.split():
            yield word
            opened.wait()
    finally:
        pathlib.Path("words-closed").touch()

async def letters(prompt):
    try:
        yield prompt[0]
        await asyncio.sleep(3600)
    finally:
        pathlib.Path("letters-closed").touch()

def open():
    opened.set()

def about():
    c = context()
    return [c.run_id, c.attempt, c.deadline is not None and c.deadline > time.time()]

def boom():
    raise ValueError("no")
`;

async function stagePython(t, python) {
    const app = await startPython(t, SOURCE, { python, env: { HOOKLINE_FUNCTION_CONCURRENCY: '2' } });
    const receiver = await Receiver.start(t);
    const sidecar = await startSidecar(t, { env: { HOOKLINE_APP_URL: app.url } });
    const call = caller(t, sidecar);
    return { app, receiver, sidecar, call };
}

for (const python of [DEBIAN, DEBUG]) {
    test(`${python}: run and the other functions answer through hookline, with its run id`, async (t) => {
        const { app, call } = await stagePython(t, python);
        const answer = await call(RUN, {
            headers: { 'Content-Type': 'application/json' },
            body: '{"prompt": "ab", "n": 2}',
        });
        assert.equal(answer.status, 200);
        assert.match(answer.id, UUID_V7);
        assert.deepEqual(answer.json(), { output: 'abab', run_id: answer.id });
        assert.equal((await app.logged(/running ab/)).run_id, answer.id);
        assert.deepEqual((await call('/v4/p/a/about')).json().slice(1), [1, false]);
        assert.equal((await call('/v4/p/a/none')).status, 404);
        assert.equal((await call('/v4/p/a/boom')).json().detail, 'ValueError: no');
    });

    test(`${python}: an asynchronous run’s value goes to the webhook`, async (t) => {
        const { receiver, call } = await stagePython(t, python);
        const query = { async: 'true', webhookEndpoint: receiver.url() };
        const accepted = await call('/v4/p/a/about', { query });
        assert.equal(accepted.status, 202);
        const envelope = await receiver.envelope();
        assert.equal(envelope.type, 'run.success');
        assert.deepEqual(envelope.response.slice(0, 2), [accepted.id, 1]);
        assert.equal(envelope.response[2], true, 'the run’s deadline lies ahead');

        const failing = { ...query, webhookEndpoint: receiver.url('/failure') };
        await call('/v4/p/a/boom', { query: failing });
        const failure = await receiver.envelope('/failure');
        assert.equal(failure.type, 'run.failure');
        assert.equal(failure.status_code, 500);
        assert.match(JSON.stringify(failure.response), /ValueError: no/);
    });

    test(`${python}: events pass as they are yielded, and a caller’s end ends the generator`, async (t) => {
        const { app, sidecar, call } = await stagePython(t, python);
        const stream = async (name) => {
            const client = await connect(t, sidecar);
            const fields = { Accept: 'text/event-stream', 'Content-Type': 'application/json' };
            await client.send(request('POST', `/v4/p/a/${name}`, fields, '{"prompt": "one two"}'));
            const head = await client.responseHead();
            assert.equal(head.get('content-type'), 'text/event-stream; charset=utf-8');
            const pieces = client.pieces(head);
            return { client, next: async () => (await pieces.next()).value?.toString() };
        };
        const words = await stream('words');
        assert.equal(await words.next(), 'data: one\n\n');
        await call('/v4/p/a/open');
        assert.equal(await words.next(), 'data: two\n\n');
        assert.equal(await words.next(), undefined);

        const letters = await stream('letters');
        assert.equal(await letters.next(), 'data: o\n\n');
        letters.client.close();
        await until('closed', () => existsSync(join(app.directory, 'letters-closed')));
    });
}

/** hookline that starts the app itself, on a main.py that the test writes. */
async function supervised(t, source, url, wait) {
    const directory = await temporaryDirectory(t);
    const path = join(directory, 'main.py');
    await writeFile(path, source);
    const settings = Object.entries(coreSettings()).map(([name, value]) => `${name}=${value} `).join('');
    const sidecar = await startSidecar(t, {
        env: {
            HOOKLINE_APP_URL: url ?? `http://127.0.0.1:${await freePort()}`,
            HOOKLINE_APP_COMMAND: `exec env ${settings}${DEBIAN} -m hookline_runtime ${path}`,
            PYTHONPATH: PACKAGE,
        },
        wait,
    });
    return { sidecar, path, call: caller(t, sidecar) };
}

for (const kind of ['a port', 'a unix socket']) {
    test(`HOOKLINE_APP_COMMAND starts it on ${kind}, and what it prints is in hookline’s log`, async (t) => {
        const isUnix = kind !== 'a port';
        const url = isUnix ? `unix:${join(await temporaryDirectory(t), 'app.sock')}` : undefined;
        const { sidecar, call } = await supervised(t, SOURCE, url);
        const answer = await call(RUN, { body: '{"prompt": "ab"}' });
        assert.equal(answer.json().output, 'ab');
        const line = await until('its output', () =>
            sidecar.log.find((entry) => /running ab/.test(entry.line ?? entry.msg)),
        );
        const { level, msg, stream, run_id } = line;
        assert.deepEqual({ level, msg, stream, run_id }, { level: 'info', msg: 'app', stream: 'stdout', run_id: answer.id });
        assert.equal((await call('/v4/p/a/boom')).status, 500);
        const error = await until('its error', () => sidecar.log.find(({ level: at }) => at === 'error'));
        assert.deepEqual([error.msg, error.stream, error.line], ['app', 'stderr', 'boom() raised ValueError']);
        assert.match(error.traceback, /^Traceback .*\n {2}File ".*main\.py", line \d+, in boom\n/);
        assert.match(error.traceback, /\nValueError: no$/);
    });
}

test('a main.py that fails to import: not ready, started again and again, ready once it is mended', async (t) => {
    const { sidecar, path } = await supervised(t, 'import nothing_of_that_name\n', undefined, 'healthz');
    const failures = () =>
        sidecar.log.filter(
            ({ level, line, traceback }) =>
                level === 'error' && /main\.py failed to import$/.test(line) && /ModuleNotFoundError/.test(traceback),
        );
    await until('it was tried twice', () => failures().length >= 2);
    assert.equal(await sidecar.probe('/_hookline/readyz'), 503);
    await writeFile(path, SOURCE);
    await sidecar.until('readyz');
});
