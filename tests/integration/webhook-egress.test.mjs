// What webhooks carry to trusted hosts, the proxy they leave through, and what of a response goes along.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import https from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { startConnectProxy } from './lib/connect_proxy.mjs';
import { control } from './lib/rest.mjs';
import { DnsServer } from './lib/dns.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { startServer } from './lib/server.mjs';
import { freePort, run, temporaryDirectory } from './lib/sidecar.mjs';
import { until } from './lib/until.mjs';

const PUBLIC = 'https://runs.example/base/';

/** A certificate of its own: `{ certFile, keyFile, key, cert }`. */
async function makeCertificate(directory, name, subjectAltName) {
    const [keyFile, certFile] = [join(directory, `${name}.key`), join(directory, `${name}.pem`)];
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    const names = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${subjectAltName}`];
    const files = ['-keyout', keyFile, '-out', certFile];
    await promisify(execFile)('openssl', ['req', '-x509', ...kind, ...names, ...files]);
    return { keyFile, certFile, key: await readFile(keyFile), cert: await readFile(certFile) };
}

/** An https receiver that asks for certificates: `{ port, shown }`, the common names in `shown`. */
async function startMutual(t, own, ca) {
    const shown = [];
    const options = { key: own.key, cert: own.cert, ca, requestCert: true, rejectUnauthorized: false };
    const server = https.createServer(options, (request, response) => {
        shown.push(request.socket.getPeerCertificate()?.subject?.CN ?? null);
        request.resume().on('end', () => response.end());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(t, () => {
        server.closeAllConnections();
        server.close();
    });
    return { port: server.address().port, shown };
}

test('fields of the operator go to trusted hosts and to nobody else', async (t) => {
    const { call, receiver, sidecar } = await stage(t, {
        env: {
            HOOKLINE_WEBHOOK_TRUSTED_HOSTS: 'LOCALHOST',
            HOOKLINE_WEBHOOK_ALLOW: '127.0.0.0/8,::1',
            HOOKLINE_WEBHOOK_HEADERS: 'Authorization: Bearer hush-1\nX-Tenant: 7',
        },
    });
    const trusted = receiver.url('/trusted').replace('127.0.0.1', 'localhost');
    await call(RUN, { query: { webhookEndpoint: trusted } });
    await call(RUN, { query: { webhookEndpoint: receiver.url('/other') } });
    const delivery = await receiver.delivered('/trusted');
    assert.equal(delivery.get('authorization'), 'Bearer hush-1');
    assert.equal(delivery.get('x-tenant'), '7');
    const other = await receiver.delivered('/other');
    assert.equal(other.get('authorization'), undefined);
    assert.equal(other.get('x-tenant'), undefined);
    assert.ok(!sidecar.stderr.includes('hush-1'));
});

test('a client certificate is shown to trusted hosts alone, and read again when it changes', async (t) => {
    const directory = await temporaryDirectory(t);
    const own = await makeCertificate(directory, 'receiver', 'IP:127.0.0.1,DNS:localhost');
    const first = await makeCertificate(directory, 'first', 'DNS:first');
    const second = await makeCertificate(directory, 'second', 'DNS:second');
    const [certFile, keyFile] = [join(directory, 'cert'), join(directory, 'key')];
    await copyFile(first.certFile, certFile);
    await copyFile(first.keyFile, keyFile);
    const server = await startMutual(t, own, [first.cert, second.cert]);
    const { call } = await stage(t, {
        env: {
            HOOKLINE_WEBHOOK_TRUSTED_HOSTS: 'localhost',
            HOOKLINE_WEBHOOK_ALLOW: '127.0.0.0/8,::1',
            HOOKLINE_WEBHOOK_CA_FILE: own.certFile,
            HOOKLINE_WEBHOOK_CLIENT_CERT_FILE: certFile,
            HOOKLINE_WEBHOOK_CLIENT_KEY_FILE: keyFile,
        },
    });
    const send = async (host) => {
        const count = server.shown.length;
        await call(RUN, { query: { webhookEndpoint: `https://${host}:${server.port}/hook` } });
        await until('it arrived', () => server.shown.length > count);
        return server.shown.at(-1);
    };
    assert.equal(await send('localhost'), 'first');
    assert.equal(await send('127.0.0.1'), null);
    await writeFile(certFile, 'no certificate');
    assert.equal(await send('localhost'), 'first');
    await copyFile(second.keyFile, keyFile);
    await copyFile(second.certFile, certFile);
    await until('the new one is shown', async () => (await send('localhost')) === 'second');
});

test('a proxy is asked for the checked address, for http too, and sees nothing of the delivery', async (t) => {
    const proxy = await startConnectProxy(t, { credentials: 'egress:p@ss' });
    const { call, receiver } = await stage(t, {
        env: {
            no_proxy: '*', // plays no part
            HOOKLINE_WEBHOOK_PROXY: proxy.url('egress:p%40ss'),
            HOOKLINE_WEBHOOK_ALLOW: '127.0.0.0/8,::1',
            HOOKLINE_WEBHOOK_SECRET: 's3cret',
        },
    });
    const url = receiver.url().replace('127.0.0.1', 'localhost');
    for (let i = 1; i <= 3; i++) {
        await call(RUN, { query: { webhookEndpoint: url } });
        await receiver.delivered('/hook', i);
    }
    const { port } = new URL(url);
    const delivery = await receiver.delivered();
    assert.equal(delivery.get('host'), `localhost:${port}`);
    assert.equal(delivery.get('proxy-authorization'), undefined);
    assert.equal(proxy.others, 0);
    for (const { authority, head } of proxy.asked) {
        assert.ok([`127.0.0.1:${port}`, `[::1]:${port}`].includes(authority), authority);
        assert.equal(head['webhook-signature'], undefined);
        assert.equal(head['x-request-id'], undefined);
    }
    assert.equal(proxy.tunnels, 1, 'a kept tunnel is used again');
});

test('https through a proxy: the name stays in SNI and Host, the certificate is checked against it', async (t) => {
    const directory = await temporaryDirectory(t);
    const own = await makeCertificate(directory, 'receiver', 'DNS:localhost');
    const server = await startMutual(t, own, []);
    const proxy = await startConnectProxy(t);
    const { call } = await stage(t, {
        env: {
            HOOKLINE_WEBHOOK_PROXY: proxy.url(),
            HOOKLINE_WEBHOOK_ALLOW: '127.0.0.0/8,::1',
            HOOKLINE_WEBHOOK_CA_FILE: own.certFile,
        },
    });
    await call(RUN, { query: { webhookEndpoint: `https://localhost:${server.port}/` } });
    await until('it arrived', () => server.shown.length === 1);
    assert.match(proxy.asked[0].authority, /^(127\.0\.0\.1|\[::1\]):/);
});

test('the guard judges addresses before the proxy is asked for them', async (t) => {
    const proxy = await startConnectProxy(t);
    const { call, sidecar, receiver } = await stage(t, {
        env: { HOOKLINE_WEBHOOK_PROXY: proxy.url(), HOOKLINE_WEBHOOK_ALLOW: '10.9.9.9' },
    });
    const url = receiver.url().replace('127.0.0.1', 'localhost');
    const { id } = await call(RUN, { query: { webhookEndpoint: url } });
    const attempt = await deadAttempt(sidecar, id);
    assert.match(attempt.error, /^blocked_address/);
    assert.equal(proxy.asked.length, 0);
});

test('a proxy that resolves gets the name', async (t) => {
    const { receiver, call } = await stage(t, {
        env: { HOOKLINE_WEBHOOK_PROXY: 'http://127.0.0.1:1', HOOKLINE_WEBHOOK_ATTEMPTS: '1' },
    });
    const { port } = new URL(receiver.url());
    const proxy = await startConnectProxy(t, { route: () => `127.0.0.1:${port}` });
    const other = await stage(t, {
        env: {
            HOOKLINE_WEBHOOK_PROXY: proxy.url().replace('127.0.0.1', 'localhost'),
            HOOKLINE_WEBHOOK_PROXY_RESOLVE: 'proxy',
        },
    });
    await other.call(RUN, { query: { webhookEndpoint: 'http://only-the-proxy.invalid:81/hook' } });
    const delivery = await receiver.delivered('/hook');
    assert.equal(delivery.get('host'), 'only-the-proxy.invalid:81');
    assert.equal(proxy.asked[0].authority, 'only-the-proxy.invalid:81');
    assert.equal((await call(RUN)).status, 200);
});

/** The last attempt of a run's delivery, with all that is known of it, once that is in `state`. */
async function lastAttempt(sidecar, id, state) {
    const ask = control(sidecar);
    const found = await until(`it is ${state}`, async () => {
        const answer = await ask('GET', `/v2/projects/p/deliveries?run_id=${id}`);
        return answer.json().deliveries.find((one) => one.state === state);
    });
    const whole = await ask('GET', `/v2/projects/p/deliveries/${found.delivery_id}`);
    return whole.json().attempts.at(-1);
}

const deadAttempt = (sidecar, id) => lastAttempt(sidecar, id, 'dead');

for (const [what, options, text] of [
    ['wants other credentials', { credentials: 'a:b' }, /^proxy_refused: .*407/],
    ['refuses', { refuse: 403 }, /^proxy_refused: the proxy answered 403/],
    ['cannot reach the receiver', { refuse: 502 }, /^proxy_refused: the proxy answered 502/],
]) {
    test(`a proxy that ${what} is a network error that says so`, async (t) => {
        const proxy = await startConnectProxy(t, options);
        const { call, sidecar, receiver } = await stage(t, {
            env: { HOOKLINE_WEBHOOK_PROXY: proxy.url('u:hush-2'), HOOKLINE_WEBHOOK_ATTEMPTS: '1' },
        });
        const { id } = await call(RUN, { query: { webhookEndpoint: receiver.url() } });
        const attempt = await deadAttempt(sidecar, id);
        assert.match(attempt.error, text);
        assert.ok(!JSON.stringify(attempt).includes('hush-2'));
        assert.equal(receiver.requests.length, 0);
    });
}

test('a proxy is spoken to over TLS where its URL says so, and its certificate is checked', async (t) => {
    const directory = await temporaryDirectory(t);
    const own = await makeCertificate(directory, 'proxy', 'IP:127.0.0.1');
    const proxy = await startConnectProxy(t, { tls: own, credentials: 'egress:hush-4' });
    const env = { HOOKLINE_WEBHOOK_PROXY: proxy.url('egress:hush-4'), HOOKLINE_WEBHOOK_ATTEMPTS: '1' };
    const trusting = await stage(t, { env: { ...env, HOOKLINE_WEBHOOK_CA_FILE: own.certFile } });
    await trusting.call(RUN, { query: { webhookEndpoint: trusting.receiver.url() } });
    await trusting.receiver.delivered();
    assert.equal(proxy.asked[0].authority, new URL(trusting.receiver.url()).host);
    assert.ok(!trusting.sidecar.stderr.includes('hush-4'));

    const { call, sidecar, receiver } = await stage(t, { env });
    const { id } = await call(RUN, { query: { webhookEndpoint: receiver.url() } });
    const attempt = await deadAttempt(sidecar, id);
    assert.match(attempt.error, /^proxy_unreachable: tls_certificate: /);
    assert.equal(proxy.asked.length, 1);
    assert.equal(receiver.requests.length, 0);
});

test('https through a proxy that is spoken to over TLS is TLS in TLS', async (t) => {
    const directory = await temporaryDirectory(t);
    const own = await makeCertificate(directory, 'both', 'IP:127.0.0.1,DNS:localhost');
    const server = await startMutual(t, own, []);
    const proxy = await startConnectProxy(t, { tls: own });
    const { call } = await stage(t, {
        env: {
            HOOKLINE_WEBHOOK_PROXY: proxy.url(),
            HOOKLINE_WEBHOOK_ALLOW: '127.0.0.0/8,::1',
            HOOKLINE_WEBHOOK_CA_FILE: own.certFile,
        },
    });
    await call(RUN, { query: { webhookEndpoint: `https://127.0.0.1:${server.port}/` } });
    await until('it arrived', () => server.shown.length === 1);
    assert.equal(proxy.tunnels, 1);
});

test('a proxy is asked for an IPv6 address in brackets', async (t) => {
    const server = await startServer(t, (x) => x.send(200), 0, '::1').catch(() => null);
    if (!server) return t.skip('this machine has no IPv6');
    const proxy = await startConnectProxy(t);
    const { call, sidecar } = await stage(t, {
        env: { HOOKLINE_WEBHOOK_PROXY: proxy.url(), HOOKLINE_WEBHOOK_ALLOW: '::1' },
    });
    const { id } = await call(RUN, { query: { webhookEndpoint: `http://[::1]:${server.port}/hook` } });
    await until('it arrived', () => server.requests.length === 1);
    assert.equal(server.requests[0].get('host'), `[::1]:${server.port}`);
    assert.equal(proxy.asked[0].authority, `[::1]:${server.port}`);
    const attempt = await lastAttempt(sidecar, id, 'delivered');
    assert.equal(attempt.address, `[::1]:${server.port}`);
});

test('of a name’s addresses the proxy is asked for one at each attempt, in turn, and never for one that is refused', async (t) => {
    const started = await DnsServer.start(t);
    if (!started) return;
    const port = await freePort();
    const server = await startServer(t, (x) => x.send(200), port, '127.0.0.3');
    const proxy = await startConnectProxy(t, { refuse: (authority) => !authority.startsWith('127.0.0.3') && 502 });
    const { call, sidecar } = await stage(t, {
        env: { HOOKLINE_WEBHOOK_PROXY: proxy.url(), HOOKLINE_WEBHOOK_ALLOW: '127.0.0.2/31' },
        command: started.command,
    });
    started.dns.set('several.test', ['127.0.0.1', '127.0.0.2', '127.0.0.3']);
    const { id } = await call(RUN, { query: { webhookEndpoint: `http://several.test:${port}/hook` } });
    const attempt = await lastAttempt(sidecar, id, 'delivered');
    assert.equal(server.requests.length, 1);
    assert.equal(server.requests[0].get('host'), `several.test:${port}`);
    assert.equal(attempt.address, `127.0.0.3:${port}`);
    assert.ok(attempt.n <= 2, `attempt ${attempt.n}`);
    assert.deepEqual(new Set(proxy.asked.map(({ authority }) => authority).slice(-1)), new Set([`127.0.0.3:${port}`]));
    assert.ok(proxy.asked.every(({ authority }) => !authority.startsWith('127.0.0.1:')));
});

for (const [what, open, text] of [
    ['nobody listens for', async () => `127.0.0.1:${await freePort()}`, /^proxy_unreachable: connect_failed: Connection refused/],
    ['has a name that is none', async () => 'proxy.invalid:3128', /^proxy_unreachable: /],
    ['hangs up', async (t) => hostOf(await startServer(t, (x) => x.end())), /^proxy_no_answer: connection_lost/],
    ['never answers', async (t) => hostOf(await startServer(t, (x) => x.gone)), /^proxy_no_answer: timeout/],
]) {
    test(`a proxy that ${what} is a network error that says so, and is tried again`, async (t) => {
        const where = await open(t);
        const { call, sidecar, receiver } = await stage(t, {
            env: {
                HOOKLINE_WEBHOOK_PROXY: `http://u:hush-5@${where}`,
                HOOKLINE_WEBHOOK_SCHEDULE: '100ms',
                HOOKLINE_WEBHOOK_TIMEOUT: '1s',
            },
        });
        const { id } = await call(RUN, { query: { webhookEndpoint: receiver.url() } });
        const attempt = await deadAttempt(sidecar, id);
        assert.match(attempt.error, text);
        assert.equal(attempt.n, 2);
        assert.equal(attempt.status_code, null);
        assert.ok(!sidecar.stderr.includes('hush-5'));
        assert.equal(receiver.requests.length, 0);
    });
}

const hostOf = ({ url }) => new URL(url).host;

test('thin payloads say where the response is, of synchronous calls too', async (t) => {
    const { call, receiver, sidecar } = await stage(t, {
        env: { HOOKLINE_WEBHOOK_PAYLOAD: 'thin', HOOKLINE_PUBLIC_URL: PUBLIC },
    });
    for (const [path, query] of [
        ['/sync', {}],
        ['/async', { async: '1' }],
    ]) {
        const { id } = await call(RUN, { query: { ...query, webhookEndpoint: receiver.url(path) } });
        const envelope = await receiver.envelope(path);
        assert.equal(envelope.response, null);
        assert.equal(envelope.encoding, 'none');
        assert.equal(envelope.content_type, 'application/json');
        const there = `/v2/projects/p/apps/a/runs/${id}/result`;
        assert.equal(envelope.result_url, `https://runs.example/base${there}`);
        const result = await fetch(sidecar.url + there);
        assert.equal(result.status, 200);
        assert.equal((await result.json()).method, 'POST');
    }
});

test('a response over HOOKLINE_WEBHOOK_MAX_BODY is left out', async (t) => {
    const { call, receiver } = await stage(t, {
        app: async (exchange) => {
            const body = await exchange.body();
            await exchange.send(200, { 'content-type': 'text/plain' }, body);
        },
        env: { HOOKLINE_WEBHOOK_MAX_BODY: '10', HOOKLINE_PUBLIC_URL: PUBLIC },
    });
    await call(RUN, { body: '0123456789', query: { webhookEndpoint: receiver.url('/fits') } });
    await call(RUN, { body: '0123456789a', query: { webhookEndpoint: receiver.url('/over') } });
    const fits = await receiver.envelope('/fits');
    assert.equal(fits.response, '0123456789');
    assert.ok(!('result_url' in fits));
    const over = await receiver.envelope('/over');
    assert.equal(over.response, null);
    assert.match(over.result_url, /\/result$/);
});

/** What a start needs, on ports of its own. */
const DATA = (directory) => ({
    HOOKLINE_APP_URL: 'http://127.0.0.1:1',
    HOOKLINE_AUTH: 'none',
    HOOKLINE_DATA_DIR: directory,
    HOOKLINE_LISTEN: '127.0.0.1:0',
    HOOKLINE_ADMIN_LISTEN: '127.0.0.1:0',
});

const TRUST = { HOOKLINE_WEBHOOK_TRUSTED_HOSTS: 'a.example' };
for (const [name, env] of [
    ['HOOKLINE_WEBHOOK_TRUSTED_HOSTS', { HOOKLINE_WEBHOOK_TRUSTED_HOSTS: 'a.example:443' }],
    ['HOOKLINE_WEBHOOK_HEADERS', { HOOKLINE_WEBHOOK_HEADERS: 'X-A: hush-3' }],
    ['HOOKLINE_WEBHOOK_HEADERS', { ...TRUST, HOOKLINE_WEBHOOK_HEADERS: 'Host: hush-3' }],
    ['HOOKLINE_WEBHOOK_HEADERS', { ...TRUST, HOOKLINE_WEBHOOK_HEADERS: 'X-A: hush-3\nContent-Length: 0' }],
    ['HOOKLINE_WEBHOOK_HEADERS', { ...TRUST, HOOKLINE_WEBHOOK_HEADERS: 'X-A: 1\r\n\r\nhush-3' }],
    ['HOOKLINE_WEBHOOK_CLIENT_CERT_FILE', { ...TRUST, HOOKLINE_WEBHOOK_CLIENT_CERT_FILE: '/dev/null' }],
    ['HOOKLINE_WEBHOOK_CLIENT_KEY_FILE', { ...TRUST, HOOKLINE_WEBHOOK_CLIENT_KEY_FILE: '/dev/null' }],
    ['HOOKLINE_WEBHOOK_PROXY', { HOOKLINE_WEBHOOK_PROXY: 'socks5://u:hush-3@a.example:1080' }],
    ['HOOKLINE_WEBHOOK_PROXY', { HOOKLINE_WEBHOOK_PROXY: 'http://u:hush-3@a.example/path' }],
    ['HOOKLINE_WEBHOOK_PROXY_RESOLVE', { HOOKLINE_WEBHOOK_PROXY_RESOLVE: 'proxy' }],
    ['HOOKLINE_WEBHOOK_PREVIOUS_SECRET', { HOOKLINE_WEBHOOK_PREVIOUS_SECRET: 'hush-3' }],
    ['HOOKLINE_WEBHOOK_PAYLOAD', { HOOKLINE_WEBHOOK_PAYLOAD: 'thin' }],
    ['HOOKLINE_WEBHOOK_PAYLOAD', { HOOKLINE_WEBHOOK_PAYLOAD: 'none' }],
    ['HOOKLINE_WEBHOOK_MAX_BODY', { HOOKLINE_WEBHOOK_MAX_BODY: '1KiB' }],
    ['HOOKLINE_WEBHOOK_MAX_BODY', { HOOKLINE_WEBHOOK_MAX_BODY: 'x', HOOKLINE_PUBLIC_URL: PUBLIC }],
]) {
    test(`a start is stopped by a line: ${JSON.stringify(env)}`, async (t) => {
        const directory = await temporaryDirectory(t);
        for (const args of [['serve'], ['config', 'check']]) {
            const { code, stdout, stderr } = await run(args, { ...DATA(directory), ...env });
            assert.notEqual(code, 0);
            const lines = `${stdout}\n${stderr}`.split('\n').filter((line) => line.includes(name));
            assert.ok(lines.length >= 1, stdout + stderr);
            assert.ok(!(stdout + stderr).includes('hush-3'));
        }
    });
}

test('a certificate and a key that do not belong together stop the start', async (t) => {
    const directory = await temporaryDirectory(t);
    const a = await makeCertificate(directory, 'a', 'DNS:a');
    const b = await makeCertificate(directory, 'b', 'DNS:b');
    const env = {
        ...TRUST,
        HOOKLINE_WEBHOOK_CLIENT_CERT_FILE: a.certFile,
        HOOKLINE_WEBHOOK_CLIENT_KEY_FILE: b.keyFile,
    };
    for (const args of [['serve'], ['config', 'check']]) {
        const { stdout, stderr } = await run(args, { ...DATA(directory), ...env });
        assert.match(stdout + stderr, /HOOKLINE_WEBHOOK_CLIENT_KEY_FILE: .* private key/);
    }
});
