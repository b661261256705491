// Webhooks over https: certificates are verified, HOOKLINE_WEBHOOK_CA_FILE adds one to trust.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rename, writeFile } from 'node:fs/promises';
import https from 'node:https';
import net from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { run, temporaryDirectory } from './lib/sidecar.mjs';
import { until } from './lib/until.mjs';

/** A certificate of its own for these names: `{ file, key, cert }`. */
async function makeCertificate(t, names) {
    const directory = await temporaryDirectory(t);
    const file = join(directory, 'cert.pem');
    await promisify(execFile)('openssl', [
        ...[
            'req',
            '-x509',
            '-newkey',
            'ec',
            '-pkeyopt',
            'ec_paramgen_curve:P-256',
            '-nodes',
            '-days',
            '2',
        ],
        ...['-subj', '/CN=hookline test', '-addext', `subjectAltName=${names}`],
        ...['-keyout', join(directory, 'key.pem'), '-out', file],
    ]);
    return { file, key: await readFile(join(directory, 'key.pem')), cert: await readFile(file) };
}

/** An https receiver: `{ url, bodies, hellos() }`. */
async function startHttps(t, { key, cert }) {
    const bodies = [];
    let hellos = 0;
    const server = https.createServer({ key, cert }, (incoming, response) => {
        const pieces = [];
        incoming.on('data', (piece) => pieces.push(piece));
        incoming.on('end', () => {
            bodies.push(Buffer.concat(pieces));
            response.end();
        });
    });
    server.on('connection', () => hellos++);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(t, () => {
        server.closeAllConnections();
        server.close();
    });
    return { url: `https://127.0.0.1:${server.address().port}/hook`, bodies, hellos: () => hellos };
}

test('a receiver whose certificate is trusted through HOOKLINE_WEBHOOK_CA_FILE gets its webhook', async (t) => {
    const certificate = await makeCertificate(t, 'IP:127.0.0.1');
    const receiver = await startHttps(t, certificate);
    const { call } = await stage(t, {
        env: { HOOKLINE_WEBHOOK_CA_FILE: certificate.file, HOOKLINE_WEBHOOK_HTTPS_ONLY: 'on' },
    });
    const { id } = await call(RUN, { query: { webhookEndpoint: receiver.url } });
    await until('it arrived', () => receiver.bodies.length === 1);
    assert.equal(JSON.parse(receiver.bodies[0]).run_id, id);
    const next = await makeCertificate(t, 'IP:127.0.0.1');
    const other = await startHttps(t, next);
    await writeFile(`${certificate.file}.new`, next.cert);
    await rename(`${certificate.file}.new`, certificate.file); // it is read again
    await call(RUN, { query: { webhookEndpoint: other.url } });
    await until('it arrived there', () => other.bodies.length === 1);
});

test('a certificate that nobody vouches for, or of another name, is refused and nothing is sent', async (t) => {
    const stranger = await makeCertificate(t, 'IP:127.0.0.1');
    const misnamed = await makeCertificate(t, 'DNS:other.example');
    for (const [certificate, env] of [
        [stranger, {}],
        [misnamed, { HOOKLINE_WEBHOOK_CA_FILE: misnamed.file }],
    ]) {
        const receiver = await startHttps(t, certificate);
        const { call, sidecar } = await stage(t, {
            env: { HOOKLINE_WEBHOOK_ATTEMPTS: '1', ...env },
        });
        await call(RUN, { query: { webhookEndpoint: receiver.url } });
        await until(
            'it was given up',
            async () => (await sidecar.metric('hookline_dead_letters_total')) === 1,
        );
        assert.equal(receiver.hellos(), 1);
        assert.equal(receiver.bodies.length, 0);
    }
});

test('http spoken to an https receiver, and the other way round, is a network error', async (t) => {
    const certificate = await makeCertificate(t, 'IP:127.0.0.1');
    const secure = await startHttps(t, certificate);
    const plain = net.createServer((socket) => {
        socket.on('error', () => {}).end('HTTP/1.1 200 OK\r\n\r\n');
    });
    plain.listen(0, '127.0.0.1');
    await once(plain, 'listening');
    atEnd(t, () => plain.close());
    const { call, sidecar } = await stage(t, { env: { HOOKLINE_WEBHOOK_ATTEMPTS: '1' } });
    const deadLetters = () => sidecar.metric('hookline_dead_letters_total');
    const urls = [
        secure.url.replace('https:', 'http:'),
        `https://127.0.0.1:${plain.address().port}/hook`,
    ];
    for (const [i, webhookEndpoint] of urls.entries()) {
        await call(RUN, { query: { webhookEndpoint } });
        await until('it was given up', async () => (await deadLetters()) === i + 1);
    }
    assert.equal(secure.bodies.length, 0);
});

test('a CA file that cannot be read stops the start with a clear line', async (t) => {
    const directory = await temporaryDirectory(t);
    const { code, stderr } = await run([], {
        HOOKLINE_WEBHOOK_CA_FILE: join(directory, 'missing.pem'),
        HOOKLINE_DATA_DIR: directory,
        HOOKLINE_LISTEN: '127.0.0.1:0',
        HOOKLINE_ADMIN_LISTEN: '127.0.0.1:0',
    });
    assert.notEqual(code, 0);
    assert.match(stderr, /missing\.pem/);
});
