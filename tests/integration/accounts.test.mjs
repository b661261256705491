// Our own tokens, and who is an admin: the key and the accounts outlive the process, and nothing of them is in a log.
import assert from 'node:assert/strict';
import { readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { control, rest } from './lib/rest.mjs';
import { findSecret, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { changeClaims, decode, forge, hmac, jwks, makeKey, makeSecret, sign } from './lib/tokens.mjs';

const ACCOUNTS = '/v2/projects/p/service-accounts';

async function locked(t, env = {}) {
    const all = await stage(t, { env: { HOOKLINE_AUTH: 'jwt', ...env } });
    const create = async (role = 'invoke', ms = 3_600_000) => {
        const body = { name: 'ci', role, expires_at: new Date(Date.now() + ms).toISOString() };
        const answer = await control(all.sidecar)('POST', ACCOUNTS, { body });
        assert.equal(answer.status, 201, answer.text);
        return answer.json();
    };
    const ask = async (token) =>
        (await all.call(RUN, { headers: { authorization: `Bearer ${token}` }, body: '{}' })).status;
    return { ...all, create, ask };
}

test('our own tokens are ES256, name our key, and are good on every worker', async (t) => {
    const { create, ask } = await locked(t, { HOOKLINE_WORKERS: '3' });
    const { token, id } = await create();
    const [header, claims] = token.split('.', 2).map(decode);
    assert.equal(header.alg, 'ES256');
    assert.equal(header.kid.length, 43);
    assert.deepEqual(
        { iss: claims.iss, jti: claims.jti, project_id: claims.project_id, role: claims.role },
        { iss: 'hookline', jti: id, project_id: 'p', role: 'invoke' },
    );
    for (let i = 0; i < 12; i++) assert.equal(await ask(token), 200);
});

test('our own tokens cannot be altered, nor made with anything else than our key', async (t) => {
    const secret = makeSecret();
    const { create, ask } = await locked(t, { HOOKLINE_JWT_SECRET: secret });
    const { token } = await create();
    const [header, claims] = token.split('.', 2).map(decode);
    const stranger = await makeKey('ES256', header.kid);
    for (const bad of [
        changeClaims(token, { role: 'admin' }),
        changeClaims(token, { exp: claims.exp + 86_400 }),
        await sign(stranger, claims),
        forge({ alg: 'HS256', kid: header.kid }, claims, hmac(secret)),
        forge({ alg: 'none', kid: header.kid }, claims),
    ])
        assert.equal(await ask(bad), 401);
    assert.equal(await ask(await sign(secret, { ...claims, project_id: 'p' })), 200, 'from outside it is only that');
    assert.equal(await ask(token), 200);
});

test('key and accounts outlive a restart and a kill; another data directory knows neither', async (t) => {
    const { create, ask, sidecar, app } = await locked(t);
    const [first, second] = [await create(), await create()];
    assert.equal(await ask(first.token), 200);
    assert.equal((await control(sidecar)('DELETE', `${ACCOUNTS}/${second.id}`)).status, 204);
    await sidecar.kill();
    await sidecar.start();
    assert.equal(await ask(first.token), 200);
    assert.equal(await ask(second.token), 401);
    await sidecar.restart();
    assert.equal(await ask(first.token), 200);
    assert.equal(await ask(second.token), 401);
    const other = await startSidecar(t, { env: { HOOKLINE_AUTH: 'jwt', HOOKLINE_APP_URL: app.url } });
    const answer = await rest(other, { token: first.token })('GET', '/v2/projects/p');
    assert.equal(answer.status, 401);
});

test('tokens are good as long as the database is there: no other file has to be kept beside the data key', async (t) => {
    const { create, ask, sidecar } = await locked(t);
    const { token } = await create();
    await sidecar.stop();
    for (const name of await readdir(sidecar.dataDir))
        if (!/^(hookline\.db|key$)/.test(name)) await rm(join(sidecar.dataDir, name), { recursive: true });
    await sidecar.start();
    assert.equal(await ask(token), 200);
});

test('the data directory’s files are their owner’s alone, and none has a token', async (t) => {
    const { create, sidecar } = await locked(t);
    const { token } = await create();
    for (const name of await readdir(sidecar.dataDir)) {
        const path = join(sidecar.dataDir, name);
        const { mode } = await stat(path);
        assert.equal(mode & 0o077, 0, name);
        if ((await stat(path)).isFile()) {
            const bytes = await readFile(path, 'latin1');
            assert.ok(!bytes.includes(token) && !findSecret(bytes, {}), name);
        }
    }
});

test('with HOOKLINE_STORE=memory key and tokens end with the process', async (t) => {
    const { create, ask, sidecar } = await locked(t, { HOOKLINE_STORE: 'memory' });
    const { token } = await create();
    assert.equal(await ask(token), 200);
    await sidecar.restart();
    assert.equal(await ask(token), 401);
});

test('last_used_at comes to be known', async (t) => {
    const { create, ask, sidecar } = await locked(t);
    const { token, id } = await create();
    const began = Date.now() - 1000;
    assert.equal(await ask(token), 200);
    await sidecar.restart(); /* what was not written yet is written at the end */
    const { service_accounts } = (await control(sidecar)('GET', ACCOUNTS)).json();
    const used = service_accounts.find((account) => account.id === id).last_used_at;
    assert.ok(Date.parse(used) >= began && Date.parse(used) <= Date.now(), used);
});

test('a token from outside is an admin only if its role says so', async (t) => {
    const key = await makeKey();
    const file = join(await temporaryDirectory(t), 'jwks.json');
    await writeFile(file, jwks(key));
    const { sidecar } = await locked(t, { HOOKLINE_JWT_JWKS_FILE: file });
    const list = async (claims) =>
        (await rest(sidecar, { token: await sign(key, claims) })('GET', '/v2/projects/p/deliveries')).status;
    assert.equal(await list({ role: 'admin' }), 200);
    assert.equal(await list({ role: ['user', 'admin'] }), 200);
    for (const role of [undefined, 'invoke', 'Admin', 'administrator', true, { admin: true }])
        assert.equal(await list({ role }), 403, JSON.stringify(role));
    await sidecar.restart({ HOOKLINE_JWT_ROLE_CLAIM: 'https://id.example/role' });
    assert.equal(await list({ role: 'admin' }), 403);
    assert.equal(await list({ 'https://id.example/role': 'admin' }), 200);
    await sidecar.restart({ HOOKLINE_JWT_ROLE_CLAIM: '' });
    assert.equal(await list({ role: 'admin', '': 'admin' }), 403);
});

test('no token and no secret is in a log, whatever goes wrong with it', async (t) => {
    const secret = makeSecret();
    const { create, ask, sidecar, connect } = await locked(t, { HOOKLINE_JWT_SECRET: secret });
    const { token } = await create();
    const tokens = [token, await sign(secret), await sign(makeSecret()), await sign(secret, { exp: 1 }), `${token}x`];
    for (const one of tokens) await ask(one);
    const client = await connect();
    await client.send(`GET /v4/p/a/x?token=${token} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n bad\r\n\r\n`);
    await client.response();
    await sidecar.stop();
    for (const one of [...tokens, secret]) {
        assert.ok(!sidecar.stderr.includes(one));
        assert.ok(!sidecar.stderr.includes(one.split('.').at(-1)), 'nor its signature');
    }
    assert.equal(findSecret(`x ${token} y`, {}), token, 'the check of every sidecar’s output would see it');
    assert.equal(findSecret(`x ${secret} y`, { HOOKLINE_JWT_SECRET: secret }), secret);
});
