// What the admin listener passes on to the run listener, where it is judged as any other call, and the list of a host's functions.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { makeToken } from './lib/browser.mjs';
import { compileText, startHost } from './lib/function.mjs';
import { startPython } from './lib/python.mjs';
import { connect } from './lib/raw.mjs';
import { startSidecar } from './lib/sidecar.mjs';
import { caller, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const env = { HOOKLINE_AUTH: 'jwt' };

/** The scene, and `pass(path, options)`: see caller(), to the admin listener. */
async function scene(t, options = {}) {
    const set = await stage(t, { ...options, env: { ...env, ...options.env } });
    const token = await makeToken(set.sidecar, { role: 'invoke' });
    const pass = caller(t, { url: set.sidecar.adminUrl });
    return { ...set, token, pass, headers: { authorization: `Bearer ${token}` } };
}

test('a call is passed on with what is the call’s, and comes back without what is the app’s', async (t) => {
    let seen;
    const app = async (exchange) => {
        seen = Object.fromEntries(exchange.head.fields.map(([name, value]) => [name.toLowerCase(), value]));
        const fields = { 'content-type': 'text/html', 'set-cookie': 'a=b', 'clear-site-data': '"*"', 'x-mine': '1' };
        await exchange.send(201, fields, '<script>1</script>');
    };
    const { pass, headers } = await scene(t, { app });
    const more = { 'content-type': 'application/json', cookie: 'c=d', 'x-other': '1', 'x-run-timeout': '30s' };
    const answer = await pass('/v4/p/a/run?x=1', { headers: { ...headers, ...more }, body: '{}' });
    assert.equal(answer.status, 201);
    assert.equal(answer.text, '<script>1</script>');
    for (const name of ['set-cookie', 'clear-site-data', 'x-mine']) assert.equal(answer.headers[name], undefined, name);
    assert.equal(answer.headers['content-security-policy'], 'sandbox');
    assert.equal(answer.headers['x-content-type-options'], 'nosniff');
    assert.match(answer.headers['content-disposition'], /^attachment/);
    for (const name of ['cookie', 'x-other', 'authorization']) assert.equal(seen[name], undefined, name);
    assert.equal(seen['content-type'], 'application/json');
});

test('the run listener judges: the token, the project, the limits', async (t) => {
    const { pass, headers } = await scene(t);
    assert.equal((await pass('/v4/p/a/run', { body: '{}' })).status, 401);
    assert.equal((await pass('/v4/other/a/run', { headers, body: '{}' })).status, 403);
    assert.equal((await pass('/v4/p/a/run', { headers: { ...headers, 'x-run-priority': 'high' }, body: '{}' })).status, 403);
    assert.equal((await pass('/v4/p/a/run', { method: 'GET', headers })).status, 405);
    assert.equal((await pass('/v4/p/a/run', { headers, body: 'x'.repeat(256 * 1024 + 1) })).status, 413);
    assert.equal((await pass('/v4/p/a/run', { headers, body: 'x'.repeat(256 * 1024) })).status, 200);
    assert.equal((await pass('/v4/p/a/run', { headers, query: { async: 'true' }, body: '{}' })).status, 202);
});

test('pages of other origins send no call, by whatever method', async (t) => {
    let count = 0;
    const app = async (exchange) => (count++, exchange.send(200));
    const { pass } = await scene(t, { app, env: { HOOKLINE_AUTH: 'none' } });
    for (const method of ['GET', 'POST', 'DELETE'])
        for (const fields of [
            { origin: 'http://evil.example' },
            { 'sec-fetch-site': 'cross-site' },
            { 'sec-fetch-site': 'same-site' },
            { origin: 'null' },
        ])
            assert.equal((await pass('/v4/p/a/other', { method, headers: fields })).status, 403, method);
    assert.equal((await pass('/v4/p/a/other', { headers: { host: 'evil.example' } })).status, 421);
    assert.equal(count, 0);
});

test('where nobody is asked for a token here, but calls need one, a call has one', async (t) => {
    let seen;
    const app = async (exchange) => {
        seen = exchange.head.fields.map(([name]) => name.toLowerCase());
        await exchange.send(200, {}, 'good');
    };
    const { pass } = await scene(t, { app, env: { HOOKLINE_ADMIN_AUTH: 'none' } });
    assert.equal((await pass('/v4/p/a/run', { body: '{}' })).text, 'good');
    assert.ok(!seen.includes('authorization'));
});

test('a token for the dashboard does not reach an app whose calls need none', async (t) => {
    let seen;
    const app = async (exchange) => {
        seen = exchange.head.fields.map(([name]) => name.toLowerCase());
        await exchange.send(200, {}, 'good');
    };
    const { pass, headers } = await scene(t, { app, env: { HOOKLINE_AUTH: 'none' } });
    assert.equal((await pass('/v4/p/a/run', { headers, body: '{}' })).text, 'good');
    assert.ok(!seen.includes('authorization'), seen.join());
});

test('a caller who leaves takes the call along', async (t) => {
    const begun = gate();
    let isGone = false;
    const app = async (exchange) => {
        exchange.socket?.on('close', () => (isGone = true));
        begun.open();
        await new Promise(() => {});
    };
    const { sidecar, headers } = await scene(t, { app });
    const socket = await connect(t, { port: sidecar.adminPort });
    socket.send(`POST /v4/p/a/run HTTP/1.1\r\nHost: 127.0.0.1:${sidecar.adminPort}\r\nAuthorization: ${headers.authorization}\r\nContent-Length: 2\r\n\r\n{}`);
    await begun.promise;
    socket.close();
    await until('the call is cancelled', async () => {
        const text = await (await fetch(`${sidecar.adminUrl}/metrics`)).text();
        return isGone || /hookline_runs_total\{[^}]*cancelled[^}]*\} [1-9]/.test(text);
    });
});

test('a long answer comes whole to one who reads slowly', async (t) => {
    const size = 8 * 1024 * 1024;
    const app = (exchange) => exchange.send(200, {}, Buffer.alloc(size, 'x'));
    const { pass, headers } = await scene(t, { app });
    const answer = await pass('/v4/p/a/run', { headers, body: '{}' });
    assert.equal(answer.body.length, size);
});

const FUNCTIONS = '/v2/projects/p/apps/a/functions';

const functionsOf = async (t, url, more = {}) => {
    const sidecar = await startSidecar(t, { env: { ...env, HOOKLINE_APP_URL: url, ...more }, wait: 'readyz' });
    const authorization = `Bearer ${await makeToken(sidecar, { role: 'invoke' })}`;
    const ask = caller(t, { url: sidecar.adminUrl });
    assert.equal((await ask('/v2/functions', { method: 'GET' })).status, 401);
    assert.equal((await ask('/v2/functions', { headers: { authorization } })).status, 405);
    const onRuns = caller(t, sidecar);
    assert.notEqual((await onRuns('/_hookline/functions', { method: 'GET', headers: { authorization } })).status, 200);
    assert.equal((await onRuns('/v4/p/a/_hookline/functions', { method: 'GET' })).status, 401);
    const list = (await ask('/v2/functions', { method: 'GET', headers: { authorization } })).json();
    for (const asks of [ask, onRuns]) {
        const same = await asks(FUNCTIONS, { method: 'GET', headers: { authorization } });
        assert.equal(same.status, 200, same.text);
        assert.deepEqual(same.json(), list, 'callers get the same list');
        assert.equal((await asks(FUNCTIONS, { method: 'GET' })).status, 401);
        assert.equal((await asks(FUNCTIONS, { headers: { authorization } })).status, 405);
    }
    return list;
};

test('a host for Python tells what its functions take', async (t) => {
    const app = await startPython(t, `
import typing
def run(prompt: str, n: int = 1, p: float = 0.5, on: bool = True, tags: typing.Optional[typing.List[str]] = None,
        kind: typing.Literal["a", "b"] = "a", data: bytes = b"", other=None, far: typing.Dict[str, int] = {}):
    """Does it.

    And more."""
def loose(**members): pass
def bad(x=float("nan")): pass
from hookline_runtime import Request
def raw(request: Request): pass
`);
    const { functions } = await functionsOf(t, app.url);
    assert.deepEqual(functions, [
        {
            name: 'run',
            input: {
                type: 'object',
                description: 'Does it.',
                properties: {
                    prompt: { type: 'string' },
                    n: { type: 'integer', default: 1 },
                    p: { type: 'number', default: 0.5 },
                    on: { type: 'boolean', default: true },
                    tags: { anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'null' }], default: null },
                    kind: { enum: ['a', 'b'], default: 'a' },
                    data: { type: 'string', contentEncoding: 'base64' },
                    other: { default: null },
                    far: { type: 'object', additionalProperties: { type: 'integer' }, default: {} },
                },
                required: ['prompt'],
                additionalProperties: false,
            },
        },
        { name: 'loose', input: { type: 'object', properties: {}, required: [], additionalProperties: true } },
        { name: 'bad', input: { type: 'object', properties: { x: {} }, required: [], additionalProperties: false } },
        { name: 'raw', input: null },
    ]);
});

test('a host for C tells what its functions take', async (t) => {
    const module = await compileText(t, `
#include <hookline/function.h>
static int run(struct hl_fn_call *call) { (void)call; return 0; }
static const struct hl_fn_parameter takes[] = {
    {"prompt", HL_FN_STRING, HL_FN_REQUIRED}, {"n \\"1\\"", HL_FN_REAL, HL_FN_OPTIONAL}, {"any", HL_FN_ABSENT, HL_FN_OPTIONAL}, {0}};
static const struct hl_fn_function functions[] = {{"run", run, takes}, {"loose", run, NULL}, {0}};
HL_FN_MODULE(functions, NULL, NULL);
`);
    const host = await startHost(t, ['--port', '0', module]);
    const { functions } = await functionsOf(t, host.url);
    assert.deepEqual(functions, [
        {
            name: 'run',
            input: {
                type: 'object',
                properties: { prompt: { type: 'string' }, 'n "1"': { type: ['number', 'null'] }, any: {} },
                required: ['prompt'],
                additionalProperties: false,
            },
        },
        { name: 'loose', input: null },
    ]);
});

test('of an app that is no function host nothing is told, and one that is not ready is not asked', async (t) => {
    let said = [404, {}, 'no such thing'];
    const { pass, headers } = await scene(t, { app: (exchange) => exchange.send(...said) });
    assert.deepEqual((await pass('/v2/functions', { method: 'GET', headers })).json(), { functions: null });
    const answers = [
        [404, {}, 'no such thing'],
        [200, { 'Content-Type': 'text/html' }, '<p>'],
        [200, { 'Content-Type': 'application/json' }, '{"functions": {}}'],
        [200, { 'Content-Type': 'application/json' }, '{"functions": ['],
    ];
    for (const answer of answers) {
        said = answer;
        const none = await pass(FUNCTIONS, { method: 'GET', headers });
        assert.equal(none.status, 404);
        assert.match(none.json().detail, /^The app lists no functions: GET \/_hookline\/functions/);
    }
    const { sidecar: other } = await stage(t, { app: null, env });
    const authorization = `Bearer ${await makeToken(other)}`;
    const ask = caller(t, { url: other.adminUrl });
    const answer = await ask('/v2/functions', { method: 'GET', headers: { authorization } });
    assert.equal(answer.status, 503);
    assert.ok(Number(answer.headers['retry-after']) > 0);
    assert.equal((await ask(FUNCTIONS, { method: 'GET', headers: { authorization } })).status, 503);
});
