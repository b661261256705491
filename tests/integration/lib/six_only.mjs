// six_only.mjs - a program: a machine without IPv4, and a webhook to a name in it. Runs in a network namespace and a
// mount namespace of its own, with the binary and a directory as arguments; says on stdout what getaddrinfo has
// found and which requests came to the receiver.
import { execFileSync, spawn } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import http from 'node:http';
import { join } from 'node:path';
import { DnsServer } from './dns.mjs';
import { until } from './until.mjs';

const [binary, directory] = process.argv.slice(2);
const HERE = '::1';
const t = { after() {} };

async function serve(onRequest) {
    const server = http.createServer((request, response) => {
        onRequest?.(request);
        request.resume().on('end', () => response.end('{}'));
    });
    await once(server.listen(0, HERE), 'listening');
    return server.address().port;
}

async function answers(port, method, path) {
    const request = http.request({ host: HERE, port, method, path });
    request.end();
    const [response] = await once(request, 'response');
    response.resume();
    return response.statusCode;
}

execFileSync('ip', ['link', 'set', 'lo', 'up']);
execFileSync('ip', ['address', 'del', '127.0.0.1/8', 'dev', 'lo']);
const resolv = join(directory, 'resolv.conf');
await writeFile(resolv, `nameserver ${HERE}\nsearch broken.test six.test\noptions ndots:5\n`);
execFileSync('mount', ['--bind', resolv, '/etc/resolv.conf']);
const dns = await DnsServer.beside(t, HERE);
dns.set('hook.broken.test', 'SERVFAIL');
dns.set('hook.six.test', { A: 'SERVFAIL', AAAA: [HERE] });

const came = [];
const [app, receiver] = [await serve(), await serve((request) => came.push(request.headers.host))];
const [run, admin] = [8080, 9090]; // the namespace's own
const hookline = spawn(binary, [], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
        HOOKLINE_LISTEN: `[${HERE}]:${run}`,
        HOOKLINE_ADMIN_LISTEN: `[${HERE}]:${admin}`,
        HOOKLINE_APP_URL: `http://[${HERE}]:${app}`,
        HOOKLINE_AUTH: 'none',
        HOOKLINE_STORE: 'memory',
        HOOKLINE_WEBHOOK_ALLOW: `${HERE}/128`,
        HOOKLINE_WEBHOOK_ATTEMPTS: '1',
        HOOKLINE_LOG_LEVEL: 'error',
    },
});
try {
    await until('it is ready', async () => (await answers(run, 'GET', '/_hookline/readyz').catch(() => 0)) === 200);
    const url = encodeURIComponent(`http://hook:${receiver}/`);
    const status = await answers(run, 'POST', `/v4/p/a/run?webhookEndpoint=${url}`);
    const found = (await lookup('hook', { all: true })).map(({ address }) => address);
    await until('the webhook is there', () => came.length > 0);
    console.log(JSON.stringify({ status, found, came: came.map((host) => host.replace(/:\d+$/, '')) }));
} finally {
    hookline.kill('SIGKILL');
    process.exitCode ??= 0;
    setTimeout(() => process.exit(), 10);
}
