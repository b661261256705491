// In front of real frameworks, started by hookline itself: every way of calling, with each of them.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import WebSocket from 'ws';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { connect, request } from './lib/raw.mjs';
import { Receiver } from './lib/receiver.mjs';
import { freePort, startSidecar } from './lib/sidecar.mjs';
import { RUN, caller } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

const APPS = fileURLToPath(new URL('apps', import.meta.url));
const node = (name) => `${process.execPath} ${APPS}/${name}.mjs`;

/** Debian's Python, whatever else is in the PATH: the frameworks are Debian's packages. */
const PYTHON = 'PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m';

const FRAMEWORKS = [
    { name: 'Express', command: node('express'), hasSockets: true },
    { name: 'Fastify', command: node('fastify'), hasSockets: true },
    { name: 'Hono', command: node('hono'), hasSockets: true },
    {
        name: 'FastAPI (uvicorn)',
        command: `${PYTHON} uvicorn --app-dir ${APPS} --port $PORT fastapi_app:app`,
        hasSockets: true,
    },
    {
        name: 'Flask (gunicorn)',
        command: `${PYTHON} gunicorn --chdir ${APPS} --threads 4 --bind 127.0.0.1:$PORT flask_app:app`,
    },
    {
        name: 'Flask (its own server)',
        command: `${PYTHON} flask --app ${APPS}/flask_app.py run --port $PORT`,
    },
];

const json = (value) => ({
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(value),
});

async function start(t, { command }) {
    const sidecar = await startSidecar(t, {
        env: {
            HOOKLINE_APP_URL: `http://127.0.0.1:${await freePort()}`,
            HOOKLINE_APP_COMMAND: command,
        },
    });
    return { sidecar, call: caller(t, sidecar) };
}

for (const framework of FRAMEWORKS) {
    const { name } = framework;

    test(`${name}: synchronous, small and large, and its errors`, async (t) => {
        const { call } = await start(t, framework);
        for (const prompt of ['hello', 'x'.repeat(3 << 20), 'grüße 🙂']) {
            const { status, id, json: read } = await call(RUN, json({ prompt }));
            assert.equal(status, 200);
            assert.deepEqual(read(), { output: [...prompt].reverse().join(''), run: id });
        }
        assert.equal((await call('/v4/p/a/fail', json({}))).status, 500);
        // uvicorn closes after a handler's exception, without a word: a POST that meets that is 502, a GET goes again.
        assert.equal((await call('/v4/p/a/nowhere', { method: 'GET' })).status, 404);
        assert.equal((await call(RUN, json({ prompt: 'again' }))).status, 200);
    });

    test(`${name}: an event stream, each event when it is yielded`, async (t) => {
        const { sidecar, call } = await start(t, framework);
        const client = await connect(t, sidecar);
        await client.send(request('POST', '/v4/p/a/stream', { Accept: 'text/event-stream' }, ''));
        const head = await client.responseHead();
        assert.equal(head.status, 200);
        assert.match(head.get('content-type'), /^text\/event-stream; ?charset=utf-8$/);
        let text = '';
        for await (const piece of client.pieces(head)) {
            text += piece;
            if (text === 'data: one\n\n')
                assert.equal((await call('/v4/p/a/release')).status, 204);
        }
        assert.equal(text, 'data: one\n\ndata: two\n\ndata: three\n\n');
    });

    test(`${name}: asynchronous with a webhook, and a synchronous call with one`, async (t) => {
        const receiver = await Receiver.start(t);
        const { call } = await start(t, framework);
        const asked = await call(RUN, {
            ...json({ prompt: 'later' }),
            query: { async: 'true', webhookEndpoint: receiver.url('/async') },
        });
        assert.equal(asked.status, 202);
        const envelope = await receiver.envelope('/async');
        assert.equal(envelope.type, 'run.success');
        assert.deepEqual(envelope.response, { output: 'retal', run: asked.id });

        const query = { webhookEndpoint: receiver.url('/sync') };
        const answer = await call(RUN, { ...json({ prompt: 'now' }), query });
        assert.equal(answer.status, 200);
        assert.deepEqual((await receiver.envelope('/sync')).response, answer.json());

        const failing = { async: 'true', webhookEndpoint: receiver.url('/failed') };
        await call('/v4/p/a/fail', { ...json({}), query: failing });
        const failed = await receiver.envelope('/failed');
        assert.deepEqual([failed.type, failed.reason, failed.status_code], ['run.failure', 'app_error', 500]);
    });

    if (framework.hasSockets)
        test(`${name}: a WebSocket`, async (t) => {
            const { sidecar } = await start(t, framework);
            const socket = new WebSocket(`ws://127.0.0.1:${sidecar.port}/v4/p/a/ws`);
            atEnd(t, () => socket.terminate());
            const echoed = [];
            socket.on('message', (message, isBinary) =>
                echoed.push(isBinary ? message.length : message.toString()),
            );
            await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
            socket.send('hello');
            socket.send(Buffer.alloc(200_000, 7));
            await until('both are back', () => echoed.length === 2);
            assert.deepEqual(echoed, ['hello', 200_000]);
            const closed = new Promise((resolve) => socket.once('close', resolve));
            socket.close(1000);
            assert.equal(await closed, 1000);
        });

    test(`${name}: it ends with hookline, by itself`, async (t) => {
        const { sidecar, call } = await start(t, framework);
        assert.equal((await call(RUN, json({ prompt: 'hello' }))).status, 200);
        await sidecar.stop();
        assert.ok(sidecar.log.some((l) => l.msg === 'the app has ended'));
        assert.ok(!sidecar.log.some((l) => /is killed|does not end/.test(l.msg)));
    });
}
