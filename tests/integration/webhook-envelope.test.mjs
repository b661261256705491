// What a webhook's body says: the envelope around every kind of response.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from './lib/case.mjs';
import { RUN, UUID_V7, stage } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

const RFC3339 = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/;
const JSON_TYPE = { 'Content-Type': 'application/json' };

const contexts = new WeakMap();

/** Calls an app that answers so; the response to the caller and the delivery. One sidecar serves a whole test. */
async function forward(t, app, { mode = {}, env = {}, method = 'POST', path = RUN } = {}) {
    if (!contexts.has(t)) contexts.set(t, { ...(await stage(t, { env })), count: 0 });
    const context = contexts.get(t);
    const hook = `/hook/${context.count++}`;
    context.app.handler = app;
    const query = { ...mode, webhookEndpoint: context.receiver.url(hook) };
    const response = await context.call(path, {
        method,
        query,
        body: method === 'POST' ? '{}' : undefined,
    });
    const delivery = await context.receiver.delivered(hook);
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(delivery.bytes);
    return { response, delivery, text, envelope: JSON.parse(text) };
}

for (const [name, mode] of [
    ['synchronous', {}],
    ['asynchronous', { async: 'true' }],
]) {
    test(`the envelope of a ${name} call has every member`, async (t) => {
        const before = Date.now();
        const { response, delivery, envelope } = await forward(
            t,
            (x) =>
                x.send(
                    201,
                    {
                        'Content-Type': 'application/json; charset=utf-8',
                        'Content-Encoding': 'identity',
                    },
                    '{"any":"json"}',
                ),
            { mode },
        );
        assert.deepEqual(Object.keys(envelope), [
            'type',
            'run_id',
            'timestamp',
            'project_id',
            'app_name',
            'status',
            'status_code',
            'content_type',
            'content_encoding',
            'encoding',
            'response',
        ]);
        const { timestamp, ...rest } = envelope;
        assert.deepEqual(rest, {
            type: 'run.success',
            run_id: response.id,
            project_id: 'p',
            app_name: 'a',
            status: 'success',
            status_code: 201,
            content_type: 'application/json; charset=utf-8',
            content_encoding: 'identity',
            encoding: 'json',
            response: { any: 'json' },
        });
        assert.match(response.id, UUID_V7);
        assert.match(timestamp, RFC3339);
        assert.ok(Date.parse(timestamp) >= before - 5 && Date.parse(timestamp) <= Date.now());
        assert.equal(delivery.method, 'POST');
        assert.equal(delivery.get('content-type'), 'application/json');
        assert.match(delivery.get('user-agent'), /^hookline\/[0-9]+\.[0-9]+\.[0-9]+/);
        assert.equal(delivery.get('x-request-id'), response.id);
        assert.equal(Number(delivery.get('content-length')), delivery.bytes.length);
    });
}

test('JSON is embedded byte for byte', async (t) => {
    for (const body of [
        '{"a" : 1.0,\n "b":[1e400, "\\u00e4\\ud800"], "a":2 }',
        ' [] ',
        'null',
        '"text"',
        '-0.0e-1',
        'true',
        `{"ä":"${'ö'.repeat(70_000)}"}`,
    ]) {
        const { text, envelope } = await forward(t, (x) => x.send(200, JSON_TYPE, body));
        assert.equal(envelope.encoding, 'json');
        assert.ok(text.includes(`"response":${body}`), 'the bytes as they are');
        assert.deepEqual(envelope.response, JSON.parse(body));
    }
});

test('what is called JSON and is not goes as text', async (t) => {
    for (const body of [
        '{"a":1',
        '{"a":1}}',
        "{'a':1}",
        '{"a":01}',
        '[1,]',
        'NaN',
        '\ufeff{}',
        '{"a":"\t"}',
        'a\u0000\u001f"\\b\u007f\u2028',
    ]) {
        const { envelope } = await forward(t, (x) => x.send(200, JSON_TYPE, body));
        assert.equal(envelope.encoding, 'text', body);
        assert.equal(envelope.response, body);
    }
});

test('JSON nested 512 deep is JSON, 513 and 5,000 deep is text', async (t) => {
    for (const [depth, encoding] of [
        [512, 'json'],
        [513, 'text'],
        [5000, 'text'],
    ]) {
        const body = '['.repeat(depth) + ']'.repeat(depth);
        const { envelope } = await forward(t, (x) => x.send(200, JSON_TYPE, body));
        assert.equal(envelope.encoding, encoding, `${depth} levels`);
        assert.equal(
            encoding === 'json' ? JSON.stringify(envelope.response) : envelope.response,
            body,
        );
    }
});

test('a JSON type is one by its name, suffixes and parameters included', async (t) => {
    for (const [type, encoding] of [
        ['application/json', 'json'],
        ['Application/JSON;charset=utf-8', 'json'],
        ['application/problem+json', 'json'],
        ['text/plain', 'text'],
        ['application/jsonl', 'text'],
        ['text/json-like', 'text'],
    ]) {
        const { envelope } = await forward(t, (x) =>
            x.send(200, { 'Content-Type': type }, '{"a":1}'),
        );
        assert.equal(envelope.encoding, encoding, type);
        assert.equal(envelope.content_type, type);
    }
});

test('text that is UTF-8 goes as a string', async (t) => {
    const body = 'Grüße 👋 "quoted" \\ \n\r\t\b\f \u0001 </script>';
    const { envelope } = await forward(t, (x) =>
        x.send(200, { 'Content-Type': 'text/plain; charset=utf-8' }, body),
    );
    assert.deepEqual([envelope.encoding, envelope.response], ['text', body]);
});

test('a response without a content type is text when it is UTF-8', async (t) => {
    const { envelope } = await forward(t, (x) => x.send(200, {}, 'plain'));
    assert.deepEqual(
        [envelope.encoding, envelope.content_type, envelope.response],
        ['text', null, 'plain'],
    );
});

test('anything else goes as base64', async (t) => {
    for (const body of [
        randomBytes(1000),
        Buffer.from([0xff]),
        Buffer.from('caf\xe9', 'latin1'),
        Buffer.from([0xed, 0xa0, 0x80]),
        Buffer.from([0xc0, 0x80]),
        Buffer.from('cut \xe2\x82', 'latin1'),
    ]) {
        for (const type of ['application/octet-stream', 'application/json']) {
            const { envelope } = await forward(t, (x) =>
                x.send(200, { 'Content-Type': type }, body),
            );
            assert.equal(envelope.encoding, 'base64');
            assert.ok(Buffer.from(envelope.response, 'base64').equals(body));
        }
    }
});

for (const [name, mode] of [
    ['synchronous', {}],
    ['asynchronous', { async: 'true' }],
]) {
    test(`10 MiB of each kind are forwarded whole from a ${name} call`, async (t) => {
        const size = 10 << 20;
        const bodies = {
            json: [JSON_TYPE, Buffer.from(JSON.stringify({ text: 'ä"\\'.repeat(size / 8) }))],
            text: [{ 'Content-Type': 'text/plain' }, Buffer.alloc(size, 'line "one"\n')],
            base64: [{ 'Content-Type': 'application/octet-stream' }, randomBytes(size + 1)],
        };
        const { call, receiver } = await stage(t, {
            app: async (x) => {
                const [fields, body] = bodies[x.path.slice(1)];
                await x.respond(200, { ...fields, 'Transfer-Encoding': 'chunked' });
                for (let at = 0; at < body.length; at += 100_000)
                    await x.chunk(body.subarray(at, at + 100_000));
                await x.lastChunk();
            },
        });
        for (const [kind, [, body]] of Object.entries(bodies)) {
            const response = await call(`/v4/p/a/${kind}`, {
                query: { ...mode, webhookEndpoint: receiver.url(`/${kind}`) },
            });
            if (!mode.async) assert.ok(response.body.equals(body));
            const { bytes } = await receiver.delivered(`/${kind}`);
            const envelope = JSON.parse(bytes);
            assert.equal(envelope.encoding, kind);
            const got =
                kind === 'json'
                    ? Buffer.from(JSON.stringify(envelope.response))
                    : Buffer.from(envelope.response, kind === 'text' ? 'utf8' : 'base64');
            assert.ok(got.equals(body), kind);
        }
    });
}

test('no body is a null response', async (t) => {
    const answers = {
        empty: (x) => x.send(200, { 'Content-Type': 'text/plain' }, ''),
        204: (x) => x.respond(204),
        head: (x) => x.respond(200, { 'Content-Length': 50, 'Content-Type': 'application/json' }),
    };
    const { call, receiver } = await stage(t, { app: (x) => answers[x.path.slice(1)](x) });
    for (const [name, method] of [
        ['204', 'POST'],
        ['head', 'HEAD'],
    ]) {
        await call(`/v4/p/a/${name}`, {
            method,
            query: { webhookEndpoint: receiver.url(`/${name}`) },
        });
        const envelope = await receiver.envelope(`/${name}`);
        assert.deepEqual([envelope.status, envelope.response], ['success', null], name);
    }
    await call('/v4/p/a/empty', { query: { webhookEndpoint: receiver.url('/empty') } });
    const envelope = await receiver.envelope('/empty');
    assert.ok(envelope.response === '' || envelope.response === null, 'an empty body');
});

test('a status from 400 on is a failure with app_error and what the app sent', async (t) => {
    for (const mode of [{}, { async: 'true' }]) {
        for (const [status, state] of [
            [399, 'success'],
            [301, 'success'],
            [400, 'failure'],
            [500, 'failure'],
        ]) {
            const { envelope } = await forward(
                t,
                (x) => x.send(status, JSON_TYPE, '{"error":"why"}'),
                { mode },
            );
            assert.deepEqual(
                [envelope.type, envelope.status, envelope.status_code],
                [`run.${state}`, state, status],
            );
            assert.equal(envelope.reason, state === 'failure' ? 'app_error' : undefined);
            assert.deepEqual(envelope.response, { error: 'why' });
        }
    }
});

test('a compressed response is forwarded as it is and says so', async (t) => {
    const { envelope } = await forward(t, (x) =>
        x.send(
            200,
            { ...JSON_TYPE, 'Content-Encoding': 'br' },
            Buffer.from([0x8b, 0x00, 0x80, 0x7b, 0x7d, 0x03]),
        ),
    );
    assert.deepEqual([envelope.content_encoding, envelope.encoding], ['br', 'base64']);
});

test('hostile content types do not break the envelope', async (t) => {
    for (const type of ['text/"quoted\\', 'text/caf\xe9', `text/${'x'.repeat(1000)}`]) {
        const { envelope } = await forward(t, (x) => x.send(200, { 'Content-Type': type }, 'x'));
        assert.equal(envelope.response, 'x');
    }
});

test('a response over HOOKLINE_MAX_KEPT_RESPONSE reaches the caller, and the webhook says that it is too large', async (t) => {
    const body = Buffer.alloc(300_000, 'x');
    for (const mode of [{}, { async: 'true' }]) {
        const { response, envelope } = await forward(
            t,
            (x) => x.send(200, { 'Content-Type': 'text/plain' }, body),
            {
                mode,
                env: { HOOKLINE_MAX_KEPT_RESPONSE: '256KiB' },
            },
        );
        if (!mode.async) assert.ok(response.body.equals(body));
        assert.deepEqual(
            [envelope.type, envelope.status, envelope.status_code],
            ['run.success', 'success', 200],
        );
        assert.deepEqual(
            [envelope.response, envelope.encoding, envelope.reason],
            [null, 'none', 'response_too_large'],
        );
    }
});

test('a response of exactly HOOKLINE_MAX_KEPT_RESPONSE is forwarded', async (t) => {
    const { envelope } = await forward(t, (x) => x.send(200, {}, 'x'.repeat(1024)), {
        env: { HOOKLINE_MAX_KEPT_RESPONSE: '1KiB' },
    });
    assert.equal(envelope.response, 'x'.repeat(1024));
});

test('the caller’s traceparent goes along', async (t) => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const { app, call, receiver } = await stage(t);
    for (const mode of [{}, { async: 'true' }]) {
        await call(RUN, {
            query: { ...mode, webhookEndpoint: receiver.url(`/${mode.async}`) },
            headers: { traceparent },
        });
        const delivery = await receiver.delivered(`/${mode.async}`);
        assert.equal(delivery.get('traceparent'), traceparent);
    }
    await until('both calls', () => app.requests.length === 2);
});

test('the webhook’s own path and query are kept, a fragment is not sent', async (t) => {
    const { call, receiver } = await stage(t);
    await call(RUN, { query: { webhookEndpoint: receiver.url('/a%2Fb?x=1&y=%20#fragment') } });
    const delivery = await receiver.delivered('/a%2Fb');
    assert.equal(delivery.target, '/a%2Fb?x=1&y=%20');
});

test('another endpoint than run is forwarded as well', async (t) => {
    const { envelope } = await forward(t, (x) => x.send(200, {}, x.target), {
        method: 'GET',
        path: '/v4/proj/my-app/status',
    });
    assert.deepEqual(
        [envelope.project_id, envelope.app_name, envelope.response],
        ['proj', 'my-app', '/status'],
    );
});
