// Which header fields the app and the caller get: theirs byte for byte, minus hop-by-hop ones and spoofed ones, plus ours.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, UUID_V7, shared, stage } from './lib/stage.mjs';
import { request } from './lib/raw.mjs';

/** One synchronous call with these fields; what the app saw. */
async function seenByApp(context, fields, path = RUN) {
    const client = await context.connect();
    await client.send(request('POST', path, fields, '{}'));
    assert.equal((await client.response()).status, 200);
    return context.app.requests.at(-1);
}

test('end-to-end fields go on in order and byte for byte, repeated ones too', async (t) => {
    const context = await shared(t);
    const seen = await seenByApp(context, {
        'X-First': ['1', '2'],
        'x-mixedCase': 'a  b\tc',
        'X-Latin': 'caf\xe9 \xff',
        'X-Empty': '',
        Cookie: 'a=b; c=d',
        'Content-Type': 'application/json',
        'X-Quote': '"quoted, \\" string"',
    });
    const names = /^(x-first|x-mixedcase|x-latin|x-empty|cookie|content-type|x-quote)$/i;
    assert.deepEqual(
        seen.head.fields.filter(([name]) => names.test(name)),
        [
            ['X-First', '1'],
            ['X-First', '2'],
            ['x-mixedCase', 'a  b\tc'],
            ['X-Latin', 'caf\xe9 \xff'],
            ['X-Empty', ''],
            ['Cookie', 'a=b; c=d'],
            ['Content-Type', 'application/json'],
            ['X-Quote', '"quoted, \\" string"'],
        ],
    );
});

test('hop-by-hop fields and those that Connection names stay here, both ways', async (t) => {
    const context = await shared(t, {
        app: (x) =>
            x.send(
                200,
                {
                    Connection: 'keep-alive, X-App-Hop',
                    'X-App-Hop': '1',
                    'Keep-Alive': 'timeout=9',
                    'Proxy-Authenticate': 'Basic',
                    'X-Kept': '1',
                    Upgrade: 'h2c',
                },
                'ok',
            ),
    });
    const client = await context.connect();
    await client.send(
        request(
            'POST',
            RUN,
            {
                Connection: 'keep-alive, X-Hop, Content-Type, close-not',
                'X-Hop': 'secret',
                'Keep-Alive': 'timeout=5',
                'Proxy-Authorization': 'Basic eDp5',
                'Proxy-Connection': 'keep-alive',
                TE: 'gzip, trailers',
                'X-Stays': '1',
                'HTTP2-Settings': 'AAMAAABkAAQAAP__',
                'Content-Type': 'text/plain',
            },
            '{}',
        ),
    );
    const response = await client.response();
    const seen = context.app.requests[0];
    for (const name of [
        'x-hop',
        'keep-alive',
        'proxy-authorization',
        'proxy-connection',
        'http2-settings',
        'upgrade',
        'content-type',
    ]) {
        assert.equal(seen.head.has(name), false, name);
    }
    assert.equal(seen.get('x-stays'), '1');
    assert.doesNotMatch(seen.get('te') ?? '', /gzip/);
    assert.doesNotMatch(seen.get('connection') ?? '', /x-hop|content-type/i);
    for (const name of ['x-app-hop', 'keep-alive', 'proxy-authenticate', 'upgrade']) {
        assert.equal(response.has(name), false, name);
    }
    assert.equal(response.get('x-kept'), '1');
});

test('Connection cannot take away what the next hop needs', async (t) => {
    const context = await shared(t);
    const seen = await seenByApp(context, {
        Connection: 'host, content-length, x-request-id, x-forwarded-for, traceparent',
    });
    assert.equal(seen.bytes.toString(), '{}');
    for (const name of ['host', 'x-request-id', 'x-forwarded-for', 'traceparent']) {
        assert.ok(seen.get(name), name);
    }
});

test('X-Request-Id is a version 7 UUID of ours, the same for app and caller, new for each call', async (t) => {
    const { app, call } = await shared(t);
    const responses = [];
    for (let i = 0; i < 5; i++) {
        responses.push(await call(RUN, { headers: { 'X-Request-Id': 'of-the-caller' } }));
    }
    const ids = responses.map((r) => r.id);
    for (const id of ids) assert.match(id, UUID_V7);
    assert.deepEqual(
        app.requests.map((r) => r.id),
        ids,
    );
    assert.equal(new Set(ids).size, ids.length);
    const times = ids.map((id) => id.slice(0, 13)); // of one millisecond the workers' ids stand in any order
    assert.deepEqual([...times].sort(), times, 'ids sort by time');
});

test('an X-Request-Id of the app is replaced', async (t) => {
    const { call } = await shared(t, { app: (x) => x.send(200, { 'X-Request-Id': 'of-the-app' }) });
    assert.match((await call()).id, UUID_V7);
});

test('X-Run-* of a caller and names of ours with underscores never reach the app', async (t) => {
    const context = await shared(t);
    const seen = await seenByApp(context, {
        'X-Run-Attempt': '7',
        'x-run-anything': '1',
        X_Request_Id: 'spoof',
        'X-Request_Id': 'spoof',
        X_Forwarded_For: '1.1.1.1',
        X_Run_Attempt: '3',
        X_Webhook_Secret: 's',
        traceparent_x: 'kept',
        x_unrelated: 'kept',
    });
    for (const [name, value] of seen.head.fields) {
        assert.doesNotMatch(name, /^x[-_](run|webhook|forwarded_)/i);
        assert.notEqual(value, 'spoof', name);
    }
    assert.equal(seen.get('x_unrelated'), 'kept');
    assert.match(seen.id, UUID_V7);
});

test('X-Webhook-Secret never reaches the app; Authorization does with HOOKLINE_AUTH=none', async (t) => {
    const context = await shared(t);
    const fields = { 'X-Webhook-Secret': 'top-secret', Authorization: 'Bearer of-the-app' };
    for (const path of [RUN, '/v4/p/a/other', '/passed']) {
        const seen = await seenByApp(context, fields, path);
        assert.equal(seen.head.has('x-webhook-secret'), false, path);
        assert.equal(seen.get('authorization'), 'Bearer of-the-app');
    }
});

test('X-Forwarded-* and their kin are replaced when the peer is not trusted', async (t) => {
    const context = await shared(t);
    const seen = await seenByApp(context, {
        Host: 'public.example:8443',
        'X-Forwarded-For': '9.9.9.9',
        'X-Forwarded-Proto': 'https',
        'X-Forwarded-Host': 'evil',
        Forwarded: 'for=9.9.9.9',
        'X-Real-IP': '9.9.9.9',
    });
    assert.equal(seen.get('x-forwarded-for'), '127.0.0.1');
    assert.equal(seen.get('x-forwarded-proto'), 'http');
    assert.equal(seen.get('x-forwarded-host'), 'public.example:8443');
    assert.equal(seen.get('host'), 'public.example:8443');
    assert.doesNotMatch(seen.head.raw.toString('latin1'), /9\.9\.9\.9|evil/);
});

test('X-Forwarded-* of a trusted proxy are kept and extended', async (t) => {
    const context = await stage(t, {
        env: { HOOKLINE_TRUSTED_PROXIES: '10.0.0.0/8,127.0.0.1/32' },
    });
    const seen = await seenByApp(context, {
        'X-Forwarded-For': '9.9.9.9',
        'X-Forwarded-Proto': 'https',
        'X-Forwarded-Host': 'public.example',
        Forwarded: 'for=9.9.9.9',
        'X-Real-IP': '9.9.9.9',
    });
    const chain = seen.head.all('x-forwarded-for').join(', ').split(/,\s*/);
    assert.deepEqual(chain, ['9.9.9.9', '127.0.0.1']);
    assert.equal(seen.get('x-forwarded-proto'), 'https');
    assert.equal(seen.get('x-forwarded-host'), 'public.example');
    assert.equal(seen.get('x-real-ip'), '9.9.9.9');
    assert.match(seen.get('forwarded'), /^for=9\.9\.9\.9/);
});

test('a peer outside HOOKLINE_TRUSTED_PROXIES is not trusted', async (t) => {
    const context = await stage(t, { env: { HOOKLINE_TRUSTED_PROXIES: '10.0.0.0/8' } });
    const seen = await seenByApp(context, { 'X-Forwarded-For': '9.9.9.9' });
    assert.equal(seen.get('x-forwarded-for'), '127.0.0.1');
});

test('traceparent is passed on when valid, and made when missing or broken', async (t) => {
    const context = await shared(t);
    const given = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const seen = await seenByApp(context, { traceparent: given, tracestate: 'vendor=1' });
    assert.equal(seen.get('traceparent'), given);
    assert.equal(seen.get('tracestate'), 'vendor=1');
    const pattern = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
    const broken = [
        'junk',
        `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
        given.toUpperCase(),
        'ff' + given.slice(2),
    ];
    for (const traceparent of [[], ...broken]) {
        const made = await seenByApp(context, { traceparent });
        assert.match(made.get('traceparent'), pattern);
        assert.notEqual(made.get('traceparent'), traceparent);
    }
});

test('Accept-Encoding is the caller’s on a plain call, identity with a webhook', async (t) => {
    const context = await shared(t);
    const plain = await seenByApp(context, { 'Accept-Encoding': 'br, gzip' });
    assert.equal(plain.get('accept-encoding'), 'br, gzip');
    const hook = encodeURIComponent(context.receiver.url());
    const kept = await seenByApp(
        context,
        { 'Accept-Encoding': 'br, gzip' },
        `${RUN}?webhookEndpoint=${hook}`,
    );
    assert.equal(kept.get('accept-encoding'), 'identity');
});

test('fields of the app reach the caller in order, Set-Cookie lines apart', async (t) => {
    const { connect } = await shared(t, {
        app: (x) =>
            x.send(
                200,
                {
                    'X-A': '1',
                    'Set-Cookie': ['a=1', 'b=2'],
                    'x-B': 'caf\xe9',
                    Server: 'app/1',
                    Date: 'Thu, 01 Jan 1970 00:00:00 GMT',
                },
                'ok',
            ),
    });
    const client = await connect();
    await client.send(request('POST', RUN, {}, ''));
    const response = await client.response();
    const names = /^(x-a|set-cookie|x-b|server|date)$/i;
    assert.deepEqual(
        response.fields.filter(([name]) => names.test(name)),
        [
            ['X-A', '1'],
            ['Set-Cookie', 'a=1'],
            ['Set-Cookie', 'b=2'],
            ['x-B', 'caf\xe9'],
            ['Server', 'app/1'],
            ['Date', 'Thu, 01 Jan 1970 00:00:00 GMT'],
        ],
    );
});

test('X-Request-Id is on every response, hookline’s own included', async (t) => {
    const { call, connect } = await shared(t);
    for (const path of [
        RUN,
        '/v4/p/a/x',
        '/passed',
        '/v2/projects/none',
        `${RUN}?async=nonsense`,
        `${RUN}?async=true`,
    ]) {
        assert.match((await call(path)).id, UUID_V7, path);
    }
    const client = await connect();
    await client.send('GARBAGE\r\n\r\n');
    assert.match((await client.response()).get('x-request-id'), UUID_V7);
});
