// Authentication: who has a good token reaches the app, and nobody else does.
import assert from 'node:assert/strict';
import { constants, randomUUID, sign as signWith } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { RUN, assertProblem, echo, stage } from './lib/stage.mjs';
import { run, temporaryDirectory } from './lib/sidecar.mjs';
import { until } from './lib/until.mjs';
import {
    changeClaims,
    forge,
    hmac,
    jwks,
    makeClaims,
    makeKey,
    makeSecret,
    seconds,
    sign,
    signature,
    withPart,
} from './lib/tokens.mjs';

/** A sidecar that takes tokens of these keys, and `ask(token)`: a call with it. */
async function locked(t, keys, { env = {}, app } = {}) {
    const file = join(await temporaryDirectory(t), 'jwks.json');
    await writeFile(file, jwks(...keys));
    const all = await stage(t, {
        ...(app && { app }),
        env: { HOOKLINE_AUTH: 'jwt', HOOKLINE_JWT_JWKS_FILE: file, ...env },
    });
    const ask = (token, path = RUN, options = {}) =>
        all.call(path, {
            body: '{}',
            ...options,
            headers: { authorization: `Bearer ${token}`, ...options.headers },
        });
    return { ...all, file, ask };
}

/** 401 as RFC 6750 has it, and not a word to the app. */
function assertRefused(response, app, what) {
    assert.equal(response.status, 401, `${what}: ${response.text}`);
    assertProblem(response, 401);
    assert.match(response.headers['www-authenticate'], /^Bearer realm="hookline"/, what);
    assert.equal(app.requests.length, 0, `${what}: the app was called`);
}

test('good tokens of all three algorithms reach the app, again and again', async (t) => {
    const keys = [await makeKey('ES256'), await makeKey('RS256')];
    const secret = makeSecret();
    const { ask } = await locked(t, keys, { env: { HOOKLINE_JWT_SECRET: secret } });
    for (const key of [...keys, secret]) {
        const token = await sign(key);
        for (let i = 0; i < 3; i++) assert.equal((await ask(token)).status, 200);
    }
});

test('RSA keys of 4096 bits and tokens without a kid are taken', async (t) => {
    const key = await makeKey('RS256', undefined, { modulusLength: 4096 });
    const { ask } = await locked(t, [key]);
    assert.equal((await ask(await sign(key))).status, 200);
    assert.equal((await ask(await sign(key, {}, { kid: undefined }))).status, 200);
});

test('without a token a call is 401, whatever it asks for, and the app is not called', async (t) => {
    const { app, call, sidecar } = await locked(t, [await makeKey()]);
    for (const [path, options] of [
        [RUN, { body: '{}' }],
        [RUN, { method: 'GET' }],
        ['/v4/p/a/predict', { method: 'GET' }],
        [RUN, { query: { async: 'maybe' } }],
        [RUN, { query: { async: 'true', webhookEndpoint: 'http://10.0.0.1/' } }],
        ['/v2/projects/p/service-accounts', { method: 'GET' }],
    ]) {
        const r = await call(path, options);
        assertRefused(r, app, path);
        assert.equal(r.headers['www-authenticate'], 'Bearer realm="hookline"');
    }
    assert.equal(await sidecar.probe('/_hookline/healthz'), 200);
    assert.equal(await sidecar.probe('/_hookline/readyz'), 200);
});

test('other schemes than Bearer are 401, and the scheme’s case does not matter', async (t) => {
    const key = await makeKey();
    const { app, call, ask } = await locked(t, [key]);
    const token = await sign(key);
    for (const authorization of [token, `Basic ${token}`, 'Bearer', `Token ${token}`, 'Bearer ,']) {
        assertRefused(await call(RUN, { headers: { authorization } }), app, authorization);
    }
    for (const scheme of ['bearer', 'BEARER', 'Bearer '])
        assert.equal((await ask('', RUN, { headers: { authorization: `${scheme} ${token}` } })).status, 200);
});

test('hostile tokens are 401 and the app is not called', async (t) => {
    const ec = await makeKey('ES256', 'ec');
    const rsa = await makeKey('RS256', 'rsa');
    const stranger = await makeKey('ES256', 'ec');
    const { app, ask } = await locked(t, [ec, rsa]);
    const good = await sign(ec);
    const claims = makeClaims();
    const header = { alg: 'ES256', kid: 'ec' };
    const pem = await rsa.pem();
    const forged = (h, c = claims) => forge(h, c, signature(ec));
    const nested = (depth) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);
    const cases = {
        'an RSA public key (PEM) as HS256 secret': forge({ alg: 'HS256', kid: 'rsa' }, claims, hmac(pem)),
        'an RSA public key (PEM, trimmed) as HS256 secret': forge(
            { alg: 'HS256', kid: 'rsa' }, claims, hmac(pem.trim())),
        'an RSA modulus as HS256 secret': forge(
            { alg: 'HS256', kid: 'rsa' }, claims, hmac(Buffer.from(rsa.jwk.n, 'base64url'))),
        'HS256 without a kid, with no secret set': forge({ alg: 'HS256' }, claims, hmac(pem)),
        'HS256 with an empty secret': forge({ alg: 'HS256' }, claims, hmac('')),
        'ES256 that names the RSA key': forge({ alg: 'ES256', kid: 'rsa' }, claims, signature(ec)),
        'RS256 that names the EC key': forge({ alg: 'RS256', kid: 'ec' }, claims, signature(rsa)),
        'a key of its own in the header': forge(
            { ...header, jwk: stranger.jwk }, claims, signature(stranger)),
        'a key set of its own in the header': forge(
            { ...header, kid: 'x', jku: 'http://127.0.0.1:1/' }, claims, signature(stranger)),
        'a stranger’s signature': await sign(stranger),
        'PS256 with the RSA key': forge({ alg: 'PS256', kid: 'rsa' }, claims, (part) =>
            signWith('sha256', Buffer.from(part), {
                key: rsa.privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 })),
        'changed claims': changeClaims(good, { role: 'admin' }),
        'another project written in': changeClaims(good, { project_id: 'q' }),
        'a later end written in': changeClaims(good, { exp: seconds(7200) }),
        'a changed header': withPart(good, 0, () => forge(header, '').split('.')[0]),
        'a truncated signature': good.slice(0, -4),
        'a signature without its last byte': forge(header, claims, (p) => signature(ec)(p).subarray(0, 63)),
        'a signature with a byte more': forge(header, claims, (p) => Buffer.concat([signature(ec)(p), Buffer.of(0)])),
        'a DER signature': forge(header, claims, signature(ec, { dsaEncoding: 'der' })),
        'a signature of zeros': forge(header, claims, () => Buffer.alloc(64)),
        'no signature': good.replace(/[^.]+$/, ''),
        'no signature and no dot': good.replace(/\.[^.]+$/, ''),
        'expired': await sign(ec, { exp: seconds(-61) }),
        'expired long ago': await sign(ec, { exp: 1 }),
        'not valid yet': await sign(ec, { nbf: seconds(120) }),
        'no exp': await sign(ec, { exp: undefined }),
        'exp is text': await sign(ec, { exp: String(seconds(3600)) }),
        'exp in milliseconds': await sign(ec, { exp: Date.now() + 3600_000 }),
        'sub is not text': forged(header, { ...claims, sub: 7 }),
        'an unknown critical header': forged({ ...header, crit: ['x'], x: 1 }),
        'a known claim as critical header': forged({ ...header, crit: ['exp'], exp: claims.exp }),
        'an empty crit': forged({ ...header, crit: [] }),
        'a claim twice': forged(header, JSON.stringify(claims).replace('{', '{"project_id":"q",')),
        'a claim twice, spelt in another way': forged(
            header, JSON.stringify(claims).replace('{', '{"project\\u005fid":"q",')),
        'alg twice': forged('{"alg":"none","alg":"ES256","kid":"ec"}'),
        'nested too deep': forged(header, { ...claims, x: nested(40) }),
        'nested 4000 deep': forged(header, { ...claims, x: nested(2900) }),
        'padding': good.replace(/\./g, '=.'),
        'plain base64': withPart(good, 2, (s) => Buffer.from(s, 'base64url').toString('base64')),
        'a space inside': good.replace('.', '. '),
        'an array of claims': forged(header, '[]'),
        'claims with a byte order mark': forged(header, `\ufeff${JSON.stringify(claims)}`),
        'an unknown kid': forged({ alg: 'ES256', kid: 'nobody' }),
        'a kid of another type': forged({ alg: 'ES256', kid: ['ec'] }),
        'two tokens in one field': `${good},${good}`,
        'a token and more': `${good} ${good}`,
        'an encrypted token’s five parts': `${good}.a.b`,
    };
    for (const alg of ['none', 'None', 'NONE', 'nOnE', '', 'es256', 'ES256 ', 'ES384', 'HS384', 'EdDSA', null, 7, ['ES256']]) {
        cases[`alg ${JSON.stringify(alg)}, unsigned`] = forge({ alg, kid: 'ec' }, claims);
        cases[`alg ${JSON.stringify(alg)}, signed`] = forged({ alg, kid: 'ec' });
    }
    for (const [what, token] of Object.entries(cases)) {
        assertRefused(await ask(token), app, what);
        assertRefused(await ask(token), app, `${what}, a second time`);
    }
    assert.equal((await ask(good)).status, 200, 'the one that all the others are made of');
    assert.equal((await ask(forge(header, claims, signature(ec)))).status, 200, 'and a made one');
});

test('a token may be as long as a head, on every listener', async (t) => {
    const key = await makeKey('RS256');
    const { ask, connect, sidecar } = await locked(t, [key], { env: { HOOKLINE_MAX_HEAD: '128KiB' } });
    const groups = (n) => ({ groups: Array.from({ length: n }, () => randomUUID()) });
    for (const n of [157, 800, 1600]) {
        const token = await sign(key, groups(n));
        for (let i = 0; i < 3; i++) assert.equal((await ask(token)).status, 200, `${token.length} bytes`);
        assert.equal((await ask(changeClaims(token, { sub: 'else' }))).status, 401);
    }
    const admin = await sign(key, { role: 'admin', ...groups(600) });
    const file = join(await temporaryDirectory(t), 'token');
    await writeFile(file, `\ufeff${admin}\r\n\n`);
    for (const url of [sidecar.url, sidecar.adminUrl]) {
        const { code, stderr } = await run(['runs', 'list', '--url', url, '--token-file', file], {});
        assert.equal(code, 0, stderr);
    }
    const passed = await fetch(sidecar.adminUrl + RUN, { method: 'POST', headers: { authorization: `Bearer ${admin}` } });
    assert.equal(passed.status, 200, await passed.text());
    const client = await connect();
    await client.send(
        'GET /v4/p/a/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
            `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: chat, bearer.${admin}\r\n\r\n`,
    );
    const { status } = await client.response('GET');
    assert.ok(status < 400, `${status}`);
});

test('what is not ours in a token or a key set voids nothing, whatever its value', async (t) => {
    const key = await makeKey('ES256', 'ec');
    const odd = ['9223372036854775808', '-18446744073709551616', '1e400', '"\\u0000"', '"\\ud800"', '{"a\\u0000":[1e999]}'];
    const members = odd.map((value, i) => `"x${i}":${value}`).join(',');
    const { ask, file } = await locked(t, [key], { env: { HOOKLINE_JWT_ROLE_CLAIM: 'roles' } });
    const claims = JSON.stringify(makeClaims());
    const token = (value) => forge(`{"alg":"ES256","kid":"ec","y":${value}}`, claims.replace('{', `{"x":${value},`), signature(key));
    for (const value of odd) assert.equal((await ask(token(value))).status, 200, value);
    for (const [name, value] of [['exp', '1e400'], ['nbf', '9223372036854775808'], ['sub', '"a\\u0000"'], ['sub', '"\\udc00"']]) {
        const given = JSON.stringify(makeClaims({ [name]: undefined })).replace('{', `{"${name}":${value},`);
        const r = await ask(forge({ alg: 'ES256', kid: 'ec' }, given, signature(key)));
        assertProblem(r, 401);
        assert.match(r.text, new RegExp(`token's \`${name}\``), value);
    }
    const fresh = await makeKey('ES256', 'fresh');
    await writeFile(file, `{${members},"keys":[{"kty":"OKP",${members}},${JSON.stringify(fresh.jwk).replace('{', `{${members},`)}]}`);
    assert.equal((await ask(await sign(fresh))).status, 200, 'a set with members of others');
});

test('clocks may differ by a minute', async (t) => {
    const key = await makeKey();
    const { ask } = await locked(t, [key]);
    assert.equal((await ask(await sign(key, { exp: seconds(-30) }))).status, 200);
    assert.equal((await ask(await sign(key, { nbf: seconds(30) }))).status, 200);
});

test('two Authorization lines are 400 and the app is not called', async (t) => {
    const key = await makeKey();
    const { app, connect } = await locked(t, [key]);
    const token = await sign(key);
    const client = await connect();
    for (const second of [token, 'x', '']) {
        await client.send(
            `POST ${RUN} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n` +
                `Authorization: Bearer ${second}\r\nContent-Length: 0\r\n\r\n`,
        );
        const r = await client.response('POST');
        assert.equal(r.status, 400);
        assert.match(r.get('www-authenticate'), /error="invalid_request"/);
    }
    assert.equal(app.requests.length, 0);
});

test('a token in the query is not looked at', async (t) => {
    const key = await makeKey();
    const { app, call } = await locked(t, [key]);
    const token = await sign(key);
    for (const name of ['access_token', 'token', 'authorization', 'bearer', 'jwt'])
        assertRefused(await call(RUN, { query: { [name]: token } }), app, name);
});

test('a token of another project is 403, one of none as well', async (t) => {
    const key = await makeKey();
    const { app, ask } = await locked(t, [key]);
    for (const project_id of ['q', 'P', 'p ', '', undefined, 7, ['p'], null, 'x'.repeat(500)]) {
        const r = await ask(await sign(key, { project_id }));
        const { detail } = assertProblem(r, 403);
        const hasOne = ['q', 'P', 'p '].includes(project_id);
        assert.match(detail, hasOne ? /for another project/ : /has no claim that names/);
        assert.match(r.headers['www-authenticate'], /error="insufficient_scope"/);
    }
    assert.equal(app.requests.length, 0);
    assert.equal((await ask(await sign(key, { project_id: 'q' }), '/v4/q/a/run')).status, 200);
});

test('HOOKLINE_JWT_PROJECT_CLAIM names the claim, and empty turns the check off with a warning', async (t) => {
    const key = await makeKey();
    const claim = 'https://id.example/project';
    const { ask, sidecar } = await locked(t, [key], { env: { HOOKLINE_JWT_PROJECT_CLAIM: claim } });
    assert.equal((await ask(await sign(key, { [claim]: 'p', project_id: 'q' }))).status, 200);
    assert.equal((await ask(await sign(key))).status, 403);
    await sidecar.restart({ HOOKLINE_JWT_PROJECT_CLAIM: '' });
    assert.equal((await ask(await sign(key, { project_id: undefined }))).status, 200);
    await sidecar.logged((l) => l.level === 'warn' && /PROJECT_CLAIM/.test(l.msg));
});

test('HOOKLINE_JWT_ISSUER and _AUDIENCE are held to', async (t) => {
    const key = await makeKey();
    const good = { iss: 'https://id.example/', aud: ['other', 'hook'] };
    const { app, ask } = await locked(t, [key], {
        env: { HOOKLINE_JWT_ISSUER: good.iss, HOOKLINE_JWT_AUDIENCE: 'hook' },
    });
    for (const claims of [{}, { iss: good.iss }, { aud: 'hook' }, { ...good, iss: 'https://id.example' }, { ...good, aud: 'hoo' }])
        assertRefused(await ask(await sign(key, claims)), app, JSON.stringify(claims));
    assert.equal((await ask(await sign(key, good))).status, 200);
});

test('a token ends when it expires, though it was good before', async (t) => {
    const key = await makeKey();
    const { ask } = await locked(t, [key]);
    const token = await until('one comes in time', async () => {
        const one = await sign(key, { exp: seconds(-57) }); /* a minute’s leeway: three seconds more */
        return (await ask(one)).status === 200 && one;
    });
    for (;;) {
        const r = await ask(token);
        if (r.status === 401) break;
        assert.equal(r.status, 200);
        assert.ok(Date.now() / 1000 < seconds(60), 'it does not last');
    }
});

test('the token stays here, unless HOOKLINE_FORWARD_AUTHORIZATION is on', async (t) => {
    const key = await makeKey();
    const { app, ask, sidecar } = await locked(t, [key], { app: echo });
    const token = await sign(key);
    await ask(token);
    await ask(token, RUN, { query: { async: 'true' } });
    await until('the asynchronous run is inside the app', () => app.requests.length === 2);
    for (const seen of app.requests) {
        assert.equal(seen.get('authorization'), undefined);
        assert.ok(!JSON.stringify(seen.head.fields).includes(token));
    }
    await sidecar.restart({ HOOKLINE_FORWARD_AUTHORIZATION: 'on' });
    await ask(token);
    assert.equal(app.requests.at(-1).get('authorization'), `Bearer ${token}`);
});

test('what is passed through needs a token of HOOKLINE_PROJECT_ID, and without that setting is 404', async (t) => {
    const key = await makeKey();
    const { app, call, ask, sidecar } = await locked(t, [key]);
    for (const r of [await call('/other', { method: 'GET' }), await ask(await sign(key), '/other', { method: 'GET', body: undefined })])
        assertProblem(r, 404);
    assert.equal(app.requests.length, 0);
    await sidecar.restart({ HOOKLINE_PROJECT_ID: 'p' });
    assertRefused(await call('/other', { method: 'GET' }), app, 'no token');
    assertProblem(await ask(await sign(key, { project_id: 'q' }), '/other'), 403);
    assert.equal((await ask(await sign(key), '/other?a=b')).status, 200);
    assert.equal(app.requests.at(-1).target, '/other?a=b');
});

test('HOOKLINE_PUBLIC_PATHS are passed through without a token, whether or not a project is set', async (t) => {
    const key = await makeKey();
    for (const project of [{}, { HOOKLINE_PROJECT_ID: 'p' }]) {
        const env = { ...project, HOOKLINE_PUBLIC_PATHS: '/docs/*, /health' };
        const { app, call, connect, ask } = await locked(t, [key], { env });
        for (const path of ['/docs/', '/docs/a/b.css?x=../y', '/health'])
            assert.equal((await call(path, { method: 'GET' })).status, 200, path);
        assert.deepEqual(app.requests.map((r) => r.target), ['/docs/', '/docs/a/b.css?x=../y', '/health']);
        const status = project.HOOKLINE_PROJECT_ID ? 401 : 404;
        const client = await connect();
        for (const path of ['/docs', '/healthz', '/docs/../run', '/docs/%2E%2e/run', '/docs/a%2frun',
            '/docs/a%5crun', '/docs//run', '/docs/a;b', '/docs/a%00b', '/']) {
            await client.send(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
            assert.equal((await client.response()).status, status, path);
        }
        await client.send(
            'GET /docs/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
                'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
        );
        assert.equal((await client.response()).status, status, 'an upgrade');
        assert.equal(app.requests.length, 3);
        if (project.HOOKLINE_PROJECT_ID)
            assert.equal((await ask(await sign(key), '/docs')).status, 200);
    }
});

test('a star for all paths opens no run and nothing of hookline’s own', async (t) => {
    const { app, call } = await locked(t, [await makeKey()], { env: { HOOKLINE_PUBLIC_PATHS: '/*' } });
    assert.equal((await call('/anything', { method: 'GET' })).status, 200);
    for (const path of [RUN, '/v4/p/a/x', '/v2/projects/p/runs'])
        assert.equal((await call(path)).status, 401, path);
    assert.equal((await call('/_hookline/x')).status, 404);
    assert.equal(app.requests.length, 1);
});

test('an idempotency key belongs to a token’s subject', async (t) => {
    const key = await makeKey();
    const { ask } = await locked(t, [key]);
    const submit = async (claims) =>
        (await ask(await sign(key, claims), RUN, {
            query: { async: 'true' }, headers: { 'idempotency-key': 'k' },
        })).json().run_id;
    const first = await submit({ sub: 'ann' });
    assert.equal(await submit({ sub: 'ann' }), first, 'another token of the same subject');
    assert.notEqual(await submit({ sub: 'bob' }), first);
});

test('a refused call’s body is passed over, and the connection goes on', async (t) => {
    const key = await makeKey();
    const { connect } = await locked(t, [key]);
    const token = await sign(key);
    const client = await connect();
    const head = (authorization) =>
        `POST ${RUN} HTTP/1.1\r\nHost: a\r\n${authorization}Content-Length: 5\r\n\r\nhello`;
    await client.send(head('') + head(`Authorization: Bearer ${token}\r\n`) + head('Authorization: Bearer x\r\n') +
        head(`Authorization: Bearer ${token}\r\n`));
    const statuses = [];
    for (let i = 0; i < 4; i++) statuses.push((await client.response('POST')).status);
    assert.deepEqual(statuses, [401, 200, 401, 200]);
});

test('bytes that come while a token is being checked are not lost', async (t) => {
    const key = await makeKey();
    const { app, connect } = await locked(t, [key], { app: echo });
    for (let i = 0; i < 10; i++) {
        const client = await connect();
        const body = 'x'.repeat(50_000);
        await client.send(`POST ${RUN} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${await sign(key)}\r\n` +
            `Content-Length: ${body.length}\r\n\r\n`);
        await client.send(body.slice(0, 20_000));
        await client.send(body.slice(20_000));
        const r = await client.response('POST');
        assert.equal(r.status, 200);
        assert.equal(JSON.parse(r.body).body.length, body.length);
    }
    assert.equal(app.requests.length, 10);
});

test('callers that leave while their token is being checked harm nobody', async (t) => {
    const key = await makeKey();
    const { connect, ask } = await locked(t, [key]);
    await Promise.all(Array.from({ length: 40 }, async () => {
        const client = await connect();
        await client.send(`POST ${RUN} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${await sign(key)}\r\nContent-Length: 0\r\n\r\n`);
        client.reset();
    }));
    assert.equal((await ask(await sign(key))).status, 200);
});

test('more new tokens than can be checked are 503 with Retry-After, while a known one is served', async (t) => {
    const key = await makeKey();
    const stranger = await makeKey('ES256', key.kid);
    // A token is known to the worker that has seen it: with two, the other one would have to check it.
    const { ask, connect } = await locked(t, [key], { env: { HOOKLINE_WORKERS: '1' } });
    const good = await sign(key);
    assert.equal((await ask(good)).status, 200);
    const bad = await Promise.all(Array.from({ length: 400 }, () => sign(stranger)));
    const clients = await Promise.all(bad.map(() => connect()));
    const flood = Promise.all(clients.map(async (client, i) => {
        await client.send(`POST ${RUN} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${bad[i]}\r\nContent-Length: 0\r\n\r\n`);
        return client.response('POST');
    }));
    for (let i = 0; i < 20; i++) assert.equal((await ask(good)).status, 200);
    const seen = new Set();
    for (const r of await flood) {
        seen.add(r.status);
        if (r.status === 503) assert.equal(r.get('retry-after'), '1');
    }
    assert.deepEqual([...seen].sort(), [401, 503]);
    assert.equal((await ask(await sign(key))).status, 200);
});

test('a secret of less than 32 bytes stops the start, from a file too', async (t) => {
    const file = join(await temporaryDirectory(t), 'secret');
    await writeFile(file, makeSecret(31));
    for (const env of [{ HOOKLINE_JWT_SECRET: makeSecret(31) }, { HOOKLINE_JWT_SECRET_FILE: file }]) {
        const { code, stderr } = await run([], env);
        assert.equal(code, 2);
        assert.match(stderr, /HOOKLINE_JWT_SECRET.*32/);
        assert.ok(!Object.values(env).some((v) => v !== file && stderr.includes(v)), 'it is not shown');
    }
});

test('a secret from a file signs', async (t) => {
    const secret = makeSecret(32);
    const file = join(await temporaryDirectory(t), 'secret');
    await writeFile(file, `${secret}\n`);
    const { app, ask } = await locked(t, [await makeKey()], { env: { HOOKLINE_JWT_SECRET_FILE: file } });
    assert.equal((await ask(await sign(secret))).status, 200);
    assert.equal((await ask(await sign(secret, {}, { kid: 'any' }))).status, 200);
    app.requests.length = 0;
    assertRefused(await ask(await sign(makeSecret(32))), app, 'another secret');
});

test('the figures say what became of tokens', async (t) => {
    const key = await makeKey();
    const { ask, sidecar } = await locked(t, [key], { env: { HOOKLINE_WORKERS: '1' } });
    const token = await sign(key);
    for (let i = 0; i < 3; i++) await ask(token);
    await ask(await sign(await makeKey('ES256', key.kid)));
    assert.equal(await sidecar.metric('hookline_tokens_total', { outcome: 'good' }), 3);
    assert.equal(await sidecar.metric('hookline_tokens_total', { outcome: 'refused' }), 1);
    assert.equal(await sidecar.metric('hookline_tokens_total', { outcome: 'overflow' }), 0);
    assert.equal(await sidecar.metric('hookline_token_signatures_total'), 2, 'each token once');
    assert.equal(await sidecar.metric('hookline_keys'), 1);
});
