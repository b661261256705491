// Functions in C: what hookline-function does beyond what every host does (function-hosts.test.mjs).
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
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
import { isSanitized } from './lib/sanitized.mjs';
import { freePort, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { caller } from './lib/stage.mjs';
import { Receiver } from './lib/receiver.mjs';
import { until } from './lib/until.mjs';

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
    return { call, sidecar, receiver };
}

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
    const long = await host.call('run', '{"a":123456789012345678901234567890}');
    assert.equal(long.status, 422);
    assert.match(long.json().detail, /cannot be read: .*integer/);
});

test('parameters are checked against the table, and 422 names all that are wrong', async (t) => {
    const host = await startProbe(t);
    const good = { s: 'x', i: 1, r: 2, b: false, a: [], o: {}, any: null };
    assert.equal((await host.call('typed', good)).status, 200);
    assert.equal((await host.call('typed', { s: 'x', i: null })).status, 200, 'optional: null');
    for (const [input, detail] of [
        [{}, "typed(): 's' is missing"],
        [{ s: null }, "typed(): 's' must be a string, not null"],
        [{ s: 'x', i: 1.5 }, "typed(): 'i' must be an integer, not a number"],
        [{ s: 'x', r: '1' }, "typed(): 'r' must be a number, not a string"],
        [{ s: 'x', b: 1 }, "typed(): 'b' must be a boolean, not an integer"],
        [{ s: 'x', a: {} }, "typed(): 'a' must be an array, not an object"],
        [{ s: 'x', more: 1 }, "typed(): 'more' is not a parameter"],
        [{ i: 'x', more: 1 }, "typed(): 's' is missing; 'i' must be an integer, not a string; 'more' is not a parameter"],
    ]) {
        const response = await host.call('typed', input);
        assert.equal(response.status, 422, response.text);
        assert.equal(response.headers['content-type'], 'application/problem+json');
        assert.equal(response.json().detail, detail);
    }
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`é${'ü'.repeat(150)}${i}`, i]));
    const { detail } = (await host.call('typed', many)).json();
    assert.ok(detail.startsWith("typed(): 's' is missing; 'éü") && detail.length < 512, detail);
});

test('two members of one name are a 422', async (t) => {
    const host = await startProbe(t);
    for (const body of ['{"s":"a","s":"b"}', '{"s":"a","o":{"a":1,"b":[{"x":1,"x":1}]}}']) {
        const response = await host.call('typed', body);
        assert.equal(response.status, 422, response.text);
        assert.match(response.json().detail, /^The body has two members of one name/);
    }
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
        await until('it is another process', async () => (await opened()) === 0);
        assert.equal((await call('run', {}, { query })).status, 202);
        assert.equal(JSON.parse((await receiver.delivered('/hook', 2)).bytes).status, 'success');
        const crash = await sidecar.logged(({ line }) => line === 'the function crashed');
        const { msg, level, run_id, function: name } = crash;
        assert.deepEqual({ msg, level, run_id, name }, { msg: 'app', level: 'error', run_id: id, name: 'wrong' });
    });
}

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
        [[inRepository('deploy/demo/main.py')], {}, 1, /no shared object; .* served by python3 -m hookline_runtime$/m],
        [[inRepository('tests/integration/functions/probe.mjs')], {}, 1, /served by hookline-functions$/m],
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
