// A file of functions in JavaScript: which exports are endpoints, what becomes of values and errors, what ends the start.
import assert from 'node:assert/strict';
import { readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FILE, test } from './lib/case.mjs';
import { runHost, startHost } from './lib/function.mjs';
import { NODE_HOST, once } from './lib/hosts.mjs';
import { Told } from './lib/progress.mjs';
import { connect, request } from './lib/raw.mjs';
import { temporaryDirectory } from './lib/sidecar.mjs';
import { until } from './lib/until.mjs';

const EVENTS = { Accept: 'text/event-stream', 'Content-Type': 'application/json' };

/** The path of a file with that text. */
async function written(t, text, name = 'main.mjs') {
    const path = join(await temporaryDirectory(t), name);
    await writeFile(path, text);
    return path;
}

const startNode = async (t, text, env = {}, name = 'main.mjs') =>
    startHost(t, [NODE_HOST, await written(t, text, name)], env, process.execPath);
const runNode = async (t, text, env = {}, name = 'main.mjs') =>
    runHost([NODE_HOST, await written(t, text, name)], env, process.execPath);

const MAIN = `
import { context, progress, reply } from 'hookline-functions';
const loop = []; loop.push({ loop });
let deep = []; for (let i = 0; i < 100_000; i++) deep = [deep];
class Point { constructor() { this.x = 1; } }
class Money { toJSON() { return 'EUR 1'; } }
const values = {
    null: null, undefined: undefined, text: 'ä\\u2028', number: 1.5, big: 2n ** 70n, inside: { big: [1n] },
    date: new Date(0), map: new Map([['a', new Set([1])]]), point: new Point(), money: new Money(), left: { a: undefined, f() {} },
    buffer: { b: Buffer.from('hi'), f: new Float32Array([1.5]) }, error: { e: new RangeError('no') }, boxed: [Object('x'), Object(1)],
    nan: { a: [1, NaN] }, invalid: [new Date(NaN)], loop, deep, symbol: Symbol('s'), function: () => {}, promise: { p: Promise.resolve(1) }, generator: { g: (function* () { yield 1; })() }, items: [new Map().values()],
    key: new Map([[{}, 1]]), list: [200, 'x'],
};
export const value = ({ which }) => values[which];
export const answered = ({ status, body, type }) => reply(status, body, type);
export const bytes = ({ kind }) => ({
    buffer: Buffer.from('ab'), array: new Uint8Array([97, 98]), part: new Uint8Array([0, 97, 98]).subarray(1),
    arraybuffer: new Uint8Array([97, 98]).buffer, none: new Uint8Array(), blob: new Blob(['ab'], { type: 'text/x' }),
    stream: new Blob(['ab']).stream(),
})[kind];
export const response = ({ status }) => status ? new Response(null, { status }) : new Response('made', { status: 201, headers: { 'Content-Type': 'text/x', 'X-Mine': 'a', Connection: 'close' } });
export const told = ({ headers, none }) => new Response(none ? null : new Blob(['0123456789']).stream(), { headers });
export const wrapped = () => reply(404, new Response('made'));
export const waits = ({ status }) => reply(status, Promise.resolve({ a: 1 }));
export async function later({ ms = 0 }) { await new Promise((resolve) => setTimeout(resolve, ms)); return context().runId; }
export async function tells(_, { runId, headers, attempt, deadline, signal, progress: tell }) {
    tell({ half: 'ä' });
    progress(1);
    console.log('one\\nt%s', 'wo');
    process.stdout.write('unfinished');
    return { runId, host: headers.host, attempt, deadline: deadline?.getTime() ?? null, aborted: signal.aborted };
}
export function untold() {
    return [undefined, NaN, { at: [() => {}, 1] }, 'x'.repeat(1023)].map((value) => {
        try {
            progress(value);
        } catch (error) {
            return String(error);
        }
    });
}
export function error({ how }) {
    if (how === 'text') throw 'a text';
    if (how === 'exit') process.exit(3);
    if (how === 'odd') throw { toString() { throw new Error(); } };
    if (how === 'null') throw null;
    if (how === 'empty') throw new RangeError();
    if (how === 'group') throw new AggregateError([new Error('first'), 'second'], 'both');
    if (how === 'later') return new Promise(() => setTimeout(() => { throw new TypeError('in a timer'); }, 1));
    if (how === 'floating') { Promise.reject(new Error('floating')); return 'fine'; }
    throw new TypeError('no \\x1b[31mgood', { cause: new Error('the cause') });
}
export async function* ten() { for (let i = 0; i < 10; i++) yield i; throw new Error('after ten'); }
export function* unfit() { yield 1; yield Symbol('s'); }
export function* long() { for (;;) yield 'x'.repeat(1000); }
export const busy = ({ ms }) => { for (const end = Date.now() + ms; Date.now() < end; ); return 'done'; };
export const keys = (body) => [Object.keys(body).length, Object.getPrototypeOf(body) === Object.prototype, Object.hasOwn(body, 'constructor')];
export const huge = () => new Uint8Array(48_000_000).fill(7); // more than the kernel takes for who reads none
export const typed = ({ size = 1 }) => size;
export async function form({ image, n, note, tags }, { runId }) {
    const text = await image.text();
    return { kind: String(image), name: image.name, type: image.type, size: image.size, bytes: (await image.bytes()).length, text: text.slice(0, 9), path: image.path, n, note, tags };
}
export const loose = ({ a, b }) => [typeof a, b?.size ?? b];
export const _hidden = () => 1, $odd = () => 1, data = 3;
export class Service {}
export const schema = {
    form: {
        type: 'object',
        properties: {
            image: { type: 'string', format: 'binary' }, n: { type: 'integer' }, note: { type: 'string' },
            tags: { type: 'array', items: { type: 'string' } },
        },
        required: ['image'],
        additionalProperties: false,
    },
    typed: {
        type: 'object',
        properties: {
            size: { type: 'integer', minimum: 1, maximum: 4, default: 1 },
            name: { type: ['string', 'null'], minLength: 2, pattern: '^[a-z]+$' },
            mode: { enum: ['s', 'm'] },
            tags: { type: 'array', items: { $ref: '#/$defs/tag' }, maxItems: 2, uniqueItems: true },
            meta: { type: ['object', 'array'] },
            one: { anyOf: [{ type: 'string' }, { type: 'array' }] },
            tree: { $ref: '#/$defs/tree' },
        },
        additionalProperties: false,
        $defs: {
            tag: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
            tree: { type: 'object', properties: { next: { $ref: '#/$defs/tree' } }, additionalProperties: false },
        },
    },
};
`;

const main = once(() => startNode(FILE, MAIN, { HOOKLINE_FUNCTION_CONCURRENCY: '2', HOOKLINE_FUNCTION_MAX_BODY: '16MiB' }));

test('exported functions are endpoints, and nothing else', async () => {
    const host = await main();
    const { functions } = (await host.call('_hookline/functions', undefined, { method: 'GET' })).json();
    const names = functions.map(({ name }) => name);
    for (const name of ['_hidden', '$odd', 'data', 'Service', 'schema']) assert.ok(!names.includes(name), name);
    const input = (name) => functions.find((one) => one.name === name).input;
    assert.equal(input('typed').properties.size.maximum, 4);
    assert.deepEqual(input('later'), { type: 'object', properties: { ms: { default: 0 } } }, 'what it takes out of its body');
    assert.equal(input('keys'), null);
    const said = host.log.map(({ msg }) => msg).join('\n');
    assert.match(said, /Service is not an endpoint: it is a class/);
    assert.match(said, /\$odd\(\) is not an endpoint/);
});

test('values become JSON, bytes, or what a Response says', async () => {
    const host = await main();
    const texts = {
        null: 'null', undefined: 'null', text: '"ä\u2028"', number: '1.5', big: '1180591620717411303424', inside: '{"big":[1]}',
        date: '"1970-01-01T00:00:00.000Z"', map: '{"a":[1]}', point: '{"x":1}', money: '"EUR 1"', left: '{}',
        buffer: '{"b":"aGk=","f":[1.5]}', error: '{"e":{"name":"RangeError","message":"no"}}', boxed: '["x",1]', list: '[200,"x"]',
    };
    for (const [which, text] of Object.entries(texts)) {
        const answer = await host.call('value', { which });
        assert.equal(answer.status, 200, `${which}: ${answer.text}`);
        assert.equal(answer.text, text);
        assert.equal(answer.headers['content-type'], 'application/json');
    }
    for (const kind of ['buffer', 'array', 'part', 'arraybuffer', 'blob', 'stream', 'none']) {
        const answer = await host.call('bytes', { kind });
        assert.equal(answer.text, kind === 'none' ? '' : 'ab', kind);
        if (kind !== 'none') assert.equal(answer.headers['content-type'], kind === 'blob' ? 'text/x' : 'application/octet-stream');
    }
    const made = await host.call('response', {});
    assert.deepEqual([made.status, made.text, made.headers['content-type'], made.headers['x-mine']], [201, 'made', 'text/x', 'a']);
    const empty = await host.call('response', { status: 204 });
    assert.deepEqual([empty.status, empty.text, empty.headers['content-length']], [204, '', undefined]);
    for (const status of [200, 404, 599]) assert.equal((await host.call('answered', { status, body: { a: 1 } })).status, status);
    assert.equal((await host.call('answered', { status: 204 })).text, '');
    assert.equal((await host.call('answered', { status: 201, body: '<p>', type: 'text/html' })).headers['content-type'], 'text/html');
    const late = await host.call('waits', { status: 404 });
    assert.deepEqual([late.status, late.text], [404, '{"a":1}']);
    assert.match((await host.call('wrapped', {})).json().detail, /^TypeError: reply\(\): a Response has its own status/);
    assert.match((await host.call('answered', { status: 99 })).json().detail, /RangeError: reply\(\): the status is 99/);
});

test('a Response’s fields are the author’s, and a length that its body has not is cut off there', async (t) => {
    const host = await main();
    const answer = async (members) => {
        const client = await connect(t, host);
        await client.send(request('POST', '/told', { 'Content-Type': 'application/json' }, JSON.stringify(members)));
        return client.response('POST').finally(() => client.close());
    };
    const fresh = await answer({ headers: { 'Cache-Control': 'public', 'Content-Length': '10' } });
    assert.deepEqual([fresh.get('cache-control'), fresh.get('content-length'), fresh.text], ['public', '10', '0123456789']);
    assert.equal((await answer({ headers: { 'Content-Length': 'many' } })).text, '0123456789');
    assert.equal((await answer({ headers: { 'Content-Length': '7' }, none: true })).get('content-length'), '0');
    for (const [length, than] of [[5, 'longer'], [50, 'shorter']]) {
        await assert.rejects(answer({ headers: { 'Content-Length': length } }), `${length}`);
        await until('it is in the log', () => host.log.find(({ error }) => error?.includes(`is ${length}, and its body is ${than} than that`)));
    }
});

test('a value that JSON has no form for is a 500 that says what and where', async () => {
    const host = await main();
    const wrong = {
        nan: /number \(NaN\), at \.a\[1\]$/, invalid: /Date \(it is invalid\), at \[0\]$/, loop: /Array \(it contains itself\), at \[0\]\.loop$/,
        deep: /too deep/, symbol: /symbol/, function: /function/, promise: /Promise \(await it\), at \.p$/, generator: /iterator \(values one by one .*, at \.g$/, items: /iterator .*, at \[0\]$/, key: /a key of it is no text/,
    };
    for (const [which, pattern] of Object.entries(wrong)) {
        const answer = await host.call('value', { which });
        assert.equal(answer.status, 500, which);
        assert.match(answer.json().detail, /^value\(\) gave a value that is not JSON: /);
        assert.match(answer.json().detail, pattern);
    }
    const bytes = await host.call('huge', {});
    assert.deepEqual([bytes.body.length, bytes.headers['content-length']], [48_000_000, '48000000']);
});

test('an error is a 500 with its name and message; its stack is in the log, with the cause, and without the host', async () => {
    const host = await main();
    const details = {
        type: /^TypeError: no \u001b\[31mgood$/, text: /^The function threw a string: a text$/, odd: /cannot be shown/, null: /^The function threw null$/,
        empty: /^RangeError$/, group: /^AggregateError: both$/,
        exit: /^ProcessExit: process\.exit\(3\) ends no function host$/, later: /^TypeError: in a timer$/,
    };
    for (const [how, pattern] of Object.entries(details)) {
        const answer = await host.call('error', { how });
        assert.equal(answer.status, 500, how);
        assert.match(answer.json().detail, pattern);
        assert.doesNotMatch(answer.text, /main\.mjs/);
    }
    assert.equal((await host.call('error', { how: 'floating' })).text, '"fine"');
    const floating = await until('it is in the log', () => host.log.find(({ msg }) => /nobody caught the Error of a promise/.test(msg)));
    assert.match(floating.traceback, /floating[^]*main\.mjs/);
    const { traceback, run_id: id } = host.log.find(({ msg }) => msg === 'error() threw TypeError');
    assert.match(traceback, /^TypeError: no .*good\n    at error \(.*main\.mjs:\d+:\d+\)\nCaused by: Error: the cause\n/);
    assert.doesNotMatch(traceback, /hookline-functions|runtime\/node|node:internal/);
    assert.match(id, /^[0-9a-f-]{36}$/);
    const group = host.log.find(({ msg }) => msg === 'error() threw AggregateError').traceback;
    assert.match(group, /^AggregateError: both\n.*\nOne of: Error: first\n.*main\.mjs[^]*\nOne of: 'second'/);
});

test('a call knows its run, tells how far it is, and what it prints has its id', async (t) => {
    const host = await main();
    const id = '0193e000-0000-7000-8000-000000000001';
    const fields = { 'X-Request-Id': id, 'X-Run-Attempt': '2', 'X-Run-Deadline': '4000000000' };
    const call = await Told.call(t, host, 'tells', {}, fields);
    assert.equal(await call.nextLine(), '{"half":"\\u00e4"}');
    const { told, response } = await call.rest();
    assert.deepEqual(told, [1], 'the last one goes out before the answer');
    assert.deepEqual(JSON.parse(response.body), { runId: id, host: 'hookline.test', attempt: 2, deadline: 4e12, aborted: false });
    const printed = await until('its lines', () => {
        const lines = host.log.filter(({ run_id, stream }) => run_id === id && stream);
        return lines.length === 3 && lines;
    });
    assert.deepEqual(printed.map(({ msg }) => msg), ['one', 'two', 'unfinished']);
    const ids = await Promise.all([30, 1].map((ms) => host.call('later', { ms })));
    for (const answer of ids) assert.equal(answer.json(), answer.headers['x-request-id'], 'calls at once know which they are');
});

test('progress() of what JSON has no form for throws, and says what and where', async () => {
    const host = await main();
    assert.deepEqual((await host.call('untold')).json(), [
        'TypeError: progress(): JSON has no form for undefined',
        'TypeError: progress(): JSON has no form for number (NaN)',
        'TypeError: progress(): JSON has no form for function, at .at[0]',
        'RangeError: progress(): the value has 1025 bytes as JSON, and 1024 are allowed',
    ]);
});

test('a schema is held: all that is wrong is said at once', async () => {
    const host = await main();
    const good = { size: 2, name: null, mode: 's', tags: [{ a: 1.5 }], one: [], tree: { next: { next: {} } } };
    assert.equal((await host.call('typed', good)).text, '2');
    const detail = async (body) => {
        const answer = await host.call('typed', body);
        assert.equal(answer.status, 422, answer.text);
        return answer.json().detail;
    };
    for (const [body, expected] of [
        [{ size: 9 }, "'size' must be at most 4, not an integer (9)"],
        [{ size: '9' }, "'size' must be an integer, not a string (\"9\")"],
        [{ size: 1.5 }, "'size' must be an integer, not a number with a fraction (1.5)"],
        [{ name: 'A' }, "'name' must be a string of at least 2 characters, not \"A\"; 'name' must be a string that matches ^[a-z]+$, not \"A\""],
        [{ name: 1 }, "'name' must be a string or null, not an integer (1)"],
        [{ mode: 'xl' }, "'mode' must be one of 's', 'm', not a string (\"xl\")"],
        [{ tags: [{ a: 1 }, {}] }, "'tags[1].a' is missing"],
        [{ tags: [{ a: 1 }, { a: 1 }] }, "'tags' must be an array without doubles"],
        [{ one: 1 }, "'one' must be a string or an array, not an integer (1)"],
        [{ tree: { next: { nxt: 1 } } }, "'tree.next.nxt' is not a member (did you mean 'next'?)"],
        [{ sise: 1, tags: 1 }, "'tags' must be an array, not an integer (1); 'sise' is not a parameter (did you mean 'size'?)"],
    ])
        assert.equal(await detail(body), `typed(): ${expected}`);
});

test('bodies that are odd: doubles, __proto__, a million members', async () => {
    const host = await main();
    for (const [body, status, pattern] of [
        ['{"a":1,"b":{"c":1,"c":2}}', 422, /two members 'c'/],
        ['{"a" :1,"a":2}', 422, /two members 'a'/],
        ['{"a":1,"\\u0061":2}', 422, /two members 'a'/],
        ['{"a":"\\":","b":[{"a":1},{"a":2}]}', 200, /^\[2,true,false\]$/],
        ['{"a":{"__proto__":{"x":1}}}', 422, /a member '__proto__'/],
        ['{"\\u005f_proto__":1}', 422, /a member '__proto__'/],
        ['{"constructor":1}', 200, /^\[1,true,true\]$/],
        ['{"x":"\xff"}', 400, /error at byte 7/],
        ['\ufeff{}', 400, /not JSON/],
        [' \r\n{"x" : 2}\n', 200, /^\[1,true/],
        [' ', 400, /ends too early, after 1 bytes/],
        [`{${Array.from({ length: 1_000_000 }, (_, i) => `"m${i}":1`)}}`, 200, /^\[1000000,true/],
    ]) {
        const answer = await host.call('keys', body.includes('\xff') ? Buffer.from(body, 'latin1') : body);
        assert.equal(answer.status, status, `${body.slice(0, 60)}: ${answer.text.slice(0, 200)}`);
        assert.match(status === 200 ? answer.text : answer.json().detail, pattern);
    }
});

test('what node:http takes and a proxy may frame in another way is refused', async (t) => {
    const host = await main();
    const chunks = '2\r\n{}\r\n0\r\n\r\n';
    for (const [head, status] of [
        ['POST /keys HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
        ['POST /keys HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n', 501],
        ['GET /healthz\r\n\r\n', 400],
    ]) {
        const client = await connect(t, host);
        await client.send(head + (head.startsWith('POST') ? chunks : ''));
        const answer = await client.response('POST');
        assert.deepEqual([answer.status, answer.get('connection')], [status, 'close'], head);
    }
});

test('a body in many small chunks takes no more memory than its length asks for', async (t) => {
    const host = await main();
    const memory = async () => Number(/^RssAnon:\s+(\d+) kB$/m.exec(await readFile(`/proc/${host.pid}/status`, 'utf8'))[1]) * 1024;
    const client = await connect(t, host);
    const before = await memory();
    await client.send(request('POST', '/keys', { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }));
    await client.send('2\r\n{ \r\n'.concat('2\r\n  \r\n'.repeat(400_000), '2\r\n }\r\n0\r\n\r\n'));
    assert.equal((await client.response('POST')).text, '[0,true,false]');
    const grown = (await memory()) - before;
    assert.ok(grown < 80_000_000, `${grown} bytes for a body of 800,004`);
});

test('a stream that fails after ten values has them, an error event and no end; values together have a bound', async (t) => {
    const host = await main();
    for (const [name, values, pattern] of [
        ['ten', 10, /Error: after ten/],
        ['unfit', 1, /not JSON: symbol/],
    ]) {
        const client = await connect(t, host);
        await client.send(request('POST', `/${name}`, EVENTS, '{}'));
        const pieces = client.pieces(await client.responseHead());
        let text = '';
        await assert.rejects(async () => {
            for await (const piece of pieces) text += piece;
        });
        assert.equal(text.match(/^data: \d+$/gm).length, values);
        assert.match(text, /event: error\ndata: \{.*\}\n\n$/);
        assert.match(text, pattern);
    }
    assert.match((await host.call('long', {})).json().detail, /longer than HOOKLINE_FUNCTION_MAX_BODY allows/);
});

test('a form’s fields and files are members, and nothing is left of them', async (t) => {
    const host = await main();
    const send = async (name, members) => {
        const form = new FormData();
        for (const [key, value] of members) form.append(key, ...[value].flat());
        const answer = await fetch(`${host.url}/${name}`, { method: 'POST', body: form });
        return [answer.status, await answer.json()];
    };
    const image = [new Blob(['\r\n--x', Buffer.alloc(3_000_000, 'y')], { type: 'image/png' }), 'C:\\a b.png'];
    const [status, seen] = await send('form', [['image', image], ['n', '3'], ['note', '7'], ['tags', 'a']]);
    assert.equal(status, 200, JSON.stringify(seen));
    const { path, ...rest } = seen;
    assert.deepEqual(rest, {
        kind: '[object FormFile]', name: 'a b.png', type: 'image/png', size: 3_000_005, bytes: 3_000_005, text: '\r\n--xyyyy',
        n: 3, note: '7', tags: ['a'],
    });
    const leadsTo = () => readlink(path).catch(() => ''); // the number may be another's by now
    await until('the file has gone with the call', async () => !(await leadsTo()).endsWith('(deleted)'));
    assert.deepEqual(await send('loose', [['a', '7'], ['b', 'x'], ['b', 'y']]), [200, ['string', ['x', 'y']]]);
    assert.deepEqual(await send('loose', [['b', [new Blob([]), 'none']]]), [200, ['undefined', 0]]);
    const [wrong, { detail }] = await send('form', [['image', [new Blob(['x']), 'x']], ['n', 'many'], ['note', [new Blob(['x']), 'x']], ['other', '1']]);
    assert.equal(wrong, 422);
    assert.match(detail, /^form\(\): 'n' must be an integer, not a string \("many"\); 'note' must be a string, not a file; 'other' is not a parameter/);
    for (const [key, value, why] of [
        ['meta', '{"a":{"__proto__":{"x":1}}}', /a member '__proto__'/],
        ['meta', '{"a":1,"a":2}', /two members 'a'/],
        ['meta', '['.repeat(600) + ']'.repeat(600), /nested deeper than 512/],
        ['__proto__', 'x', /a member '__proto__'/],
    ]) {
        const [, { detail: said }] = await send('typed', [[key, value]]);
        assert.match(said, why);
    }
    assert.deepEqual(await send('loose', [['a', '{"__proto__":1}'], ['b', '{"x":1,"x":2}']]), [200, ['string', '{"x":1,"x":2}']], 'as texts they are');
    const raw = (body, type = 'multipart/form-data; boundary=b') => host.call('loose', body, { headers: { 'Content-Type': type } });
    for (const [body, why] of [
        ['--b\r\n', /it has no end/],
        ['--b\r\n\r\nx\r\n--b--', /a part of it has no name/],
        ['--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b', /it has no end/],
        [`--b\r\n${'x'.repeat(20_000)}`, /the head of a part has no end, or is too long/],
        [`--b\r\nContent-Disposition: form-data; name=a\r\n\r\n${'x'.repeat(2 ** 20 + 1)}\r\n--b--`, /the field 'a' is too long/],
    ]) {
        const answer = await raw(body);
        assert.equal(answer.status, 400);
        assert.match(answer.json().detail, why);
    }
    assert.match((await raw('x', 'multipart/form-data')).json().detail, /names no boundary/);
    const odd = 'before\r\n--b \r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n--bb\r\n--b\r\ncontent-disposition: form-data; name=b; filename=""\r\n\r\n\r\n--b--behind';
    assert.deepEqual((await raw(odd)).json(), ['string', 0]);
});

test('a function that computes delays no health check', async () => {
    const host = await main();
    const slow = host.call('busy', { ms: 1500 });
    let isDone = false;
    slow.then(() => (isDone = true));
    await until('it is inside', async () => {
        const answer = await host.call('healthz', undefined, { method: 'GET' });
        assert.equal(answer.status, 200);
        return !isDone;
    });
    assert.equal((await slow).text, '"done"');
});

/** Makes all time-outs of the server's sockets a hundredth of what they are, and says when one is set, and when it has come. */
const HURRY = `const threads = require('node:worker_threads');
const { Socket } = require('node:net');
const { emit, setTimeout } = Socket.prototype;
const say = (msg) => process._rawDebug(JSON.stringify({ level: 'info', msg }));
if (threads.isMainThread) {
    threads.Worker = class extends threads.Worker {
        constructor(file, options) { super(file, { ...options, execArgv: ['--require', __filename] }); }
    };
    require('node:module').syncBuiltinESMExports();
} else {
    Socket.prototype.setTimeout = function (ms, ...rest) {
        say('time-out set');
        return setTimeout.call(this, ms / 100, ...rest);
    };
    Socket.prototype.emit = function (event, ...rest) {
        if (event === 'timeout') say('timed out');
        return emit.call(this, event, ...rest);
    };
}`;

test('who reads no answer is cut off after a while, whatever it sends meanwhile', async (t) => {
    const host = await startNode(t, MAIN, { NODE_OPTIONS: `--require ${await written(t, HURRY, 'hurry.cjs')}` });
    const client = await connect(t, host, { isLazy: true });
    const call = request('POST', '/huge', { 'Content-Type': 'application/json' }, '{}');
    const count = (what) => host.log.filter(({ msg }) => msg === what).length;
    await client.send(call);
    const head = await client.responseHead();
    let seen = 0;
    await until('nothing more goes out', () => seen === (seen = count('time-out set')) && seen > 0);
    await client.send(call); // and takes nothing more
    await until('it was waited for', () => count('timed out') > 0);
    await assert.rejects(async () => {
        for await (const piece of client.pieces(head)) assert.ok(piece);
    });
});

test('CommonJS and a default export are served as well', async (t) => {
    const cjs = await startNode(t, "const { context } = require('hookline-functions'); exports.run = () => context().runId.length; module.exports.twice = async ({ x }) => 2 * x;", {}, 'main.cjs');
    assert.equal((await cjs.call('run', {})).text, '36');
    assert.equal((await cjs.call('twice', { x: 4 })).text, '8');
    const one = await startNode(t, 'export default ({ x }) => x; export const other = () => 1;');
    assert.equal((await one.call('run', { x: 4 })).text, '4');
    assert.equal((await one.call('other', {})).text, '1');
    const twice = await startNode(t, "const f = () => 1; export { f as default, f as 'module.exports' };");
    assert.ok(!twice.log.some(({ level }) => level === 'warn'), 'what Node 23 makes of a CommonJS module is no odd name');
});

test('what cannot be served ends the start with one line that says why', async (t) => {
    const run = 'export const run = () => 1;';
    const cases = [
        ['export const a = 1;', {}, 'main.mjs', /exports no function; one is needed/],
        ['export function (', {}, 'main.mjs', /failed to import/],
        ['process.exit(0);', {}, 'main.mjs', /failed to import.*ProcessExit: process\.exit\(0\) ends no function host/],
        [`${run} export function setup() { process.exit(0); }`, {}, 'main.mjs', /setup\(\) failed.*ProcessExit/],
        ["import 'nowhere';", {}, 'main.mjs', /failed to import.*Cannot find package 'nowhere'/],
        [`${run} export function setup() { throw new Error('no model'); }`, {}, 'main.mjs', /setup\(\) failed.*no model/],
        [`${run} export const setup = () => new Promise(() => {});`, { HOOKLINE_FUNCTION_SETUP_TIMEOUT: '100ms' }, 'main.mjs', /setup\(\) has not ended within 0\.1 s \(HOOKLINE_FUNCTION_SETUP_TIMEOUT\)/],
        [`${run} export const schema = { run: { type: 'strin' } };`, {}, 'main.mjs', /the schema of run\(\) cannot be held: there is no type 'strin'/],
        [`${run} export const schema = { run: { properties: { a: { minimum: 'x' } } } };`, {}, 'main.mjs', /'minimum' must be a number, not 'x', at \.a/],
        [`${run} export const schema = { run: { dependentRequired: {} } };`, {}, 'main.mjs', /the keyword 'dependentRequired' cannot be held/],
        [`${run} export const schema = { run: { properties: { a: { anyOf: [{ $ref: '#/properties/a' }] } } } };`, {}, 'main.mjs', /cannot be held: it leads to itself, .*, at \.a/],
        [`${run} export const schema = { run: 3 };`, {}, 'main.mjs', /3 is no schema/],
        [`${run} export const schema = { rum: {} };`, {}, 'main.mjs', /a schema for rum\(\), and no such function/],
    ];
    if (!process.features.typescript) cases.push([run, {}, 'main.ts', /is TypeScript, whose types this Node \(v.*\) does not strip: 22\.18 or newer does/]);
    await Promise.all(
        cases.map(async ([text, env, name, why]) => {
            const { code, stderr } = await runNode(t, text, env, name);
            assert.equal(code, 1, `${text}: ${stderr}`);
            assert.match(stderr, why);
            assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
        }),
    );
    const busy = await runNode(t, `${run} export function setup() { for (;;); }`, { HOOKLINE_FUNCTION_SETUP_TIMEOUT: '100ms' });
    assert.equal(busy.signal, 'SIGKILL');
    assert.match(busy.stderr, /setup\(\) has not ended within 0\.1 s .*: it keeps its thread busy/);
});

test('the command line: what it lists, says and refuses', async (t) => {
    const file = await written(t, 'export const run = () => 1;');
    const host = (...args) => runHost([NODE_HOST, ...args], {}, process.execPath);
    assert.equal((await host('--list', file)).stdout, 'run\n');
    assert.match((await host('--help')).stdout, /^usage: hookline-functions/);
    assert.match((await host('--version')).stdout, /^hookline-functions \d/);
    for (const [args, code, why] of [
        [['--nope', file], 2, /^usage: /m],
        [[file, file], 2, /one file is served, not 2/],
        [['/nonexistent.mjs'], 1, /\/nonexistent\.mjs does not exist: name the file/],
    ]) {
        const ended = await host(...args);
        assert.equal(ended.code, code, ended.stderr);
        assert.match(ended.stderr, why);
    }
});

test('process.exit() outside of a call ends the host with that status, and the log says who asked', async (t) => {
    const text = 'export const run = () => 1; export const setup = () => { setTimeout(() => process.exit(4), 300); };';
    const { code, stderr } = await runNode(t, text, {}, 'main.mjs');
    assert.equal(code, 4, stderr);
    assert.match(stderr, /the host ends: the file asks for it.*process\.exit\(4\) outside of a call.*main\.mjs/);
});

test('a function healthz() is warned about: the name is the host’s own', async (t) => {
    const text = 'export const run = () => 1; export const healthz = () => 2; export const setup = () => { setTimeout(process.exit, 300, 0); };';
    const { stderr } = await runNode(t, text, {}, 'main.mjs');
    assert.match(stderr, /"level":"warn","msg":"healthz\(\) is not an endpoint/);
});
