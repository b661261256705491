// plain.mjs - an app for a hookline that starts it: listens where it is told to, answers what it is
// asked about itself, and does what a path says.
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import http from 'node:http';

const log = (text) => process.stdout.write(`${text}\n`);
const seen = [];
for (const name of ['SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGQUIT', 'SIGWINCH'])
    process.on(name, () => {
        seen.push(name);
        log(`got ${name}`);
    });
if (process.env.TEST_IGNORES_SIGTERM) process.on('SIGTERM', () => log('SIGTERM is ignored'));

/** What this process has: its environment, descriptors, ids, signals. */
function self() {
    const status = readFileSync('/proc/self/status', 'latin1');
    const line = (name) => new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(status)[1];
    const fds = {};
    for (const fd of readdirSync('/proc/self/fd')) {
        try {
            fds[fd] = readlinkSync(`/proc/self/fd/${fd}`);
        } catch {
            // the directory that was read
        }
    }
    return {
        pid: process.pid,
        parent: process.ppid,
        environment: process.env,
        fds,
        uid: line('Uid'),
        gid: line('Gid'),
        groups: line('Groups').trim(),
        seen,
    };
}

const server = http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://app');
    const ms = Number(searchParams.get('ms') ?? 0);
    request.resume().on('end', () => {
        switch (pathname) {
            case '/exit':
                return process.exit(Number(searchParams.get('status') ?? 1));
            case '/hang':
                return void log(`hanging ${request.headers['x-request-id']}`);
            case '/abort':
                return process.kill(process.pid, 'SIGKILL');
            default:
                setTimeout(() => response.end(JSON.stringify(self())), ms);
        }
    });
});
server.keepAliveTimeout = 60_000;
server.listen(process.env.SOCKET ?? { port: process.env.PORT, host: '127.0.0.1' }, () =>
    log('listening'),
);
