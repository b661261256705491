// pooler.mjs - Debian's pgbouncer in transaction mode, with one connection to the server for each database: whoever
// asks next has the session that the one before has left.
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
