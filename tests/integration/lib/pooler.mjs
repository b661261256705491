// pooler.mjs - Debian's pgbouncer in transaction mode, with one connection to the server for each database: whoever
// asks next has the session that the one before has left.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEnd } from './cleanup.mjs';
import { freePort } from './sidecar.mjs';
import { until } from './until.mjs';

const PROGRAM = '/usr/sbin/pgbouncer';

/** Why there is none on this machine, or false. */
export const lacksPooler = !existsSync(PROGRAM) && 'there is no pgbouncer: install it';

/** The URL of `database` by way of a pooler that is gone when the test ends. */
export async function pooler(t, database) {
    const directory = mkdtempSync(join(tmpdir(), 'hookline-pooler-'));
    const { hostname, port, username, password } = new URL(database.url);
    const own = new URL(database.url);
    own.hostname = '127.0.0.1';
    own.port = await freePort();
    writeFileSync(
        join(directory, 'ini'),
        `[databases]
* = host=${hostname} port=${port} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own.port}
auth_type = any
pool_mode = transaction
default_pool_size = 1
server_login_retry = 1
ignore_startup_parameters = extra_float_digits
`,
    );
    chmodSync(directory, 0o755); // it refuses to be root's
    const user = process.getuid() === 0 ? ['-u', 'nobody'] : [];
    const child = spawn(PROGRAM, [...user, join(directory, 'ini')], { stdio: ['ignore', 'ignore', 'pipe'] });
    atEnd(t, () => {
        child.kill('SIGKILL');
        rmSync(directory, { recursive: true });
    });
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (log += text));
    await until('the pooler is up', () => log.includes('process up'));
    return own.href;
}

const KEY_DATA = 'K'.charCodeAt(0);

/** The URL of a pooler behind one that passes on `pid`, the number of the server's own process, as some do. */
export async function disguised(t, url, pid) {
    const { hostname, port } = new URL(url);
    const sockets = new Set();
    const way = net.createServer((client) => {
        const server = net.connect(Number(port), hostname);
        for (const [from, to] of [[client, server], [server, client]]) {
            sockets.add(from);
            from.on('error', () => {});
            from.on('close', () => to.destroy());
        }
        client.pipe(server);
        let rest = Buffer.alloc(0);
        const onBegin = (bytes) => {
            rest = Buffer.concat([rest, bytes]);
            while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
                const message = rest.subarray(0, 1 + rest.readUInt32BE(1));
                rest = rest.subarray(message.length);
                if (message[0] === KEY_DATA) message.writeUInt32BE(pid, 5);
                client.write(message);
                if (message[0] !== KEY_DATA) continue;
                server.off('data', onBegin);
                client.write(rest);
                server.pipe(client);
                return;
            }
        };
        server.on('data', onBegin);
    });
    way.listen(0, '127.0.0.1');
    await once(way, 'listening');
    atEnd(t, () => {
        for (const socket of sockets) socket.destroy();
        way.close();
    });
    const own = new URL(url);
    own.host = `127.0.0.1:${way.address().port}`;
    own.search = 'sslmode=disable&gssencmode=disable';
    return own.href;
}
