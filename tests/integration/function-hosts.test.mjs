// What every function host does alike, in whatever language: calls, streams, refusals, callers who leave, the end.
import assert from 'node:assert/strict';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FILE, test } from './lib/case.mjs';
import { sendHostile } from './lib/function.mjs';
import { LANGUAGES, once } from './lib/hosts.mjs';
import { connect, request } from './lib/raw.mjs';
import { isSanitized } from './lib/sanitized.mjs';
import { startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { caller } from './lib/stage.mjs';
import { Receiver } from './lib/receiver.mjs';
import { until, within } from './lib/until.mjs';

const EVENTS = { Accept: 'text/event-stream' };
const JSON_FIELDS = { 'Content-Type': 'application/json' };

const counts = async (host) => (await host.call('counts')).json();

/** The loop answers this itself: afterwards it has seen what others sent or closed before. */
const health = (host) => host.call('healthz', undefined, { method: 'GET' });

/** A caller whose function holds on until the caller closes. */
async function holdOne(t, host) {
    const begun = () => host.log.filter(({ msg }) => msg === 'holding').length;
    const before = begun();
    const client = await connect(t, host);
    await client.send(request('POST', '/hold', JSON_FIELDS, '{}'));
    await until('it holds', () => begun() > before);
    return client;
}

for (const language of LANGUAGES) {
    const { name } = language;
    const isC = name === 'C';
    const four = once(() => language.start(FILE, { HOOKLINE_FUNCTION_CONCURRENCY: '4' }));
    const one = once(() => language.start(FILE));
    const strict = once(() =>
        language.start(FILE, { HOOKLINE_FUNCTION_ENVELOPE: 'on', HOOKLINE_FUNCTION_MAX_BODY: '64KiB' }),
    );
    const proxy = once(async () => startSidecar(FILE, { env: { HOOKLINE_APP_URL: (await four()).url } }));

    /** The shared host with a sidecar before it: `call(path, input, options)`. */
    async function behind(t, sidecar) {
        const plain = caller(t, sidecar ?? (await proxy()));
        return (to, input, { headers, ...rest } = {}) =>
            plain(`/v4/p/a/${to}`, { body: JSON.stringify(input), headers: { ...JSON_FIELDS, ...headers }, ...rest });
    }

    test(`${name}: a function sees its parameters and its run through hookline`, async (t) => {
        const host = await four();
        const call = await behind(t);
        const response = await call('run', { text: 'hé', n: 1 }, { headers: { 'X-Probe': 'seen' } });
        assert.equal(response.status, 200);
        assert.equal(response.headers['content-type'], 'application/json');
        const { run_id: id, ...seen } = response.json();
        assert.equal(id, response.id);
        assert.deepEqual(seen, {
            attempt: 1,
            has_deadline: false,
            field: 'seen',
            input: { text: 'hé', n: 1 },
            ...(isC && { function: 'run', wants_events: false, body: '{"text":"hé","n":1}' }),
        });
        const line = await until('its log line', () => host.log.find(({ msg }) => msg === 'seen: hé'));
        assert.equal(line.run_id, id);
        if (isC) assert.equal(line.function, 'run');
    });

    test(`${name}: what is not a call of a function is refused with what to do`, async () => {
        const host = await four();
        const text = { headers: { 'Content-Type': 'text/plain' } };
        for (const [to, input, options, status, detail] of [
            ['nope', {}, {}, 404, /no function of that name; available are: (?=.*\brun\b)(?=.*\btyped\b).*\.$/],
            ['run/', {}, {}, 404, /no function/],
            ['_run', {}, {}, 404, /no function/],
            ['run', undefined, { method: 'GET' }, 405, /POST/],
            ['run', '{"a":1', {}, 400, /not JSON: it ends too early, after 6 bytes/],
            ['run', '{"a":1}}', {}, 400, /not JSON: there is an error at byte 8/],
            ['run', '{"ä":tru}', {}, 400, /not JSON: there is an error at byte 10/],
            ['run', '{"a":1.}', {}, 400, /not JSON: there is an error at byte 8/],
            ['run', '{"a":"\\u00g"}', {}, 400, /not JSON: there is an error at byte 11/],
            ['run', `{"a":${'['.repeat(512)}`, {}, 400, /is nested deeper than 512 levels/],
            ['run', `{"a":${'['.repeat(511)}[`, {}, 400, /is nested deeper than 512 levels/],
            ['run', `{"a":${'['.repeat(512)}${']'.repeat(512)}}`, {}, 400, /is nested deeper than 512 levels/],
            ['run', `{"a":${'['.repeat(511)}]]`, {}, 400, /not JSON: it ends too early/],
            ['run', '[1]', {}, 422, /must be a JSON object/],
            ['run', '"x"', {}, 422, /must be a JSON object/],
            ['typed', {}, {}, 422, /'s'.* is missing/],
            ['typed', { s: 1 }, {}, 422, /'s'.* must be a string/],
            ['typed', { s: 'x', i: 1.5 }, {}, 422, /'i'.* must be an integer/],
            ['typed', { s: 'x', more: 1 }, {}, 422, /parameter/],
            ['run', '{"a":1}', text, 415, /application\/json/],
            ['healthz', {}, {}, 405, /GET/],
        ]) {
            const response = await host.call(to, input, options);
            assert.equal(response.status, status, `${to} ${input}: ${response.text}`);
            assert.equal(response.headers['content-type'], 'application/problem+json');
            assert.match(response.json().detail, detail);
        }
        assert.equal((await host.call('run', {}, { method: 'PUT' })).headers.allow, 'POST');
        const listed = (await host.call('_hookline/functions', undefined, { method: 'GET' })).json();
        const { input } = listed.functions.find((one) => one.name === 'typed');
        assert.deepEqual([input.type, input.required, input.additionalProperties], ['object', ['s'], false]);
        assert.deepEqual(input.properties.s, { type: 'string' });
    });

    test(`${name}: a body over HOOKLINE_FUNCTION_MAX_BODY is 413, and one of that size is taken`, async (t) => {
        const host = await strict();
        const sized = (n) => `{"s":"${'x'.repeat(n - 8)}"}`;
        assert.equal((await host.call('open', sized(64 * 1024))).status, 200);
        assert.equal((await host.call('open', sized(64 * 1024 + 1))).status, 413);
        const client = await connect(t, host);
        await client.send(request('POST', '/open', { 'Transfer-Encoding': 'chunked' }));
        await client.send(`11000\r\n${'x'.repeat(0x11000)}\r\n`);
        assert.equal((await client.response()).status, 413);
    });

    test(`${name}: HOOKLINE_FUNCTION_ENVELOPE wraps values, and neither errors nor streams nor bytes`, async () => {
        const host = await strict();
        const response = await host.call('stream', { values: ['a', 1] });
        const { run_id: id, run_time_ms: ms, result } = response.json();
        assert.equal(id, response.headers['x-request-id']);
        assert.ok(Number.isInteger(ms) && ms >= 0);
        assert.deepEqual(result, ['a', 1]);
        assert.equal((await host.call('nope', {})).json().status, 404);
        const events = await host.call('stream', { values: [1] }, { headers: EVENTS });
        assert.equal(events.text, 'data: 1\n\n');
        const bytes = await host.call('bytes', { status: 203 });
        assert.equal(bytes.status, 203);
        assert.equal(bytes.headers['content-type'], 'image/png');
        assert.deepEqual(bytes.body, Buffer.from('\x89PNG\0\r\n', 'latin1'));
        const forged = await host.call('bytes', { type: 'a\r\nX-Forged: 1' });
        assert.equal(forged.status, 500);
        assert.equal(forged.headers['x-forged'], undefined);
    });

    test(`${name}: values one by one are events, or one array for who asks for no stream`, async (t) => {
        const call = await behind(t);
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

    test(`${name}: each value leaves the moment it is there, through hookline too`, async (t) => {
        const host = await four();
        const { opened } = await counts(host);
        const client = await connect(t, await proxy());
        const input = JSON.stringify({ n: opened + 3 });
        await client.send(request('POST', '/v4/p/a/gated', { ...EVENTS, ...JSON_FIELDS }, input));
        let pieces, text = '';
        for (let i = 0; i < opened + 3; i++) {
            if (i >= opened) await host.call('open');
            pieces ??= client.pieces(await client.responseHead());
            while (!text.includes(`data: ${i}\n\n`)) text += (await pieces.next()).value.toString();
            assert.ok(i < opened || !text.includes(`data: ${i + 1}\n`), 'the next one is not made yet');
        }
        assert.equal((await pieces.next()).done, true);
    });

    test(`${name}: a failure after the first value cuts the stream off behind an error event`, async (t) => {
        const host = await four();
        const call = await behind(t);
        const receiver = await Receiver.start(t);
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
        assert.match(JSON.parse(problem).detail, /broke after 2$/);

        const query = { async: 'true', webhookEndpoint: receiver.url() };
        await call('stream', { values: [1], fails: true }, { headers: EVENTS, query });
        const envelope = await receiver.envelope();
        assert.equal(envelope.status, 'failure', 'no one takes it for whole');
        assert.equal(envelope.reason, 'upstream_reset');
    });

    test(`${name}: an asynchronous run and its webhook`, async (t) => {
        const call = await behind(t);
        const receiver = await Receiver.start(t);
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

    test(`${name}: a function is told that its caller has gone, directly and through hookline`, async (t) => {
        const host = await four();
        const call = await behind(t);
        const { waiting, cancelled, gone, opened } = await counts(host);
        for (const [nth, ask] of [
            [1, (signal) => host.call('hold', {}, { signal })],
            [2, (signal) => call('hold', {}, { signal })],
        ]) {
            const abort = new AbortController();
            const pending = ask(abort.signal).catch(() => {});
            await until('it runs', async () => (await counts(host)).waiting === waiting + nth);
            abort.abort();
            await pending;
            await until('it knows', async () => (await counts(host)).cancelled === cancelled + nth);
        }
        const client = await connect(t, await proxy());
        const input = JSON.stringify({ n: opened + 2 });
        await client.send(request('POST', '/v4/p/a/gated', { ...EVENTS, ...JSON_FIELDS }, input));
        await host.call('open');
        const pieces = client.pieces(await client.responseHead());
        let text = '';
        while (!text.includes(`data: ${opened}\n\n`)) text += (await pieces.next()).value.toString(); // it runs: who goes before that is not missed
        client.close();
        await until('the writer knows', async () => (await counts(host)).gone === gone + 1);
    });

    test(`${name}: a call whose caller went while it waited is not run`, async (t) => {
        const host = await one();
        const first = await holdOne(t, host);
        const second = await connect(t, host);
        await second.send(request('POST', '/hold', JSON_FIELDS, '{}'));
        await health(host);
        second.close();
        await health(host);
        first.close();
        assert.equal((await counts(host)).waiting, 1);
    });

    test(`${name}: a slow reader makes the function wait, and memory stays`, async (t) => {
        const host = await four();
        const { gone } = await counts(host);
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
        if (!isSanitized && isC) {
            const status = await readFile(`/proc/${host.pid}/status`, 'utf8');
            assert.ok(Number(status.match(/RssAnon:\s+(\d+)/)[1]) < 8 * 1024, status);
        }
        client.reset();
        await until('the writer is let go', async () => (await counts(host)).gone === gone + 1);
    });

    test(`${name}: health is answered while every place is taken, and queued calls run in their order`, async (t) => {
        const host = await one();
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

    test(`${name}: what the proxy refuses of HTTP the function host refuses as well`, async (t) => {
        const host = await four();
        await sendHostile(t, host);
        assert.equal((await host.call('run', {})).status, 200);
        assert.ok(!host.log.some(({ msg, function: f }) => f === 'x' && msg.startsWith('seen')));
    });

    test(`${name}: a Host field that is no host is refused, a good one is not`, async (t) => {
        const host = await four();
        const status = async (version, ...values) => {
            const client = await connect(t, host);
            await client.send(`GET /healthz HTTP/${version}\r\n${values.map((value) => `Host: ${value}\r\n`).join('')}\r\n`);
            const head = await client.responseHead();
            client.close();
            return head.status;
        };
        for (const value of ['', 'a b', 'a/b', 'me@a', 'a,b', 'a:b', 'a:65536', '[::1', '[a]', '[::1]b', '[1.2.3.4]', 'a%41', '\xe4'])
            for (const version of ['1.1', '1.0']) assert.equal(await status(version, value), 400, `${version} ${value}`);
        for (const value of ['a', 'a.b:', '1.2.3.4:80', '[::1]', '[::1]:65535', '[fe80::1%25eth0]', 'x_y~'])
            assert.equal(await status('1.1', value), 200, value);
        for (const version of ['1.1', '1.0']) assert.equal(await status(version, 'a', 'a'), 400);
        assert.equal(await status('1.1'), 400);
        assert.equal(await status('1.0'), 200);
    });

    test(`${name}: setup runs once before it listens, and its failure ends the start`, async () => {
        const host = await four();
        assert.ok(
            host.log.findIndex(({ msg }) => msg === 'setting up') <
                host.log.findIndex(({ msg }) => msg === 'listening'),
        );
        assert.equal((await counts(host)).setups, 1);
        const failed = await language.run({ PROBE_SETUP: '5' });
        assert.equal(failed.code, 1);
        assert.match(failed.stderr, isC ? /^hookline-function: the module's setup returned 5$/m : /setup\(\) failed.*returned 5/);
    });

    test(`${name}: settings that cannot be are refused with one line that names them`, async () => {
        for (const [options, env, why] of [
            [[], { HOOKLINE_FUNCTION_CONCURRENCY: '0' }, /CONCURRENCY is "0": allowed is 1 to/],
            [[], { HOOKLINE_FUNCTION_MAX_BODY: '1x' }, /MAX_BODY is "1x": allowed is a size/],
            [['--port', 'x'], {}, /--port is "x": allowed is a port/],
            [['--host', 'localhost'], {}, /--host is "localhost": allowed is an IPv4/],
        ]) {
            const ended = await language.run(env, options);
            assert.equal(ended.code, 1, ended.stderr);
            assert.match(ended.stderr, why);
            assert.equal(ended.stderr.trimEnd().split('\n').length, 1, ended.stderr);
        }
    });

    test(`${name}: SIGTERM: running and queued calls finish, then it ends`, async (t) => {
        const host = await language.start(t, { HOOKLINE_FUNCTION_CONCURRENCY: '2' });
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
        if (isC) assert.match(host.stdout, /^torn down$/m);
    });

    test(`${name}: a second SIGTERM ends it at once`, async (t) => {
        const stuck = await language.start(t);
        stuck.mayFail = true;
        await holdOne(t, stuck);
        stuck.signal('SIGTERM');
        await until('it stops', () => stuck.log.some(({ msg }) => msg.startsWith('stopping')));
        stuck.signal('SIGTERM');
        assert.equal((await stuck.exited()).signal, 'SIGTERM');
    });

    test(`${name}: a unix socket: served, replaced after a kill, removed at the end`, async (t) => {
        const path = join(await temporaryDirectory(t), 'functions.sock');
        const killed = await language.start(t, { HOOKLINE_FUNCTION_SOCKET: path });
        killed.mayFail = true;
        killed.signal('SIGKILL');
        await killed.exited();
        const host = await language.start(t, { HOOKLINE_FUNCTION_SOCKET: path });
        assert.equal(host.url, `unix:${path}`);
        const sidecar = await startSidecar(t, { env: { HOOKLINE_APP_URL: host.url } });
        const call = await behind(t, sidecar);
        assert.equal((await call('run', {})).status, 200);
        const taken = await language.run({ HOOKLINE_FUNCTION_SOCKET: path });
        assert.equal(taken.code, 1);
        assert.match(taken.stderr, /cannot listen on .*functions\.sock: address already in use; free it or choose another \(--socket\)/);
        const busy = await language.run({ PORT: String(sidecar.port) });
        assert.equal(busy.code, 1);
        assert.match(busy.stderr, /cannot listen on .* port \d+: address already in use; free it or choose another \(--host, --port\)/);
        assert.equal((await call('run', {})).status, 200, 'and the first one goes on');
        await sidecar.stop();
        await host.stop();
        await assert.rejects(access(path));
    });
}
