// HOOKLINE_TLS_CERT_FILE: the run listener speaks TLS, whatever comes to it, and nothing else of a call changes.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rename, writeFile } from 'node:fs/promises';
import https from 'node:https';
import net from 'node:net';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import tls from 'node:tls';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { issue, makePair, openssl } from './lib/certificates.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { run, temporaryDirectory } from './lib/sidecar.mjs';
import { sleep, until, within } from './lib/until.mjs';

const files = ({ cert, key }) => ({ HOOKLINE_TLS_CERT_FILE: cert, HOOKLINE_TLS_KEY_FILE: key });

/** A stage whose sidecar speaks TLS: beside the usual, `ask(path, options, body)` and `talk(options)`, a TLS socket. */
async function secure(t, { app, env = {}, pair } = {}) {
    const own = pair ?? (await makePair(await temporaryDirectory(t), 'own'));
    const set = await stage(t, { app, env: { ...files(own), ...env }, wait: '' });
    const { sidecar } = set;
    await until('it is ready', async () => (await sidecar.admin('/readyz'))?.status === 200);
    const agent = new https.Agent({ keepAlive: true, ca: own.pem });
    atEnd(t, () => agent.destroy());
    const ask = (path, options = {}, body) => request(sidecar.port, path, { agent, ...options }, body);
    const talk = (options) => connect(t, tls, { port: sidecar.port, ca: own.pem, ...options });
    return { ...set, pair: own, ask, talk, plain: () => connect(t, net, { port: sidecar.port }) };
}

function connect(t, kind, options) {
    const socket = kind.connect({ host: '127.0.0.1', ...options });
    socket.on('error', () => {});
    atEnd(t, () => socket.destroy());
    return socket;
}

function request(port, path, options, body) {
    return new Promise((resolve, reject) => {
        const asked = https.request({ host: '127.0.0.1', port, path, ...options }, async (response) => {
            const pieces = [];
            for await (const piece of response) pieces.push(piece);
            resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(pieces) });
        });
        asked.on('error', reject);
        asked.end(body);
    });
}

/** All that a socket brings until it ends or fails: `{ bytes, error }`. */
async function drink(socket) {
    const pieces = [];
    let error;
    socket.on('data', (piece) => pieces.push(piece)).on('error', (e) => (error = e));
    await once(socket, 'close');
    return { bytes: Buffer.concat(pieces), error };
}

const digest = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** The app: what it got of a request, or a long body. */
async function app(exchange) {
    if (exchange.target === '/long') await exchange.send(200, {}, LONG);
    else await exchange.json({ digest: digest(await exchange.body()), fields: exchange.head.fields });
}
const LONG = Buffer.alloc(3_000_001, 'what comes out ');

test('calls, long bodies both ways and several calls of a connection go through TLS as they are', async (t) => {
    const { ask, sidecar } = await secure(t, { app });
    const sent = Buffer.alloc(2_000_003, 'what goes in ');
    for (const body of [Buffer.from('x'), sent, Buffer.from('x')]) {
        const answer = await ask(RUN, { method: 'POST' }, body);
        const got = JSON.parse(answer.body);
        assert.equal(got.digest, digest(body));
        assert.equal(answer.status, 200);
    }
    const answer = await ask('/long');
    assert.equal(digest(answer.body), digest(LONG));
    assert.equal(await sidecar.metric('hookline_tls_handshakes_total', { outcome: 'done' }), 1);
    const passed = await fetch(`${sidecar.adminUrl}${RUN}`, { method: 'POST', body: '{}' });
    const { fields } = await passed.json();
    assert.equal(passed.status, 200);
    assert.ok(!fields.flat().some((name) => /inner/i.test(name)), 'the dashboard’s pass stays here');
    const { stdout } = await promisify(execFile)('curl', [
        ...['-sS', '--cacert', sidecar.env.HOOKLINE_TLS_CERT_FILE, `https://127.0.0.1:${sidecar.port}${RUN}`, '-d', '{}'],
    ]);
    assert.match(stdout, /x-forwarded-proto","https"|"x-forwarded-proto":"https"/i);
});

test('versions, suites and protocols are those of Mozilla’s intermediate list, and sessions are taken up again', async (t) => {
    const { talk } = await secure(t);
    const newest = talk(); // mbedTLS 2.28 has no TLS 1.3
    await once(newest, 'secureConnect');
    assert.match(newest.getProtocol(), /^TLSv1\.[23]$/);
    const first = talk({ ALPNProtocols: ['h2', 'http/1.1'], maxVersion: 'TLSv1.2' });
    let session;
    first.on('session', (it) => (session = it));
    await once(first, 'secureConnect');
    assert.equal(first.alpnProtocol, 'http/1.1');
    assert.equal(first.getProtocol(), 'TLSv1.2');
    assert.match(first.getCipher().standardName, /^TLS_ECDHE_ECDSA_WITH_AES_128_GCM/);
    await until('it has a ticket', () => session);
    const second = talk({ session, maxVersion: 'TLSv1.2' });
    await once(second, 'secureConnect');
    assert.ok(second.isSessionReused());
    for (const options of [
        { ALPNProtocols: ['h2'] },
        { ciphers: 'ECDHE-ECDSA-AES128-SHA256', maxVersion: 'TLSv1.2' },
        { ciphers: 'AES128-GCM-SHA256', maxVersion: 'TLSv1.2' },
        { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' },
    ]) {
        const socket = talk(options);
        const opened = once(socket, 'secureConnect').then(() => true, () => false);
        assert.ok(!(await Promise.race([opened, drink(socket).then(() => false)])), JSON.stringify(options));
    }
    const other = talk({ ciphers: 'ECDHE-ECDSA-CHACHA20-POLY1305', maxVersion: 'TLSv1.2' });
    await once(other, 'secureConnect');
});

test('a request in plain text gets one answer that says so, and garbage an alert', async (t) => {
    const { plain, sidecar, app: server } = await secure(t, { app });
    const asked = plain();
    asked.write(`POST ${RUN} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`);
    const { bytes } = await drink(asked);
    assert.match(bytes.toString(), /^HTTP\/1\.1 400 [^]*in plain text: use https/);
    const health = plain();
    health.write('GET /_hookline/healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.match((await drink(health)).bytes.toString(), /^HTTP\/1\.1 400 /);
    assert.equal(server.requests.length, 0);
    for (const garbage of ['\x80\x2e\x01\x03\x00', '\x16\x02\x00', '\x00\x00\x00', '\x16\x03\x01\xff\xff']) {
        const socket = plain();
        socket.write(Buffer.from(garbage, 'latin1'));
        const { bytes: alert } = await drink(socket);
        assert.equal(alert[0], 21, garbage);
    }
    await sidecar.logged(({ protocol }) => protocol === 'HTTP in plain text');
    assert.equal(await sidecar.metric('hookline_tls_handshakes_total', { outcome: 'plain' }), 2);
});

/** A socket by which what is written goes through `write(bytes, done)`. */
function through(socket, write) {
    const pieces = new Duplex({
        read: () => socket.resume(),
        write: (bytes, encoding, done) => void write(bytes, done),
        destroy: (error, done) => (socket.destroy(), done(error)),
    });
    socket.on('data', (bytes) => pieces.push(bytes) || socket.pause());
    socket.on('close', () => pieces.push(null));
    return pieces;
}

/** A socket that sends what it is given in two pieces, cut `beyond` bytes behind the end of the first record. */
function cut(socket, beyond) {
    return through(socket, async (bytes, done) => {
        const end = Math.min(bytes.length, 5 + bytes.readUInt16BE(3) + beyond);
        socket.write(bytes.subarray(0, end));
        await sleep(30); // so that they are read one by one: nothing fails where they are not
        socket.write(bytes.subarray(end), done);
    });
}

/** A socket that sends the first record in records of `size` bytes. */
function split(socket, size) {
    let isFirst = true;
    return through(socket, (bytes, done) => {
        const end = isFirst ? 5 + bytes.readUInt16BE(3) : 0;
        const records = [];
        for (let at = 5; at < end; at += size) {
            const content = bytes.subarray(at, Math.min(at + size, end));
            records.push(Buffer.from([22, 3, 1, content.length >> 8, content.length & 255]), content);
        }
        isFirst = false;
        socket.write(Buffer.concat([...records, bytes.subarray(end)]), done);
    });
}

test('a handshake may be cut anywhere, within a record too', async (t) => {
    const { plain } = await secure(t, { app });
    await Promise.all([0, 1, 3, 4, 5, 8].map(async (beyond) => {
        const options = { socket: cut(plain(), beyond), rejectUnauthorized: false, maxVersion: 'TLSv1.2' };
        const socket = tls.connect(options);
        socket.on('error', () => {});
        atEnd(t, () => socket.destroy());
        await within(`a handshake that is cut ${beyond} bytes into a record`, once(socket, 'secureConnect'));
        socket.write('GET /_hookline/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
        assert.match((await once(socket, 'data')).toString(), /^HTTP\/1\.1 200 /);
    }));
});

test('a hello may come in several records', async (t) => {
    const { plain } = await secure(t, { app });
    await Promise.all([1, 4, 60].map(async (size) => {
        const socket = tls.connect({ socket: split(plain(), size), rejectUnauthorized: false });
        socket.on('error', () => {});
        atEnd(t, () => socket.destroy());
        await within(`a handshake whose hello comes in pieces of ${size} bytes`, once(socket, 'secureConnect'));
        socket.write('GET /_hookline/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
        assert.match((await once(socket, 'data')).toString(), /^HTTP\/1\.1 200 /);
    }));
});

test('handshakes that stop in the middle cost calls nothing, and end after HOOKLINE_HEAD_TIMEOUT', async (t) => {
    const { plain, ask, sidecar } = await secure(t, { env: { HOOKLINE_HEAD_TIMEOUT: '1500ms' } });
    const stalled = Array.from({ length: 300 }, (_, i) => {
        const socket = plain();
        if (i % 3) socket.write(Buffer.from('160301020001'.slice(0, 4 * (i % 3)), 'hex'));
        return once(socket, 'close');
    });
    await until('all are there', async () => (await sidecar.metric('hookline_connections_open')) >= 300);
    const call = () => ask(RUN, { method: 'POST' }, '{}').catch(() => {}); // its own handshake may be too slow here
    await until('a call is answered', async () => (await call())?.status === 200);
    await Promise.all(stalled);
    await until('all have failed', async () =>
        (await sidecar.metric('hookline_tls_handshakes_total', { outcome: 'failed' })) >= 300);
});

test('a tunnel can be ended by one side alone, by close_notify; a connection that only ends was cut', async (t) => {
    const server = net.createServer({ allowHalfOpen: true }, (socket) => {
        socket.on('error', () => {}).on('end', () => socket.end('the last word'));
        socket.once('data', () => socket.write(SWITCHED));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(t, () => server.close());
    const { talk, plain, sidecar } = await secure(t, {
        app: null,
        env: { HOOKLINE_APP_URL: `http://127.0.0.1:${server.address().port}` },
    });
    const tunnel = async (options) => {
        const socket = talk(options);
        socket.write(UPGRADE);
        await once(socket, 'data');
        return socket;
    };
    const first = await tunnel({ allowHalfOpen: true });
    first.end();
    assert.equal((await drink(first)).bytes.toString(), 'the last word');
    assert.equal(await sidecar.metric('hookline_callers_gone_total'), 0);
    const below = plain();
    await tunnel({ socket: below });
    below.destroy();
    await until('the caller has left', async () => (await sidecar.metric('hookline_callers_gone_total')) === 1);
});
const UPGRADE =
    'GET /v4/p/a/x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
    'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';
const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';

test('a new certificate is used for new connections, and old ones go on; one that is wrong is not', async (t) => {
    const directory = await temporaryDirectory(t);
    const pair = await makePair(directory, 'first');
    const next = await makePair(directory, 'second', { kind: ['-newkey', 'rsa:2048', '-nodes'] });
    const { talk, sidecar } = await secure(t, { pair });
    const old = talk();
    await once(old, 'secureConnect');
    await writeFile(`${pair.cert}.new`, next.pem);
    await rename(`${pair.cert}.new`, pair.cert);
    const { why } = await sidecar.logged(({ msg }) => msg.startsWith('the certificate was not replaced'));
    assert.match(why, /^HOOKLINE_TLS_KEY_FILE: .* is not the key of the certificate in HOOKLINE_TLS_CERT_FILE$/);
    await writeFile(`${pair.key}.new`, await readFile(next.key));
    await rename(`${pair.key}.new`, pair.key);
    await sidecar.logged(({ msg }) => msg === 'a new certificate is used for new connections');
    const socket = talk({ ca: next.pem });
    await once(socket, 'secureConnect');
    assert.equal(socket.getPeerCertificate().subject.CN, 'second');
    old.write('GET /_hookline/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    assert.match((await drink(old)).bytes.toString(), /^HTTP\/1\.1 200 /);
});

test('a caller without a good certificate gets 403 but for health, and the app is told whose a good one is', async (t) => {
    const directory = await temporaryDirectory(t);
    const [ca, strange] = [await makePair(directory, 'ca'), await makePair(directory, 'strange')];
    const good = await issue(directory, ca, 'good', {
        subject: '/O=Acme, Inc./CN=a "quoted";Subject=\\\\x',
        names: 'DNS:client.example,URI:spiffe://example/a',
    });
    const bad = [
        undefined,
        await issue(directory, strange, 'other', { subject: '/CN=other' }),
        await issue(directory, ca, 'old', { subject: '/CN=old', days: '-1' }),
        await issue(directory, ca, 'server', { subject: '/CN=server', usage: 'serverAuth' }),
    ];
    const { ask, app: server } = await secure(t, { app, env: { HOOKLINE_TLS_CLIENT_CA_FILE: ca.cert } });
    const as = (own, path = RUN, headers = {}) =>
        ask(path, { method: path === RUN ? 'POST' : 'GET', headers, agent: false, rejectUnauthorized: false, ...own }, '');
    for (const own of bad) {
        assert.equal((await as(own)).status, 403);
        assert.equal((await as(own, '/nowhere')).status, 403);
        assert.equal((await as(own, '/_hookline/healthz')).status, 200);
    }
    assert.equal(server.requests.length, 0);
    const { fields } = JSON.parse((await as(good, RUN, { 'X-Forwarded-Client-Cert': 'Hash=mine' })).body);
    const told = fields.filter(([name]) => name.toLowerCase() === 'x-forwarded-client-cert').map(([, value]) => value);
    const hash = digest(Buffer.from(good.cert.toString().replace(/-----.*?-----|\s/g, ''), 'base64'));
    assert.deepEqual(told, [
        `Hash=${hash};Subject="CN=a \\\\\\"quoted\\\\\\"\\\\;Subject\\\\=\\\\\\\\x,O=Acme\\\\, Inc.";` +
            'URI="spiffe://example/a";DNS="client.example"',
    ]);
});

test('with HOOKLINE_ADMIN_TLS the admin listener speaks TLS to whoever comes, and hookline health to it', async (t) => {
    const pair = await makePair(await temporaryDirectory(t), 'own');
    const { sidecar } = await stage(t, {
        wait: '',
        env: {
            ...files(pair),
            HOOKLINE_TLS_CLIENT_CA_FILE: pair.cert,
            HOOKLINE_ADMIN_TLS: 'on',
        },
    });
    const here = { HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${sidecar.adminPort}`, HOOKLINE_ADMIN_TLS: 'on' };
    const elsewhere = { ...here, ...files(pair), HOOKLINE_DATA_DIR: await temporaryDirectory(t) }; // without its control socket
    await until('it is well', async () => (await run(['health'], elsewhere)).code === 0);
    const ask = (path, options, body) => request(sidecar.adminPort, path, { ca: pair.pem, ...options }, body);
    for (const path of ['/readyz', '/metrics', '/', '/v2/projects/p/apps/a/runs']) assert.equal((await ask(path)).status, 200, path);
    const session = await ask('/v2/projects/p/dashboard-sessions', { method: 'POST' }, '');
    assert.equal(JSON.parse(session.body).url, `https://127.0.0.1:${sidecar.adminPort}/`);
    const there = ['--url', `https://127.0.0.1:${sidecar.adminPort}`];
    assert.notEqual((await run(['runs', 'list', ...there], { HOOKLINE_PROJECT_ID: 'p' })).code, 0, 'nobody vouches for it');
    const listed = await run(['runs', 'list', ...there], { HOOKLINE_PROJECT_ID: 'p', SSL_CERT_FILE: pair.cert });
    assert.equal(listed.code, 0, listed.stderr);
    const { status, text } = await sidecar.admin('/v2/projects/p/apps/a/runs');
    assert.equal(status, 400);
    assert.match(text, /https instead of http/);
});

test('commands that call the app here do so over TLS, and need no authority for it', async (t) => {
    const { sidecar } = await secure(t, { app: (x) => x.send(200, {}, 'done\n') });
    const here = { HOOKLINE_DATA_DIR: sidecar.dataDir };
    const called = await run(['call', '/v4/p/a/run', '--json', '{}'], here);
    assert.equal(called.stdout, 'done\n', called.stderr);
    const sent = await run(['runs', 'send', 'a', '--project', 'p', '--json', '{}', '--wait'], here);
    assert.equal(sent.stdout, 'done\n', sent.stderr);
    const project = JSON.parse((await sidecar.admin('/v2/projects/p')).text);
    assert.deepEqual([project.run_scheme, project.run_port], ['https', sidecar.port]);
});

test('a certificate or key that cannot be used stops the start, and config check says the same', async (t) => {
    const directory = await temporaryDirectory(t);
    const [a, b] = [await makePair(directory, 'a'), await makePair(directory, 'b')];
    const file = async (name, text) => (await writeFile(join(directory, name), text), join(directory, name));
    const locked = join(directory, 'locked.key');
    await openssl('ec', '-in', a.key, '-aes256', '-passout', 'pass:x', '-out', locked);
    const chain = await file('chain.pem', Buffer.concat([b.pem, a.pem]));
    for (const [cert, key, said] of [
        [a.cert, b.key, /HOOKLINE_TLS_KEY_FILE: .* is not the key of the certificate/],
        [chain, a.key, /HOOKLINE_TLS_CERT_FILE: .* belongs to certificate 2 of the file/],
        [a.cert, locked, /HOOKLINE_TLS_KEY_FILE: .* the key is encrypted/],
        [a.cert, join(directory, 'none'), /HOOKLINE_TLS_KEY_FILE: .* it cannot be read: not found/],
        [directory, a.key, /HOOKLINE_TLS_CERT_FILE: .* it is not a regular file/],
        [await file('text', 'hello'), a.key, /HOOKLINE_TLS_CERT_FILE: .* it is not PEM/],
        [await file('big', Buffer.alloc(2 << 20, '-')), a.key, /HOOKLINE_TLS_CERT_FILE: .* larger than 1 MiB/],
        [a.key, a.key, /HOOKLINE_TLS_CERT_FILE: .* no certificate that can be used/],
        [a.cert, undefined, /HOOKLINE_TLS_CERT_FILE: needs HOOKLINE_TLS_KEY_FILE/],
    ]) {
        const env = {
            HOOKLINE_TLS_CERT_FILE: cert,
            HOOKLINE_DATA_DIR: directory,
            HOOKLINE_LISTEN: '127.0.0.1:0',
            HOOKLINE_ADMIN_LISTEN: '127.0.0.1:0',
            ...(key && { HOOKLINE_TLS_KEY_FILE: key }),
        };
        for (const args of [[], ['config', 'check']]) {
            const { code, stderr } = await run(args, env);
            assert.notEqual(code, 0);
            assert.match(stderr, said);
        }
    }
});

test('an expired certificate, and a chain that is out of order, are warned about', async (t) => {
    const directory = await temporaryDirectory(t);
    const [own, other] = [await makePair(directory, 'own'), await makePair(directory, 'other')];
    const old = join(directory, 'old.pem');
    await openssl('x509', '-in', own.cert, '-signkey', own.key, '-days', '-1', '-out', old);
    await writeFile(own.cert, Buffer.concat([await readFile(old), other.pem]));
    const { sidecar } = await secure(t, { pair: own });
    await sidecar.logged(({ msg }) => msg === 'the certificate has expired: clients refuse it');
    await sidecar.logged(({ msg }) => msg.startsWith('the certificates are not in order'));
    assert.ok((await sidecar.metric('hookline_tls_certificate_expiry_seconds')) < Date.now() / 1000);
});
