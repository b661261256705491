// proxy.mjs - what stands between the caller and the app: hookline, or a peer that it is compared with.
import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { atEnd } from '../../lib/cleanup.mjs';
import { freePort, startSidecar, temporaryDirectory } from '../../lib/sidecar.mjs';
import { until } from '../../lib/until.mjs';
import { Origin } from './origin.mjs';

/** One worker, so that a request that is answered proves that all before it were read; long waits but for
 * those that cases sit through. */
const HOOKLINE_ENV = {
    HOOKLINE_WORKERS: '1',
    HOOKLINE_HEAD_TIMEOUT: '6s',
    HOOKLINE_BODY_TIMEOUT: '15s',
    HOOKLINE_CONNECT_TIMEOUT: '15s',
    HOOKLINE_APP_HEAD_TIMEOUT: '2s',
};

const PEERS = {
    haproxy: { file: 'haproxy.cfg', command: ['haproxy', '-db', '-f'] },
    nginx: { file: 'nginx.conf', command: ['nginx', '-c'] },
};

/** An app and the named proxy before it, both ended with the test `t`: `{ port, origin }`. */
export async function startStage(t, name = 'hookline') {
    const origin = await new Origin().listen();
    atEnd(t, () => origin.close());
    const url = `http://127.0.0.1:${origin.port}`;
    const { port } = PEERS[name]
        ? await startPeer(t, PEERS[name], origin.port)
        : await startSidecar(t, { env: { ...HOOKLINE_ENV, HOOKLINE_APP_URL: url } });
    return { port, origin };
}

/** Their configurations name ports and the directory in {braces}. */
async function startPeer(t, { file, command: [program, ...flags] }, appPort) {
    const directory = await temporaryDirectory(t);
    const port = await freePort();
    const template = await readFile(new URL(`../peers/${file}`, import.meta.url), 'utf8');
    const values = { port, appPort, directory };
    const text = template.replace(/\{(port|appPort|directory)\}/g, (_, key) => values[key]);
    const path = join(directory, file);
    await writeFile(path, text);
    const child = spawn(program, [...flags, path], { stdio: ['ignore', 'ignore', 'inherit'] });
    const exit = once(child, 'close');
    atEnd(t, () => {
        child.kill('SIGTERM');
        return exit;
    });
    await until(`${program} listens`, () => isListening(port));
    return { port };
}

async function isListening(port) {
    const socket = net.connect(port, '127.0.0.1');
    const isOpen = await new Promise((resolve) => {
        socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    return isOpen;
}
