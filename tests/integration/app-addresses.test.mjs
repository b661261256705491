// The addresses of the app's name: some that do not answer, some that it does not have any more.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { DnsServer } from './lib/dns.mjs';
import { stage } from './lib/stage.mjs';
import { freePort } from './lib/sidecar.mjs';
import { startServer } from './lib/server.mjs';
import { gate, until } from './lib/until.mjs';

const SILENT = `require('net').createServer().listen({ port: +process.argv[1], host: process.argv[2], backlog: 1 },
    () => console.log('it listens'))`;

/** Whether a connect to it is still unanswered after a while. */
async function isSilent(t, port, host) {
    const socket = net.connect({ port, host }).on('error', () => {});
    atEnd(t, () => socket.destroy());
    const quiet = new Promise((resolve) => setTimeout(resolve, 300, true));
    return Promise.race([quiet, once(socket, 'connect').then(() => false)]);
}

/** An address that answers no connect: its listener is stopped, and its queue is full. */
async function silence(t, port, host) {
    const child = spawn(process.execPath, ['-e', SILENT, String(port), host], {
        stdio: ['ignore', 'pipe', 'inherit'],
    });
    atEnd(t, () => child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    child.kill('SIGSTOP');
    await until('it is silent', () => isSilent(t, port, host));
}

/** `{ dns, port, listen(host), open(addresses) }`; null: skipped. 127.0.0.2 comes before 127.0.0.4 (RFC 6724). */
async function names(t) {
    const started = await DnsServer.start(t);
    if (!started) return null;
    const { dns, command } = started;
    const port = await freePort();
    const listen = (host) => startServer(t, (x) => x.send(200, {}, host), port, host);
    const open = (...addresses) => {
        dns.set('app.test', addresses);
        return stage(t, {
            app: null,
            wait: 'readyz',
            command,
            env: {
                HOOKLINE_APP_URL: `http://app.test:${port}`,
                HOOKLINE_CONNECT_TIMEOUT: '2500ms',
                HOOKLINE_WORKERS: '1',
            },
        });
    };
    return { dns, port, listen, open };
}

test('an address that does not answer holds up no call for long, and none once another one has', async (t) => {
    const some = await names(t);
    if (!some) return;
    await silence(t, some.port, '127.0.0.2');
    await some.listen('127.0.0.4');
    const { call } = await some.open('127.0.0.2', '127.0.0.4');
    const responses = await Promise.all(Array.from({ length: 8 }, () => call()));
    for (const { status, text } of responses) assert.deepEqual([status, text], [200, '127.0.0.4']);
});

test('an app that has moved is found by the first call', async (t) => {
    const some = await names(t);
    if (!some) return;
    const before = await some.listen('127.0.0.2');
    const { call } = await some.open('127.0.0.2');
    assert.equal((await call()).text, '127.0.0.2');
    await before.close();
    await silence(t, some.port, '127.0.0.2');
    await some.listen('127.0.0.4');
    some.dns.set('app.test', ['127.0.0.4']);
    const { status, text } = await call();
    assert.deepEqual([status, text], [200, '127.0.0.4']);
});

test('connections to an address that the name does not have any more are closed, behind their calls', async (t) => {
    const some = await names(t);
    if (!some) return;
    const [before, held] = [await some.listen('127.0.0.2'), gate()];
    const { call } = await some.open('127.0.0.2');
    await some.listen('127.0.0.4');
    before.handler = async (x) => {
        if (x.path === '/held') await held.promise;
        await x.send(200, {}, '127.0.0.2');
    };
    const busy = call('/v4/p/a/held');
    busy.catch(() => {}); // it is cut where the test has failed
    await until('it is inside', () => before.requests.some((x) => x.path === '/held'));
    await call(); // another connection is kept
    some.dns.set('app.test', ['127.0.0.4']);
    let count = 2;
    await until('the new address is known', async () => {
        const answers = await Promise.all(Array.from({ length: count++ }, () => call())); // one more than are kept
        return answers.some(({ text }) => text === '127.0.0.4');
    });
    await until('the kept ones are closed', () => before.openConnections === 1);
    held.open();
    assert.equal((await busy).text, '127.0.0.2');
    await until('so is the last', () => before.openConnections === 0);
    assert.equal((await call()).text, '127.0.0.4');
});
