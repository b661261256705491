// Logs: one JSON object a line, everything from outside escaped, run ids on lines about runs, and no secret anywhere.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from './lib/case.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { filesBelow } from './lib/files.mjs';
import { request } from './lib/raw.mjs';
import { gate, until } from './lib/until.mjs';

test('every line is a JSON object with time, level and message', async (t) => {
    const { call, sidecar } = await stage(t);
    await call();
    await sidecar.stop();
    assert.ok(sidecar.log.length > 0);
    for (const line of sidecar.log) {
        assert.match(line.level, /^(debug|info|warn|error)$/);
        assert.equal(typeof line.msg, 'string');
        assert.ok(!Number.isNaN(Date.parse(line.time)), JSON.stringify(line));
    }
});

test('a line about a run carries its run_id', async (t) => {
    const { call, receiver, sidecar } = await stage(t, { app: (x) => x.send(500) });
    receiver.script('/hook', 400);
    const { id } = await call(RUN, { query: { async: 'true', webhookEndpoint: receiver.url() } });
    await until('the dead letter is logged', () =>
        sidecar.log.some((line) => line.run_id === id && isDeadLetter(line)),
    );
});

test('a webhook’s URL appears as scheme and host only', async (t) => {
    const { call, receiver, sidecar } = await stage(t);
    receiver.script('/secret-path', 400);
    await call(RUN, {
        query: { webhookEndpoint: `${receiver.url('/secret-path')}?token=secret-token` },
    });
    await until('the failure is logged', () => sidecar.log.some(isDeadLetter));
    await sidecar.stop();
    assert.doesNotMatch(sidecar.stderr, /secret-path|secret-token/);
});

test('what peers and the app send is escaped', async (t) => {
    const { connect, sidecar, receiver } = await stage(t, {
        app: (x) =>
            x
                .raw(
                    Buffer.from(
                        'HTTP/1.1 200 \x1b[31mred\x07\r\nBad Header\x1b: \r\n\r\n',
                        'latin1',
                    ),
                )
                .then(() => x.end()),
    });
    for (const bytes of [
        request('POST', RUN, { 'User-Agent': 'a\x80b"\\' }, ''),
        'GET /\x1b[2J HTTP/1.1\r\n\r\n',
        '\x1b]0;title\x07\r\n\r\n',
        'GET / HTTP/1.1\r\nX: \x00\n{"level":"forged"}\r\n\r\n',
        request(
            'POST',
            `/v4/p/a/%1b%0a{"level":"forged"}?webhookEndpoint=${encodeURIComponent(receiver.url())}`,
            {},
            '',
        ),
    ]) {
        const client = await connect();
        await client.send(bytes);
        await client.response();
    }
    await sidecar.stop();
    assert.doesNotMatch(sidecar.stderr, /[\x00-\x09\x0b-\x1f\x7f]/);
    assert.ok(sidecar.log.every((line) => line.level !== 'forged'));
});

test('no secret, token, URL or body is in the logs, the metrics, the answers or the store', async (t) => {
    const doors = gate();
    const { app, call, connect, receiver, sidecar } = await stage(t, {
        env: { HOOKLINE_WEBHOOK_SECRET: 'MARKER-operator-secret' },
        app: async (x) => {
            await doors.promise;
            await x.send(400, { 'X-App': 'MARKER-response-field' }, 'an error');
        },
    });
    receiver.script('/MARKER-path', (x) => x.gone);
    const hook = `${receiver.url('/MARKER-path')}?MARKER-query=1`;
    const headers = {
        'x-webhook-secret': 'MARKER-caller-secret',
        authorization: 'Bearer MARKER-token',
        cookie: 'MARKER-cookie=1',
    };
    const answers = [];
    const client = await connect();
    for (const query of [
        `webhookEndpoint=${encodeURIComponent(hook)}&async=MARKER-async`,
        `webhookEndpoint=MARKER-endpoint`,
    ]) {
        await client.send(request('POST', `${RUN}?${query}`, headers, 'MARKER-body'));
        answers.push((await client.response()).text);
    }
    for (const mode of [{ async: 'true' }, {}]) {
        const pending = call(RUN, {
            query: { ...mode, webhookEndpoint: hook },
            headers,
            body: 'x',
        });
        if (mode.async) assert.equal((await pending).status, 202);
        else void pending.catch(() => {});
    }
    await until('both are inside the app', () => app.requests.length === 2);
    doors.open();
    await receiver.delivered('/MARKER-path', 2);
    const { text: metrics } = await sidecar.admin('/metrics');
    await sidecar.kill();
    assert.doesNotMatch(sidecar.stderr, /MARKER/);
    assert.doesNotMatch(metrics, /MARKER/);
    for (const text of answers)
        assert.doesNotMatch(text, /MARKER-(caller|token|cookie|path|query|body)/);
    for (const file of await filesBelow(sidecar.dataDir)) {
        const text = (await readFile(file)).toString('latin1');
        assert.doesNotMatch(text, /MARKER/, file);
    }
    await sidecar.start();
});

const isDeadLetter = (line) => line.level === 'error' && /delivery failed/.test(line.msg);
