// Keys from outside: from a file and from a URL, new ones and old ones, and a URL that fails.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, readFile, readdir, rename, symlink, writeFile } from 'node:fs/promises';
import https from 'node:https';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { DnsServer } from './lib/dns.mjs';
import { RUN, assertProblem, stage } from './lib/stage.mjs';
import { startServer } from './lib/server.mjs';
import { freePort, run, temporaryDirectory } from './lib/sidecar.mjs';
import { until, within } from './lib/until.mjs';
import { jwks, makeCertificate, makeKey, sign } from './lib/tokens.mjs';

async function locked(t, env, command) {
    const all = await stage(t, { env: { HOOKLINE_AUTH: 'jwt', ...env }, command });
    const ask = (token) => all.call(RUN, { headers: { authorization: `Bearer ${token}` }, body: '{}' });
    return { ...all, ask };
}

/** A server of keys: `serve.body`, `serve.status`; counts what it was asked. */
async function keyServer(t, body) {
    const serve = { body, status: 200 };
    const server = await startServer(t, async (exchange) => {
        await serve.before?.(exchange);
        await exchange.send(serve.status, { 'Content-Type': 'application/json', ...serve.fields }, serve.body);
    });
    return Object.assign(serve, { server, url: `${server.url}/keys.json` });
}

/** The same over TLS: `answer(request)` gives a body, or `{ status, fields, body }`; `seen` has what was asked for. */
async function secureServer(t, certificate, answer) {
    const seen = [];
    const server = https.createServer(certificate, (request, response) => {
        seen.push(request);
        const said = answer(request, server);
        const { status = 200, fields = {}, body = said } = said?.body === undefined ? {} : said;
        response.writeHead(said ? status : 404, fields).end(said ? body : '');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(t, () => {
        server.closeAllConnections();
        server.close();
    });
    return { seen, url: `https://127.0.0.1:${server.address().port}` };
}

test('a key set behind a private authority is trusted by HOOKLINE_JWT_CA_FILE, which is read again', async (t) => {
    const directory = await temporaryDirectory(t);
    const key = await makeKey();
    const [right, wrong] = await Promise.all(['right', 'wrong'].map((name) => makeCertificate(directory, name)));
    const server = await secureServer(t, right, () => jwks(key));
    const file = join(directory, 'ca.pem');
    await copyFile(wrong.file, file);
    const { ask, sidecar } = await locked(t, { HOOKLINE_JWT_JWKS_URL: `${server.url}/keys`, HOOKLINE_JWT_CA_FILE: file });
    const refused = await sidecar.logged((l) => /JWKS_URL: no keys/.test(l.msg));
    assert.match(refused.error, /not trusted.*HOOKLINE_JWT_CA_FILE/);
    assert.equal(server.seen.length, 0);
    await copyFile(right.file, file);
    assert.equal((await ask(await sign(key))).status, 200, 'a name that is not known makes it look again');
});

const OPENID = '/.well-known/openid-configuration';
const OAUTH = '/.well-known/oauth-authorization-server';

/** An issuer over TLS: `pages` by path, each a body or a function of the server's own URL; `keys()` at `/keys`. */
async function startIssuer(t, keys, pages) {
    const directory = await temporaryDirectory(t);
    const certificate = await makeCertificate(directory);
    const server = await secureServer(t, certificate, ({ url }) => {
        if (url === '/keys') return keys();
        const page = pages[url];
        return typeof page === 'function' ? page(server.url) : page;
    });
    const env = { HOOKLINE_JWT_CA_FILE: certificate.file };
    return { ...server, env, paths: () => server.seen.map(({ url }) => url) };
}

const document = (path = '', keys = '/keys') => (url) =>
    JSON.stringify({ issuer: `${url}${path}`, jwks_uri: `${url}${keys}` });

for (const [what, path, place, before] of [
    ['its OpenID document', '', OPENID, []],
    ['a document before its path', '/realms/a', `${OAUTH}/realms/a`, [`/realms/a${OPENID}`, `${OPENID}/realms/a`, `/realms/a${OAUTH}`]],
]) {
    test(`an issuer’s keys are found by its name alone, by ${what}`, async (t) => {
        const key = await makeKey();
        const issuer = await startIssuer(t, () => jwks(key), { [OPENID]: '<html>', [place]: document(path) });
        const iss = `${issuer.url}${path}`;
        const { ask } = await locked(t, { HOOKLINE_JWT_ISSUER: iss, ...issuer.env });
        assert.equal((await ask(await sign(key, { iss }))).status, 200);
        assert.deepEqual(issuer.paths(), [...before, place, '/keys']);
        for (const other of [`${iss}/`, 'https://other.example', undefined]) {
            const refused = await ask(await sign(key, { iss: other }));
            assertProblem(refused, 401);
        }
    });
}

for (const [what, page, pages, why] of [
    ['names another issuer', (url) => JSON.stringify({ issuer: 'https://other.example', jwks_uri: `${url}/keys` }), {}, /another issuer/],
    ['is a redirect', (url) => ({ status: 302, fields: { Location: `${url}/good` }, body: '' }), { '/good': document() }, /redirects/],
    ['leads to a key set of 1 MiB', document('', '/big'), { '/big': jwks({ pad: 'x'.repeat(1_048_576) }) }, /larger than allowed/],
]) {
    test(`an issuer whose document ${what} has no keys yet, and the log says why`, async (t) => {
        const key = await makeKey();
        const issuer = await startIssuer(t, () => jwks(key), { [OPENID]: page, ...pages });
        const { ask, sidecar } = await locked(t, { HOOKLINE_JWT_ISSUER: issuer.url, ...issuer.env });
        const told = await sidecar.logged((l) => l.level === 'warn' && /JWT_ISSUER: no keys/.test(l.msg));
        assert.match(told.error, why);
        const token = await sign(key, { iss: issuer.url });
        await until('it can be had later', async () => (await ask(token)).status === 503);
        assert.ok(!issuer.paths().some((path) => ['/keys', '/good'].includes(path)));
    });
}

test('service-account tokens of a cluster are good by its issuer and its authority, with a token that it wants to see', async (t) => {
    const directory = await temporaryDirectory(t);
    const [certificate, key] = [await makeCertificate(directory, 'kube-apiserver'), await makeKey('RS256')];
    const [own, tokenFile] = ['token-of-the-pod.1.2', join(directory, 'token')];
    const forbidden = { status: 403, body: '{"kind":"Status","status":"Failure","reason":"Forbidden","code":403}' };
    const guarded = (pages) => ({ url, headers }) => (headers.authorization === `Bearer ${own}` ? pages[url] : forbidden);
    const pages = {};
    const address = await secureServer(t, certificate, guarded({ '/openid/v1/jwks': jwks(key) }));
    const cluster = await secureServer(t, certificate, guarded(pages));
    pages[OPENID] = JSON.stringify({
        ...{ issuer: cluster.url, jwks_uri: `${address.url}/openid/v1/jwks` },
        ...{ response_types_supported: ['id_token'], subject_types_supported: ['public'] },
        id_token_signing_alg_values_supported: ['RS256'],
    });
    await writeFile(tokenFile, 'token-that-has-expired\n');
    const { ask, app, sidecar } = await locked(t, {
        ...{ HOOKLINE_JWT_ISSUER: cluster.url, HOOKLINE_JWT_CA_FILE: certificate.file, HOOKLINE_JWT_KEYS_TOKEN_FILE: tokenFile },
        ...{ HOOKLINE_JWT_AUDIENCE: 'hookline', HOOKLINE_JWT_PROJECT_CLAIM: '', HOOKLINE_PROJECT_ID: 'p' },
    });
    const refused = await sidecar.logged((l) => /JWT_ISSUER: no keys/.test(l.msg));
    assert.match(refused.error, /HOOKLINE_JWT_KEYS_TOKEN_FILE/);
    await writeFile(tokenFile, `${own}\n`);
    const claims = {
        ...{ iss: cluster.url, aud: ['hookline'], sub: 'system:serviceaccount:shop:caller', project_id: undefined },
        'kubernetes.io': { namespace: 'shop', serviceaccount: { name: 'caller', uid: '5d0b4d2c' }, pod: { name: 'caller-0' } },
    };
    assert.equal((await ask(await sign(key, claims))).status, 200);
    assert.equal(app.requests.length, 1);
    assertProblem(await ask(await sign(key, { ...claims, aud: ['https://kubernetes.default.svc'] })), 401);
    assert.ok(!sidecar.stderr.includes('token-of-the-pod') && !sidecar.stderr.includes('token-that-has'));
});

test('keys that change each time they are asked for are asked for no more often', async (t) => {
    const made = [];
    const fresh = await Promise.all(Array.from({ length: 6 }, () => makeKey()));
    const issuer = await startIssuer(t, () => jwks(made[made.push(fresh[made.length]) - 1]), { [OPENID]: document() });
    const { ask } = await locked(t, { HOOKLINE_JWT_ISSUER: issuer.url, ...issuer.env });
    const statuses = [];
    for (const key of fresh) statuses.push((await ask(await sign(key, { iss: issuer.url }))).status);
    assert.deepEqual(statuses, [200, 200, 401, 401, 401, 401], 'the first, and the one that a new name had fetched');
    assert.equal(made.length, 2);
    assert.equal((await ask(await sign(fresh[1], { iss: issuer.url }))).status, 200);
});

test('keys come from a URL, and the first tokens wait for them', async (t) => {
    const key = await makeKey();
    const keys = await keyServer(t, jwks(key));
    let release;
    const held = new Promise((resolve) => (release = resolve));
    keys.before = () => held;
    const { ask } = await locked(t, { HOOKLINE_JWT_JWKS_URL: keys.url });
    const waiting = ask(await sign(key));
    await until('the keys are asked for', () => keys.server.requests.length === 1);
    release();
    assert.equal((await waiting).status, 200);
    const seen = keys.server.requests[0];
    assert.equal(seen.target, '/keys.json');
    assert.match(seen.get('user-agent'), /^hookline\//);
});

test('a token of a key that is new at the URL makes hookline fetch it, but once for many', async (t) => {
    const [old, fresh] = [await makeKey(), await makeKey()];
    const keys = await keyServer(t, jwks(old));
    const { ask } = await locked(t, { HOOKLINE_JWT_JWKS_URL: keys.url });
    assert.equal((await ask(await sign(old))).status, 200);
    keys.body = jwks(old, fresh);
    assert.equal((await ask(await sign(fresh))).status, 200);
    assert.equal(keys.server.requests.length, 2);
    for (let i = 0; i < 20; i++) {
        const nobody = await makeKey();
        assert.equal((await ask(await sign(nobody))).status, 401);
    }
    assert.equal(keys.server.requests.length, 2, 'within 30 s not a third time');
    assert.equal((await ask(await sign(old))).status, 200);
});

test('a key that is gone takes its tokens along, those that were good before too', async (t) => {
    const [gone, stays, fresh] = [await makeKey(), await makeKey(), await makeKey()];
    const keys = await keyServer(t, jwks(gone, stays));
    const { ask } = await locked(t, { HOOKLINE_JWT_JWKS_URL: keys.url });
    const tokens = { gone: await sign(gone), stays: await sign(stays) };
    for (let i = 0; i < 6; i++) /* both workers know them */
        for (const token of Object.values(tokens)) assert.equal((await ask(token)).status, 200);
    keys.body = jwks(stays, fresh);
    assert.equal((await ask(await sign(fresh))).status, 200);
    for (let i = 0; i < 6; i++) {
        assertProblem(await ask(tokens.gone), 401);
        assert.equal((await ask(tokens.stays)).status, 200);
    }
});

test('a key that was replaced under its old name, or none, is fetched when a token is not good by the old one', async (t) => {
    const make = async () => {
        const [named, bare] = [await makeKey('ES256', 'same'), await makeKey('RS256', 'bare')];
        delete bare.jwk.kid;
        return { named, bare };
    };
    const [old, fresh] = [await make(), await make()];
    const keys = await keyServer(t, jwks(old.named, old.bare));
    const { ask } = await locked(t, { HOOKLINE_JWT_JWKS_URL: keys.url });
    assert.equal((await ask(await sign(old.bare, {}, { kid: undefined }))).status, 200);
    keys.body = jwks(fresh.named, fresh.bare);
    assert.equal((await ask(await sign(fresh.bare, {}, { kid: undefined }))).status, 200);
    assert.equal((await ask(await sign(fresh.named))).status, 200);
    assert.equal(keys.server.requests.length, 2);
    for (let i = 0; i < 5; i++) assert.equal((await ask(await sign(old.named, { n: i }))).status, 401);
    assert.equal(keys.server.requests.length, 2, 'within 30 s not a third time');
    const other = await makeKey();
    keys.body = jwks(other);
    assert.equal((await ask(await sign(other))).status, 200, 'bad tokens take nothing from a new name');
});

test('each of several keys that may have signed a token is tried, whatever their names', async (t) => {
    const named = [];
    for (const [alg, kid] of [['ES256', 'same'], ['RS256', 'same'], ['ES256', 'same'], ['ES256', 'other'], ['RS256', 'other']])
        named.push(await makeKey(alg, kid));
    const unnamed = await makeKey('ES256', undefined);
    delete unnamed.jwk.kid;
    const file = join(await temporaryDirectory(t), 'jwks.json');
    await writeFile(file, jwks(...named, unnamed));
    const { ask } = await locked(t, { HOOKLINE_JWT_JWKS_FILE: file });
    for (const key of [...named, unnamed]) {
        assert.equal((await ask(await sign(key, {}, { kid: undefined }))).status, 200, `${key.alg} without a name`);
        if (key !== unnamed) assert.equal((await ask(await sign(key))).status, 200, `${key.alg} ${key.kid}`);
    }
    const stranger = await makeKey('ES256', 'same');
    assert.equal((await ask(await sign(stranger))).status, 401);
    assert.equal((await ask(await sign(stranger, {}, { kid: undefined }))).status, 401);
    assert.equal((await ask(await sign(named[0], {}, { kid: 'nobody' }))).status, 401, 'a name that nothing has');
});

test('another key under a known name is another key', async (t) => {
    const [old, fresh] = [await makeKey('ES256', 'same'), await makeKey('ES256', 'same')];
    const other = await makeKey();
    const keys = await keyServer(t, jwks(old));
    const { ask } = await locked(t, { HOOKLINE_JWT_JWKS_URL: keys.url });
    const tokens = { old: await sign(old), fresh: await sign(fresh) };
    assert.equal((await ask(tokens.old)).status, 200);
    assert.equal((await ask(tokens.fresh)).status, 401);
    keys.body = jwks(fresh, other);
    assert.equal((await ask(await sign(other))).status, 200, 'which makes it fetch');
    assert.equal((await ask(tokens.fresh)).status, 200);
    assert.equal((await ask(tokens.old)).status, 401);
});

for (const [what, change] of [
    ['answers 500', (keys) => (keys.status = 500)],
    ['answers something else', (keys) => (keys.body = '<html>')],
    ['answers a set without keys', (keys) => (keys.body = jwks())],
    ['answers none that can be used', (keys) => (keys.body = jwks({ kty: 'OKP', crv: 'Ed25519', x: 'AA' }))],
    ['answers a redirect', (keys) => Object.assign(keys, { status: 302, fields: { Location: '/x' } })],
    ['answers more than 256 KiB', (keys) => (keys.body = jwks({ pad: 'x'.repeat(300_000) }))],
    ['is gone', (keys) => keys.server.close()],
]) {
    test(`keys that were there stay while the URL ${what}`, async (t) => {
        const key = await makeKey();
        const keys = await keyServer(t, jwks(key));
        const { ask, sidecar } = await locked(t, { HOOKLINE_JWT_JWKS_URL: keys.url });
        assert.equal((await ask(await sign(key))).status, 200);
        await change(keys);
        assert.equal((await ask(await sign(await makeKey()))).status, 401);
        assert.ok((await sidecar.metric('hookline_jwks_age_seconds')) > 0);
        await until('the log says it', () => sidecar.log.some((l) => l.level === 'warn' && /JWKS_URL: no keys/.test(l.msg)));
        assert.equal((await ask(await sign(key))).status, 200);
    });
}

test('while no keys have come yet, their tokens are 503 and the start is not held up', async (t) => {
    const { ask, sidecar } = await locked(t, { HOOKLINE_JWT_JWKS_URL: 'http://127.0.0.1:1/keys' });
    await until('the first fetch has failed', () => sidecar.log.some((l) => /JWKS_URL: no keys/.test(l.msg)));
    const token = await sign(await makeKey());
    await until('the second one too', async () => (await ask(token)).status === 503);
    const r = await ask(token);
    assertProblem(r, 503);
    assert.ok(r.headers['retry-after']);
});

/** The names of a sidecar's threads. */
async function threads({ pid }) {
    const ids = await readdir(`/proc/${pid}/task`);
    const names = ids.map((id) => readFile(`/proc/${pid}/task/${id}/comm`, 'utf8').catch(() => ''));
    return (await Promise.all(names)).map((name) => name.trim());
}

test('a name server that says nothing of the URL’s host holds up neither start, webhooks nor end', async (t) => {
    const started = await DnsServer.start(t, 'timeout:30 attempts:2');
    if (!started) return;
    const { dns, command } = started;
    dns.set('keys.test', 'SILENCE');
    const secret = 'a-secret-of-thirty-two-bytes-or-more';
    const env = { HOOKLINE_JWT_JWKS_URL: 'http://keys.test/keys', HOOKLINE_JWT_SECRET: secret };
    const { call, receiver, sidecar } = await locked(t, env, command);
    await until('the host is looked up', () => dns.count('keys.test') > 0);
    const keepers = (await threads(sidecar)).filter((name) => name === 'auth-keys');
    assert.equal(keepers.length, 1, 'a thread of a look-up cannot be taken back');
    const headers = { authorization: `Bearer ${await sign(secret)}` };
    const query = { webhookEndpoint: receiver.url() };
    assert.equal((await call(RUN, { headers, query })).status, 200);
    await receiver.delivered();
    sidecar.signal('SIGTERM');
    assert.equal((await within('the end', sidecar.exited())).code, 0);
});

test('keys come from a name that is looked up anew for each fetch', async (t) => {
    const [old, fresh] = [await makeKey(), await makeKey()];
    const started = await DnsServer.start(t);
    if (!started) return;
    const { dns, command } = started;
    const port = await freePort();
    const serve = (key, host) => startServer(t, (x) => x.send(200, {}, jwks(key)), port, host);
    await serve(old, '127.0.0.2');
    await serve(fresh, '127.0.0.3');
    dns.set('keys.test', ['127.0.0.2'], ['127.0.0.3']);
    const { ask } = await locked(t, { HOOKLINE_JWT_JWKS_URL: `http://keys.test:${port}/keys` }, command);
    assert.equal((await ask(await sign(old))).status, 200);
    assert.equal((await ask(await sign(fresh))).status, 200, 'a new name of a key makes it fetch');
});

test('a URL in the log is its host only, and http is warned about', async (t) => {
    const keys = await keyServer(t, 'nothing');
    const { sidecar } = await locked(t, { HOOKLINE_JWT_JWKS_URL: `${keys.url}?secret=sesame` });
    await until('it failed', () => sidecar.log.some((l) => /JWKS_URL: no keys/.test(l.msg)));
    await sidecar.logged((l) => l.level === 'warn' && /JWKS_URL is http/.test(l.msg));
    assert.ok(!sidecar.stderr.includes('sesame') && !sidecar.stderr.includes('keys.json'));
});

test('keys in a file are read again when the file changes', async (t) => {
    const [old, fresh] = [await makeKey(), await makeKey('RS256')];
    const file = join(await temporaryDirectory(t), 'jwks.json');
    await writeFile(file, jwks(old));
    const { ask, sidecar } = await locked(t, { HOOKLINE_JWT_JWKS_FILE: file });
    const token = await sign(old);
    assert.equal((await ask(token)).status, 200);
    await writeFile(`${file}.new`, jwks(fresh));
    await rename(`${file}.new`, file);
    assert.equal((await ask(await sign(fresh))).status, 200, 'a new name makes it look at once');
    assert.equal((await ask(token)).status, 401);
    await writeFile(file, 'broken');
    await until('it was looked at', () => sidecar.log.some((l) => l.level === 'warn' && /JWKS_FILE/.test(l.msg)));
    assert.equal((await ask(await sign(fresh))).status, 200);
});

test('what is not a regular file stops the start, and holds nothing up; a link to one is good', async (t) => {
    const directory = await temporaryDirectory(t);
    const [fifo, file, link] = ['fifo', 'secret', 'link'].map((name) => join(directory, name));
    execFileSync('mkfifo', [fifo]);
    await writeFile(file, 'a-secret-of-thirty-two-bytes-or-more\n');
    await symlink('secret', link);
    const env = { HOOKLINE_LISTEN: '127.0.0.1:0', HOOKLINE_ADMIN_LISTEN: '127.0.0.1:0' };
    for (const name of ['JWT_JWKS_FILE', 'JWT_SECRET_FILE', 'WEBHOOK_SECRET_FILE', 'WEBHOOK_CA_FILE', 'KEY_FILE'])
        for (const path of [fifo, directory, '/dev/null']) {
            env.HOOKLINE_DATA_DIR = join(directory, 'store');
            const { code, stderr } = await within(name, run([], { ...env, [`HOOKLINE_${name}`]: path }));
            assert.ok(code === 1 || code === 2, `${name} ${path}: ${stderr}`);
            const reason = stderr.split('\n').find((line) => line.includes(path));
            assert.match(reason ?? stderr, /not a regular file/, name);
        }
    const { ask } = await locked(t, { HOOKLINE_JWT_SECRET_FILE: link });
    assert.equal((await ask(await sign('a-secret-of-thirty-two-bytes-or-more'))).status, 200);
});

test('what editors and echo put around a secret or a key set is no part of it', async (t) => {
    const [secret, key] = ['a-secret-of-thirty-two-bytes-or-more', await makeKey()];
    const file = join(await temporaryDirectory(t), 'jwks.json');
    await writeFile(file, `\ufeff${jwks(key)}\r\n`);
    const { ask } = await locked(t, { HOOKLINE_JWT_SECRET: `\ufeff${secret}\n`, HOOKLINE_JWT_JWKS_FILE: file });
    for (const signer of [secret, key]) assert.equal((await ask(await sign(signer))).status, 200);
});

test('a file that is not a key set stops the start', async (t) => {
    const file = join(await temporaryDirectory(t), 'jwks.json');
    for (const text of [null, '', '{}', 'nonsense', '[]']) {
        if (text !== null) await writeFile(file, text);
        const { code, stderr } = await run([], {
            HOOKLINE_JWT_JWKS_FILE: file,
            HOOKLINE_STORE: 'memory',
            HOOKLINE_LISTEN: '127.0.0.1:0',
            HOOKLINE_ADMIN_LISTEN: '127.0.0.1:0',
        });
        assert.equal(code, 1, stderr);
        assert.match(stderr, /HOOKLINE_JWT_JWKS_FILE/);
    }
});

test('symmetric keys in a key set do not count', async (t) => {
    const secret = 'a-secret-that-everybody-may-read-in-the-set';
    const file = join(await temporaryDirectory(t), 'jwks.json');
    await writeFile(file, jwks({ kty: 'oct', kid: 'k', alg: 'HS256', k: Buffer.from(secret).toString('base64url') }));
    const { ask } = await locked(t, { HOOKLINE_JWT_JWKS_FILE: file });
    assert.equal((await ask(await sign(secret, {}, { kid: 'k' }))).status, 401);
});
