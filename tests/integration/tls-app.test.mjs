// HOOKLINE_APP_URL=https://…: the app is reached over TLS, known by its certificate, and nothing else of a call changes.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import https from 'node:https';
import net from 'node:net';
import { join } from 'node:path';
import tls from 'node:tls';
import { test } from './lib/case.mjs';
import { issue, makePair } from './lib/certificates.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { Collector } from './lib/collector.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { run, temporaryDirectory } from './lib/sidecar.mjs';
import { until } from './lib/until.mjs';

const issueApp = (directory, ca, name, names = 'DNS:localhost', days = '2') =>
    issue(directory, ca, name, { subject: `/CN=${name}`, names, days, usage: 'serverAuth' });

/** Listens; the URL. */
async function listen(t, server) {
    server.listen(0, 'localhost');
    await once(server, 'listening');
    const open = new Set();
    server.on('connection', (socket) => open.add(socket.on('error', () => {}).on('close', () => open.delete(socket))));
    atEnd(t, () => {
        server.close();
        for (const socket of open) socket.destroy();
    });
    return `https://localhost:${server.address().port}`;
}

/** An app that echoes, or says much; it takes down in `seen` who asked. */
const echo = (seen) => async (request, response) => {
    const { socket } = request;
    const client = socket.getPeerCertificate().subject?.CN;
    seen.push({ client, host: socket.servername, isResumed: socket.isSessionReused() });
    if (request.url === '/health') return void response.end('well');
    if (request.url === '/_hookline/functions')
        return void response.setHeader('Content-Type', 'application/json').end('{"functions":[]}');
    if (request.headers['x-want'] === 'much') return void response.end(MUCH);
    if (request.headers['x-want'] === 'close') response.setHeader('Connection', 'close');
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    response.end(Buffer.concat(pieces));
};
const MUCH = Buffer.alloc(3_000_001, 'what comes out ');
const UPGRADE =
    'GET /v4/p/a/x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
    'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';

test('calls, long bodies and tunnels go to an https app that is shown a certificate, and sessions are taken up again', async (t) => {
    const directory = await temporaryDirectory(t);
    const ca = await makePair(directory, 'ca');
    const client = await issue(directory, ca, 'client', { subject: '/CN=hookline' });
    const seen = [];
    const server = https.createServer(
        { ...(await issueApp(directory, ca, 'app')), ca: ca.pem, requestCert: true, maxVersion: 'TLSv1.2' },
        echo(seen),
    );
    server.on('upgrade', (request, socket) => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
        socket.on('end', () => socket.end('the last word'));
    });
    server.on('connection', (socket) => (socket.allowHalfOpen = true));
    const collector = await Collector.start(t);
    const { call, connect, sidecar } = await stage(t, {
        app: null,
        wait: 'readyz',
        env: {
            ...collector.env(),
            HOOKLINE_APP_URL: await listen(t, server),
            HOOKLINE_APP_CA_FILE: ca.cert,
            HOOKLINE_APP_CLIENT_CERT_FILE: client.files.cert,
            HOOKLINE_APP_CLIENT_KEY_FILE: client.files.key,
            HOOKLINE_APP_HEALTH_PATH: '/health',
        },
    });
    const body = Buffer.alloc(2_000_003, 'what goes in ');
    const echoed = await call(RUN, { body });
    assert.ok(echoed.body.equals(body));
    assert.ok((await call(RUN, { headers: { 'X-Want': 'much' } })).body.equals(MUCH));
    const list = await fetch(`${sidecar.adminUrl}/v2/projects/p/apps/a/functions`);
    assert.deepEqual(await list.json(), { functions: [] }, 'it is asked for its functions in the same way');
    await until('a session is taken up again', async () => {
        assert.equal((await call(RUN, { headers: { 'X-Want': 'close' } })).status, 200);
        return seen.some(({ isResumed }) => isResumed);
    });
    assert.ok(seen.every(({ client: name, host, isResumed }) => name === 'hookline' && (isResumed || host === 'localhost')));
    assert.ok((await sidecar.metric('hookline_app_tls_handshakes_total', { outcome: 'resumed' })) >= 1);
    const tunnel = await connect();
    await tunnel.send(UPGRADE);
    assert.equal((await tunnel.responseHead()).status, 101);
    tunnel.end();
    assert.equal((await tunnel.reader.some()).toString(), 'the last word');
    const [asked, called] = await collector.ofRun(echoed.id, 2);
    assert.deepEqual([asked, called].map((x) => x.attributes['url.scheme']), ['http', 'https']);
});

/** An app of which each connection is what `app.is` says at that moment. */
function turncoat(app) {
    return net.createServer((raw) => {
        const socket = app.is.cert ? new tls.TLSSocket(raw, { isServer: true, ...app.is }) : raw;
        socket.on('error', () => {});
        socket.once('data', (bytes) => app.is.answer(socket, bytes.toString('latin1'), raw));
    });
}
const say = (text) => (socket) => socket.end(`HTTP/1.1 ${text}`);
const well = say('200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nwell');

test('an app’s body without a length ends by close_notify; a connection that only ends was cut', async (t) => {
    const directory = await temporaryDirectory(t);
    const ca = await makePair(directory, 'ca');
    const answer = (socket, request, raw) => {
        socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall there is', () => {
            if (request.includes('x-want: cut')) raw.destroy();
            else socket.end();
        });
    };
    const app = { is: { ...(await issueApp(directory, ca, 'app', 'IP:127.0.0.1')), answer } };
    const url = await listen(t, turncoat(app));
    const { call } = await stage(t, {
        app: null,
        wait: 'readyz',
        env: { HOOKLINE_APP_URL: url.replace('localhost', '127.0.0.1'), HOOKLINE_APP_CA_FILE: ca.cert },
    });
    assert.equal((await call(RUN, { headers: { 'X-Want': 'all' } })).text, 'all there is');
    await assert.rejects(call(RUN, { headers: { 'x-want': 'cut' } }));
});

test('what is wrong with an https app is said, at the health path and to calls, until it is right', async (t) => {
    const directory = await temporaryDirectory(t);
    const [ca, strange] = [await makePair(directory, 'ca'), await makePair(directory, 'strange')];
    const good = await issueApp(directory, ca, 'app');
    const other = [await issueApp(directory, strange, 'other'), /its certificate was not issued by a CA of HOOKLINE_APP_CA_FILE/];
    const wrong = [
        [await issueApp(directory, ca, 'elsewhere', 'DNS:app.example'), /its certificate does not name the host of HOOKLINE_APP_URL/],
        [await issueApp(directory, ca, 'old', 'DNS:localhost', '-1'), /its certificate has expired/],
        [{ ...good, ca: ca.pem, requestCert: true, rejectUnauthorized: true, maxVersion: 'TLSv1.2' }, /it refused the TLS handshake/],
        [{ answer: say('400 Bad Request\r\n\r\n') }, /it does not speak TLS; HOOKLINE_APP_URL should begin with http:/],
    ];
    const app = { is: { ...good, answer: well } };
    const { call, sidecar } = await stage(t, {
        app: null,
        wait: 'readyz',
        env: {
            HOOKLINE_APP_URL: await listen(t, turncoat(app)),
            HOOKLINE_APP_CA_FILE: ca.cert,
            HOOKLINE_CONNECT_TIMEOUT: '500ms',
            HOOKLINE_APP_KEEPALIVE: 'off',
        },
    });
    for (const [is, said] of wrong) {
        app.is = { answer: well, ...is };
        await until(said, async () => {
            const { status, text } = await call(RUN);
            return status === 502 && said.test(text);
        });
    }
    app.is = { answer: well, ...other[0] };
    await until('it is not ready', async () => other[1].test((await sidecar.admin('/readyz'))?.text));
    await sidecar.logged(({ msg, cause }) => msg === 'the app is not ready' && other[1].test(cause));
    await writeFile(`${ca.cert}.new`, strange.pem);
    await rename(`${ca.cert}.new`, ca.cert);
    await sidecar.logged(({ msg }) => msg === 'new TLS files are used for new connections to the app');
    await until('it is well', async () => (await call(RUN)).text === 'well');
});

test('files for the app that cannot be used, or that nobody asks for, stop the start', async (t) => {
    const directory = await temporaryDirectory(t);
    const [a, b] = [await makePair(directory, 'a'), await makePair(directory, 'b')];
    const [url, cert, key, authorities] = ['URL', 'CLIENT_CERT_FILE', 'CLIENT_KEY_FILE', 'CA_FILE'];
    for (const [env, said] of [
        [{ [cert]: a.cert, [key]: b.key }, /HOOKLINE_APP_CLIENT_KEY_FILE: .* is not the key of the certificate in HOOKLINE_APP_CLIENT_CERT_FILE/],
        [{ [cert]: a.cert }, /HOOKLINE_APP_CLIENT_CERT_FILE: needs HOOKLINE_APP_CLIENT_KEY_FILE/],
        [{ [authorities]: join(directory, 'none') }, /HOOKLINE_APP_CA_FILE: .* it cannot be read: not found/],
        [{ [url]: 'http://localhost:1', [authorities]: a.cert }, /HOOKLINE_APP_CA_FILE: it needs an https:/],
        [{ [url]: 'https:unix:/app.sock' }, /HOOKLINE_APP_URL: .*https:/],
    ]) {
        const settings = Object.entries({ [url]: 'https://localhost:1', ...env }).map(([name, value]) => [`HOOKLINE_APP_${name}`, value]);
        const { code, stderr } = await run(['config', 'check'], {
            HOOKLINE_DATA_DIR: directory,
            HOOKLINE_LISTEN: '127.0.0.1:0',
            HOOKLINE_ADMIN_LISTEN: '127.0.0.1:0',
            ...Object.fromEntries(settings),
        });
        assert.notEqual(code, 0);
        assert.match(stderr, said);
    }
});
