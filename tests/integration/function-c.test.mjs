// Functions in C: hookline-function serves them as the app behind hookline, and alone.
import assert from 'node:assert/strict';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import {
    FUNCTION_BINARY,
    compile,
    compileText,
    inRepository,
    runHost,
    startHost,
} from './lib/function.mjs';
import { connect, request } from './lib/raw.mjs';
import { isSanitized } from './lib/sanitized.mjs';
import { freePort, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { caller } from './lib/stage.mjs';
import { Receiver } from './lib/receiver.mjs';
import { until, within } from './lib/until.mjs';
import { requestGroups } from './http/cases/index.mjs';

const probeSource = inRepository('tests/integration/functions/probe.c');
const EVENTS = { Accept: 'text/event-stream' };
const JSON_FIELDS = { 'Content-Type': 'application/json' };

async function startProbe(t, env = {}, args = []) {
    return startHost(t, [...args, await compile(t, probeSource)], env);
}

/** The host with a sidecar before it and a webhook receiver: `call(path, options)` as in stage.mjs. */
async function behind(t, host, env = {}) {
    const receiver = await Receiver.start(t);
    const sidecar = await startSidecar(t, { env: { HOOKLINE_APP_URL: host.url, ...env } });
    const plain = caller(t, sidecar);
    const call = (name, input, { headers, ...rest } = {}) =>
        plain(`/v4/p/a/${name}`, {
            body: JSON.stringify(input),
            headers: { ...JSON_FIELDS, ...headers },
            ...rest,
        });
    return { call, sidecar, receiver, connect: () => connect(t, sidecar) };
}

const counts = async (host) => (await host.call('counts')).json();

/** The loop answers this itself: afterwards it has seen what others sent or closed before. */
const health = (host) => host.call('healthz', undefined, { method: 'GET' });

/** A caller whose function holds on until the caller closes. */
async function holdOne(t, host) {
    const client = await connect(t, host);
    await client.send(request('POST', '/hold', JSON_FIELDS, '{}'));
    await health(host);
    return client;
}

test('a function sees its parameters and its run through hookline', async (t) => {
    const host = await startProbe(t);
    const { call } = await behind(t, host);
    const response = await call('run', { text: 'hé', n: 1 }, { headers: { 'X-Probe': 'seen' } });
    assert.equal(response.status, 200);
    assert.equal(response.headers['content-type'], 'application/json');
    const { run_id: id, ...seen } = response.json();
    assert.equal(id, response.id);
    assert.deepEqual(seen, {
        function: 'run',
        attempt: 1,
        has_deadline: false,
        wants_events: false,
        field: 'seen',
        body: '{"text":"hé","n":1}',
        input: { text: 'hé', n: 1 },
    });
    const line = await until('its log line', () => host.log.find(({ msg }) => msg === 'seen: hé'));
    assert.equal(line.run_id, id);
    assert.equal(line.function, 'run');
});

test('JSON values keep their kind and their value', async (t) => {
    const host = await startProbe(t);
    const input = {
        n: null,
        t: true,
        f: false,
        i: -9007199254740991,
        r: 0.1,
        e: 1e300,
        s: 'a\0b"\\\n\u{1f600}',
        a: [[1], 2],
        o: { x: 1, y: 2 },
    };
    assert.deepEqual((await host.call('kinds', input)).json(), {
        n: ['null'],
        t: ['boolean', true],
        f: ['boolean', false],
        i: ['integer', -9007199254740991],
        r: ['real', 0.1],
        e: ['real', 1e300],
        s: ['string', 'a\0b"\\\n\u{1f600}'],
        a: ['array', 2, [1]],
        o: ['object', 2],
    });
    assert.deepEqual((await host.call('kinds')).json(), {}, 'no body is an empty object');
    const value = '[0.1,1.0,-0.0,1e+22,-7,"\\u0000ä/",{"b":null,"":[true,{}]},[]]';
    const repeated = await host.call('kinds', `{"a":[${value}]}`);
    assert.equal(repeated.text, `{"a":["array",1,${value}]}`, 'what is passed on is written as it came');
});

test('parameters are checked against the table, and 422 names the wrong one', async (t) => {
    const host = await startProbe(t);
    const good = { s: 'x', i: 1, r: 2, b: false, a: [], o: {}, any: null };
    assert.equal((await host.call('typed', good)).status, 200);
    assert.equal((await host.call('typed', { s: 'x', i: null })).status, 200, 'optional: null');
    for (const [input, detail] of [
        [{}, "The parameter 's' of typed is missing."],
        [{ s: null }, "The parameter 's' of typed must be a string, but is null."],
        [{ s: 'x', i: 1.5 }, "The parameter 'i' of typed must be an integer, but is a number."],
        [{ s: 'x', r: '1' }, "The parameter 'r' of typed must be a number, but is a string."],
        [{ s: 'x', b: 1 }, "The parameter 'b' of typed must be a boolean, but is an integer."],
        [{ s: 'x', a: {} }, "The parameter 'a' of typed must be an array, but is an object."],
        [{ s: 'x', more: 1 }, "typed has no parameter 'more'."],
    ]) {
        const response = await host.call('typed', input);
        assert.equal(response.status, 422, response.text);
        assert.equal(response.headers['content-type'], 'application/problem+json');
        assert.equal(response.json().detail, detail);
    }
});

test('what is not a call of a function is refused with what to do', async (t) => {
    const host = await startProbe(t);
    const text = { headers: { 'Content-Type': 'text/plain' } };
    for (const [name, input, options, status, detail] of [
        ['nope', {}, {}, 404, /no function of that name; available are: run, kinds, typed, .*, x\.$/],
        ['run/', {}, {}, 404, /no function/],
        ['_run', {}, {}, 404, /no function/],
        ['run', undefined, { method: 'GET' }, 405, /POST/],
        ['run', '{"a":1', {}, 400, /not JSON: it ends too early, after 6 bytes/],
        ['run', '{"a":1}}', {}, 400, /not JSON: there is an error at byte 8/],
        ['run', `{"a":${'['.repeat(512)}`, {}, 400, /is nested deeper than 512 levels/],
        ['run', `{"a":${'['.repeat(511)}[`, {}, 400, /is nested deeper than 512 levels/],
        ['run', `{"a":${'['.repeat(511)}]]`, {}, 400, /not JSON: it ends too early/],
        ['run', '[1]', {}, 422, /must be a JSON object/],
        ['run', '"x"', {}, 422, /must be a JSON object/],
        ['run', '{"a":123456789012345678901234567890}', {}, 422, /cannot be read: .*integer/],
        ['run', '{"a":1}', text, 415, /application\/json/],
    ]) {
        const response = await host.call(name, input, options);
        assert.equal(response.status, status, `${name} ${input}: ${response.text}`);
        assert.match(response.json().detail, detail);
    }
    assert.equal((await host.call('run', {}, { method: 'PUT' })).headers.allow, 'POST');
});

test('a body over HOOKLINE_FUNCTION_MAX_BODY is 413, and one of that size is taken', async (t) => {
    const host = await startProbe(t, { HOOKLINE_FUNCTION_MAX_BODY: '64KiB' });
    const sized = (n) => `{"s":"${'x'.repeat(n - 8)}"}`;
    assert.equal((await host.call('open', sized(64 * 1024))).status, 200);
    assert.equal((await host.call('open', sized(64 * 1024 + 1))).status, 413);
    const client = await connect(t, host);
    await client.send(request('POST', '/open', { 'Transfer-Encoding': 'chunked' }));
    await client.send(`11000\r\n${'x'.repeat(0x11000)}\r\n`);
    assert.equal((await client.response()).status, 413);
});

test('errors of a function are problems that say what went wrong', async (t) => {
    const host = await startProbe(t);
    const wrong = async (how) => host.call('wrong', { how });
    for (const [how, status, detail] of [
        ['returns', 500, 'The function returned 7.'],
        ['teapot', 418, 'short and "stout"\n?'],
        ['status', 500, "not a failure's status"],
        ['not json', 500, "The function's value was refused: it is not one JSON value."],
        ['deep', 500, "The function's value was refused: it is nested deeper than 512 levels."],
        ['not utf-8', 500, "The function's value was refused: a string in it is not UTF-8."],
        [
            'order',
            500,
            "The function's value was refused: its pieces are out of order, such as a member without a key or an " +
                'unmatched bracket.',
        ],
        ['type', 500, "The function's value was refused: its content type is not valid."],
        ['after', 503, 'it was not done'],
    ]) {
        const response = await wrong(how);
        assert.equal(response.status, status, how);
        assert.equal(response.json().detail, detail);
        assert.equal(response.json().run_id, response.headers['x-request-id']);
    }
    assert.equal((await wrong('twice')).text, '"first"');
    assert.equal((await wrong('nan')).text, 'null');
    assert.equal((await wrong('nothing')).text, 'null', 'a function without a result');
    await until('its log line', () => host.log.some(({ msg, why }) => /refused/.test(msg) && /one JSON value/.test(why)));
});

test('values that are too long are refused with the name of the setting', async (t) => {
    const host = await startProbe(t, { HOOKLINE_FUNCTION_MAX_BODY: '1KiB' });
    const long = `[${Array(200).fill('1e9')}]`; // written out it is 1000000000.0
    const one = await host.call('stream', `{"values":[${long}]}`);
    assert.match(one.json().detail, /refused: it is longer than HOOKLINE_FUNCTION_MAX_BODY allows/);
    const half = long.slice(0, 200).replace(/,[^,]*$/, ']');
    const together = await host.call('stream', `{"values":[${half},${half},${half}]}`);
    assert.match(together.json().detail, /longer than HOOKLINE_FUNCTION_MAX_BODY allows/);
});

test('bytes go out as they are, with their type and status', async (t) => {
    const host = await startProbe(t, { HOOKLINE_FUNCTION_ENVELOPE: 'on' });
    const response = await host.call('bytes', { status: 203 });
    assert.equal(response.status, 203);
    assert.equal(response.headers['content-type'], 'image/png');
    assert.deepEqual(response.body, Buffer.from('\x89PNG\0\r\n', 'latin1'));
    const forged = await host.call('bytes', { type: 'a\r\nX-Forged: 1' });
    assert.equal(forged.status, 500);
    assert.equal(forged.headers['x-forged'], undefined);
});

test('HOOKLINE_FUNCTION_ENVELOPE wraps values, and neither errors nor streams', async (t) => {
    const host = await startProbe(t, { HOOKLINE_FUNCTION_ENVELOPE: 'on' });
    const response = await host.call('stream', { values: ['a', 1] });
    const { run_id: id, run_time_ms: ms, result } = response.json();
    assert.equal(id, response.headers['x-request-id']);
    assert.ok(Number.isInteger(ms) && ms >= 0);
    assert.deepEqual(result, ['a', 1]);
    assert.equal((await host.call('nope', {})).json().status, 404);
    const events = await host.call('stream', { values: [1] }, { headers: EVENTS });
    assert.equal(events.text, 'data: 1\n\n');
});

test('emitted values are events, or one array for who asks for no stream', async (t) => {
    const host = await startProbe(t);
    const { call } = await behind(t, host);
    const values = ['plain', 'two\nlines\r\nthree\r', '', 1, { a: [true, null] }, 'ü'];
    const events = await call('stream', { values }, { headers: EVENTS });
    assert.equal(events.headers['content-type'], 'text/event-stream; charset=utf-8');
    assert.equal(events.headers['cache-control'], 'no-cache');
    assert.equal(
        events.text,
        'data: plain\n\ndata: two\ndata: lines\ndata: three\ndata: \n\ndata: \n\n' +
            'data: 1\n\ndata: {"a":[true,null]}\n\ndata: ü\n\n',
    );
    assert.deepEqual((await call('stream', { values })).json(), values);
    assert.deepEqual((await call('stream', { values: [] })).json(), []);
    assert.equal((await call('stream', { values: [] }, { headers: EVENTS })).text, '');
});

test('each value leaves the moment it is emitted, through hookline too', async (t) => {
    const host = await startProbe(t, { HOOKLINE_FUNCTION_CONCURRENCY: '2' });
    const { connect: open } = await behind(t, host);
    const client = await open();
    await client.send(request('POST', '/v4/p/a/gated', { ...EVENTS, ...JSON_FIELDS }, '{"n":5}'));
    let pieces;
    for (let i = 0; i < 5; i++) {
        await host.call('open');
        pieces ??= client.pieces(await client.responseHead());
        assert.equal((await pieces.next()).value.toString(), `data: ${i}\n\n`);
    }
    assert.equal((await pieces.next()).done, true);
});

test('a failure after the first value cuts the stream off behind an error event', async (t) => {
    const host = await startProbe(t);
    const { call, receiver } = await behind(t, host);
    const before = await call('stream', { values: [], fails: true }, { headers: EVENTS });
    assert.equal(before.status, 500, 'nothing was sent yet');
    assert.equal((await call('stream', { values: [1], fails: true })).status, 500, 'an array');

    const client = await connect(t, host);
    const input = '{"values":[1,2],"fails":true}';
    await client.send(request('POST', '/stream', { ...EVENTS, ...JSON_FIELDS }, input));
    const pieces = client.pieces(await client.responseHead());
    let text = '';
    await assert.rejects(async () => {
        for await (const piece of pieces) text += piece;
    });
    const [, problem] = text.match(/^data: 1\n\ndata: 2\n\nevent: error\ndata: (.*)\n\n$/);
    assert.equal(JSON.parse(problem).detail, 'broke after 2');

    const query = { async: 'true', webhookEndpoint: receiver.url() };
    await call('stream', { values: [1], fails: true }, { headers: EVENTS, query });
    const envelope = await receiver.envelope();
    assert.equal(envelope.status, 'failure', 'no one takes it for whole');
    assert.equal(envelope.reason, 'upstream_reset');
});

test('an asynchronous run and its webhook', async (t) => {
    const host = await startProbe(t);
    const { call, receiver } = await behind(t, host);
    const query = { async: 'true', webhookEndpoint: receiver.url() };
    const accepted = await call('run', { text: 'later' }, { query });
    assert.equal(accepted.status, 202);
    const envelope = await receiver.envelope();
    assert.equal(envelope.type, 'run.success');
    assert.equal(envelope.run_id, accepted.json().run_id);
    assert.equal(envelope.response.run_id, envelope.run_id);
    assert.equal(envelope.response.attempt, 1);
    assert.equal(envelope.response.has_deadline, true);
});

test('a crash takes the host down and nobody else', async (t) => {
    const object = await compile(t, probeSource);
    for (const [how, signal] of [
        ['segv', 'SIGSEGV'],
        ['abort', 'SIGABRT'],
    ]) {
        const host = await startHost(t, [object]);
        host.mayFail = true;
        const { call, sidecar, receiver } = await behind(t, host, {
            HOOKLINE_CONNECT_TIMEOUT: '300ms',
        });
        const query = { async: 'true', webhookEndpoint: receiver.url() };
        const { run_id: id } = (await call('wrong', { how }, { query })).json();
        const envelope = await receiver.envelope();
        assert.deepEqual([envelope.status, envelope.reason], ['failure', 'upstream_reset']);
        const exit = await host.exited();
        if (!isSanitized) assert.equal(exit.signal, signal); // a sanitizer has its own way to end
        if (!isSanitized || how === 'abort') {
            const line = host.log.find(({ msg }) => msg === 'the function crashed');
            assert.deepEqual([line.run_id, line.function, line.signal], [id, 'wrong', signal]);
        }
        assert.equal((await call('run', {})).status, 502);
        assert.equal(await sidecar.probe('/_hookline/healthz'), 200);
    }
});

for (const unix of [false, true]) {
    test(`hookline starts the host again after a crash (${unix ? 'unix socket' : 'TCP'})`, async (t) => {
        const url = unix
            ? `unix:${join(await temporaryDirectory(t), 'functions.sock')}`
            : `http://127.0.0.1:${await freePort()}`;
        const command = JSON.stringify([FUNCTION_BINARY, await compile(t, probeSource)]);
        const { call, sidecar, receiver } = await behind(
            t,
            { url },
            { HOOKLINE_APP_COMMAND: command },
        );
        const opened = async () => (await call('counts', {})).json().opened;
        await call('open', {});
        assert.equal(await opened(), 1);
        const query = { async: 'true', webhookEndpoint: receiver.url() };
        const { run_id: id } = (await call('wrong', { how: 'abort' }, { query })).json();
        const envelope = await receiver.envelope();
        assert.deepEqual([envelope.run_id, envelope.reason], [id, 'upstream_reset']);
        await sidecar.until('readyz');
        assert.equal(await opened(), 0, 'it is another process');
        assert.equal((await call('run', {}, { query })).status, 202);
        assert.equal(JSON.parse((await receiver.delivered('/hook', 2)).bytes).status, 'success');
        const crash = await sidecar.logged(({ line }) => line === 'the function crashed');
        const { msg, level, run_id, function: name } = crash;
        assert.deepEqual({ msg, level, run_id, name }, { msg: 'app', level: 'error', run_id: id, name: 'wrong' });
    });
}

test('a function is told that its caller has gone, directly and through hookline', async (t) => {
    const host = await startProbe(t, { HOOKLINE_FUNCTION_CONCURRENCY: '4' });
    const { call, connect: open } = await behind(t, host);
    for (const [nth, ask] of [
        [1, (signal) => host.call('hold', {}, { signal })],
        [2, (signal) => call('hold', {}, { signal })],
    ]) {
        const abort = new AbortController();
        const pending = ask(abort.signal).catch(() => {});
        await until('it runs', async () => (await counts(host)).waiting === nth);
        abort.abort();
        await pending;
        await until('it knows', async () => (await counts(host)).cancelled === nth);
    }
    const client = await open();
    await client.send(request('POST', '/v4/p/a/gated', { ...EVENTS, ...JSON_FIELDS }, '{"n":2}'));
    await host.call('open');
    const first = await client.pieces(await client.responseHead()).next();
    assert.equal(first.value.toString(), 'data: 0\n\n'); // it runs: who goes before that is not missed
    client.close();
    await until('the writer knows', async () => (await counts(host)).gone === 1);
});

test('a call whose caller went while it waited is not run', async (t) => {
    const host = await startProbe(t);
    const first = await holdOne(t, host);
    const second = await connect(t, host);
    await second.send(request('POST', '/hold', JSON_FIELDS, '{}'));
    await health(host);
    second.close();
    await health(host);
    first.close();
    assert.equal((await counts(host)).waiting, 1);
});

test('a slow reader makes the function wait, and memory stays', async (t) => {
    const host = await startProbe(t, { HOOKLINE_FUNCTION_CONCURRENCY: '2' });
    const client = await connect(t, host);
    client.socket.pause();
    await client.send(request('POST', '/pour', { ...EVENTS, ...JSON_FIELDS }, '{}'));
    let last = -1;
    await until('the writer waits', async () => {
        const { poured } = await counts(host);
        const isStill = poured > 0 && poured === last;
        last = poured;
        if (!isStill) await new Promise((resolve) => setTimeout(resolve, 200));
        return isStill;
    });
    assert.ok(last < 400, `${last} events of 64 KiB: the sockets' buffers and little more`);
    if (!isSanitized) {
        const status = await readFile(`/proc/${host.pid}/status`, 'utf8');
        assert.ok(Number(status.match(/RssAnon:\s+(\d+)/)[1]) < 8 * 1024, status);
    }
    client.reset();
    await until('the writer is let go', async () => (await counts(host)).gone === 1);
});

test('many calls of every kind leave nothing behind', async (t) => {
    const calls = Number(process.env.HOOKLINE_TEST_CALLS ?? 2000);
    const host = await startProbe(t, {
        HOOKLINE_FUNCTION_CONCURRENCY: '2',
        HOOKLINE_LOG_LEVEL: 'info',
    });
    const kinds = [
        ['run', { a: 1 }],
        ['stream', { values: ['a', 1] }],
        ['stream', { values: ['a', 1] }, { headers: EVENTS }],
        ['stream', { values: ['a', 1], fails: true }, { headers: EVENTS }],
        ['wrong', { how: 'after' }],
        ['wrong', '{"how'],
        ['nope', {}],
        ['typed', {}],
    ];
    let left = calls;
    const ask = async () => {
        while (left-- > 0) await host.call(...kinds[left % kinds.length]).catch(() => {});
    };
    const memory = async () => {
        const status = await readFile(`/proc/${host.pid}/status`, 'utf8');
        return Number(status.match(/RssAnon:\s+(\d+)/)[1]);
    };
    await Promise.all(Array.from({ length: 8 }, ask));
    if (isSanitized) return; // its report at the host's end says it
    const before = await memory();
    left = calls;
    await Promise.all(Array.from({ length: 8 }, ask));
    assert.ok((await memory()) < before + 256, `${before} to ${await memory()} KiB`);
});

test('health is answered while every thread is busy, and queued calls run in their order', async (t) => {
    const host = await startProbe(t);
    const first = await holdOne(t, host);
    const queued = [];
    for (const text of ['1', '2', '3']) {
        queued.push(host.call('run', { text }));
        assert.deepEqual((await health(host)).json(), { status: 'ok' });
    }
    first.close(); // the function sees it and ends
    await Promise.all(queued);
    const order = () => host.log.map(({ msg }) => msg).filter((msg) => msg.startsWith('seen'));
    await until('all is logged', () => order().length === 3);
    assert.deepEqual(order(), ['seen: 1', 'seen: 2', 'seen: 3']);
});

test('SIGTERM: running and queued calls finish, then it ends', async (t) => {
    const object = await compile(t, probeSource);
    const host = await startHost(t, [object], { HOOKLINE_FUNCTION_CONCURRENCY: '2' });
    const held = host.call('hold', {});
    await until('it runs', async () => (await counts(host)).waiting === 1);
    const client = await connect(t, host);
    await client.send(request('GET', '/healthz'));
    await client.response();
    const half = await connect(t, host);
    await half.send('POST /open HTTP/1.1\r\nHost: x\r\nContent-Le');
    await health(host);
    host.signal('SIGTERM');
    assert.ok(await client.isClosed(), 'an idle connection is closed');
    await assert.rejects(host.call('run', {}), 'nothing new is accepted');
    await half.send('ngth: 0\r\n\r\n');
    const last = await half.response('POST');
    assert.deepEqual([last.status, last.get('connection')], [200, 'close']);
    assert.equal((await held).text, '"held"');
    assert.deepEqual(await within('the end', host.exited()), { code: 0, signal: null });
    assert.match(host.stdout, /^torn down$/m);
});

test('a second SIGTERM ends it at once', async (t) => {
    const stuck = await startProbe(t);
    stuck.mayFail = true;
    await holdOne(t, stuck);
    stuck.signal('SIGTERM');
    await until('it stops', () => stuck.log.some(({ msg }) => msg.startsWith('stopping')));
    stuck.signal('SIGTERM');
    assert.equal((await stuck.exited()).signal, 'SIGTERM');
});

test('a unix socket: served, replaced after a kill, removed at the end', async (t) => {
    const path = join(await temporaryDirectory(t), 'functions.sock');
    const object = await compile(t, probeSource);
    const killed = await startHost(t, [object], { HOOKLINE_FUNCTION_SOCKET: path });
    killed.mayFail = true;
    killed.signal('SIGKILL');
    await killed.exited();
    const host = await startHost(t, [object], { HOOKLINE_FUNCTION_SOCKET: path });
    assert.equal(host.url, `unix:${path}`);
    const { call, sidecar } = await behind(t, host);
    assert.equal((await call('run', {})).status, 200);
    const taken = await runHost([object], { HOOKLINE_FUNCTION_SOCKET: path });
    assert.equal(taken.code, 1);
    assert.match(taken.stderr, /cannot listen on .*functions\.sock: address already in use/);
    assert.equal((await call('run', {})).status, 200, 'and the first one goes on');
    await sidecar.stop();
    await host.stop();
    await assert.rejects(access(path));
});

test('setup runs once before it listens, and its failure ends the start', async (t) => {
    const object = await compile(t, probeSource);
    const host = await startHost(t, [object]);
    assert.ok(
        host.log.findIndex(({ msg }) => msg === 'setting up') <
            host.log.findIndex(({ msg }) => msg === 'listening'),
    );
    assert.equal((await counts(host)).setups, 1);
    const failed = await runHost([object], { PROBE_SETUP: '5' });
    assert.equal(failed.code, 1);
    assert.match(failed.stderr, /^hookline-function: the module's setup returned 5$/m);
});

test('what cannot be served is refused with one line that says why', async (t) => {
    const include = '#include <hookline/function.h>\n';
    const plain = (name) =>
        `${include}static int f(struct hl_fn_call *c) { (void)c; return 0; }
         static const struct hl_fn_function all[] = {{"${name}", f, NULL}, {0}};
         HL_FN_MODULE(all, NULL, NULL);`;
    const object = await compileText(t, plain('run'));
    for (const [text, why] of [
        ['int nothing;', /lacks HL_FN_MODULE/],
        [
            `${include}const struct hl_fn_module hl_fn_module = {99, NULL, NULL, NULL};`,
            /was built for version 99 of hookline\/function.h, and this hookline-function knows 1 to 2/,
        ],
        [`${include}HL_FN_MODULE(NULL, NULL, NULL);`, /has no functions/],
        [plain('_hidden'), /'_hidden' cannot be a function's name/],
        [plain('healthz'), /'healthz' cannot be a function's name/],
    ]) {
        const { code, stderr } = await runHost([await compileText(t, text)]);
        assert.equal(code, 1);
        assert.match(stderr, why);
        assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
    }
    for (const [args, env, code, why] of [
        [['/nonexistent.so'], {}, 1, /cannot load \/nonexistent.so: .*No such file/],
        [[], {}, 2, /^usage: /],
        [['--nope', object], {}, 2, /^usage: /m],
        [[object], { HOOKLINE_FUNCTION_CONCURRENCY: '0' }, 1, /CONCURRENCY is "0": allowed is 1 to/],
        [[object], { HOOKLINE_FUNCTION_ENVELOPE: 'maybe' }, 1, /ENVELOPE is "maybe": allowed is on/],
        [[object], { HOOKLINE_FUNCTION_MAX_BODY: '1x' }, 1, /MAX_BODY is "1x": allowed is a size/],
        [[object], { PORT: '70000' }, 1, /PORT is "70000": allowed is a port/],
        [['--port', 'x', object], {}, 1, /--port is "x": allowed is a port/],
        [['--host', 'localhost', object], {}, 1, /--host is "localhost": allowed is an IPv4/],
        [['--socket', `/${'x'.repeat(200)}`, object], {}, 1, /--socket is .*: allowed is the path/],
        [[object], { HOOKLINE_LOG_LEVEL: 'loud' }, 1, /LOG_LEVEL is "loud": allowed are debug/],
    ]) {
        const ended = await runHost(args, env);
        assert.equal(ended.code, code, ended.stderr);
        assert.match(ended.stderr, why);
    }
    assert.equal((await runHost(['--list', object])).stdout, 'run\n');
    assert.match((await runHost(['--help'])).stdout, /^usage: hookline-function/);
    assert.match((await runHost(['--version'])).stdout, /^hookline-function \d/);
});

test('the example of deploy/demo builds with plain cc and answers behind hookline', async (t) => {
    const object = await compile(t, inRepository('deploy/demo/functions.c'));
    const { call } = await behind(t, await startHost(t, [object]));
    assert.deepEqual((await call('run', { prompt: ' one two  three ' })).json(), {
        text: 'three two one',
        words: 3,
    });
    const input = { prompt: 'one two', seconds: 0 };
    assert.equal((await call('words', input, { headers: EVENTS })).text, 'data: one\n\ndata: two\n\n');
});

test('what the proxy refuses of HTTP the function host refuses as well', async (t) => {
    const host = await startProbe(t);
    const hostile = requestGroups
        .flatMap(({ title, cases }) => cases.map((c) => ({ ...c, title })))
        .filter(({ allow, send, end }) => allow && send && !end && Object.keys(allow).join() === 'refused')
        // Refused for what a proxy does, and not for what the bytes are: these methods and upgrades.
        .filter(({ title }) => !/upgrade/i.test(title));
    assert.ok(hostile.length > 100, `${hostile.length} cases`);
    for (const { title, name, send, allow } of hostile) {
        const client = await connect(t, host);
        await client.send(send);
        const head = await within(name, client.responseHead()).catch(() => null);
        const allowed = allow.refused === true ? null : [allow.refused].flat();
        if (head) assert.ok(head.status >= 400, `${title}: ${name}: ${head.status}`);
        if (head && allowed) {
            assert.ok(
                allowed.includes(head.status) || [404, 405].includes(head.status),
                `${title}: ${name}: ${head.status}, allowed ${allowed}`,
            );
        }
        client.close();
    }
    assert.equal((await host.call('run', {})).status, 200);
    assert.ok(!host.log.some(({ msg, function: f }) => f === 'x' && msg.startsWith('seen')));
});
