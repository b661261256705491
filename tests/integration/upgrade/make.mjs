// make.mjs - makes a store as an older version leaves it when it is killed, for upgrade.test.mjs: a run in each state, a
// delivery in each, bodies in rows and in files, accounts. Not run by the tests: what it made stands beside it.
//
//   node tests/integration/upgrade/make.mjs HOOKLINE NAME            → NAME.tar.gz (the data directory), NAME.json
//   node tests/integration/upgrade/make.mjs HOOKLINE NAME URL KEY    → NAME.sql.gz (the schema), NAME.json
//
// HOOKLINE: the program of that version. URL: an empty database of PostgreSQL.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const [program, name, url, key] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const home = mkdtempSync(join(tmpdir(), 'upgrade-'));
const directory = join(home, 'data');
const LARGE = 'r'.repeat(300_000); // a file of its own
const made = { runs: {}, deliveries: {}, token: '', revoked: '', key };

const app = createServer((request, response) => {
    request.resume().on('end', () => {
        const what = request.headers['x-do'];
        if (what === 'hold') return;
        if (what === 'stream') {
            response.writeHead(200, { 'content-type': 'text/event-stream' });
            response.end('data: one\n\ndata: two\n\n');
            return;
        }
        response.writeHead(what === 'fail' ? 500 : 200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ made: what === 'large' ? LARGE : 'before' }));
    });
});
const receiver = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(request.url === '/gone' ? 410 : 204).end());
});

const listen = async (server) => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${server.address().port}`;
};

const until = async (what, find) => {
    for (let i = 0; i < 600; i++) {
        const found = await find();
        if (found) return found;
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`${what}: never`);
};

const [appUrl, receiverUrl] = [await listen(app), await listen(receiver)];
const probe = createServer();
const runUrl = await listen(probe);
await new Promise((resolve) => probe.close(resolve));

const env = {
    PATH: process.env.PATH,
    HOOKLINE_LISTEN: new URL(runUrl).host,
    HOOKLINE_ADMIN_LISTEN: '127.0.0.1:0',
    HOOKLINE_APP_URL: appUrl,
    HOOKLINE_DATA_DIR: directory,
    HOOKLINE_PROJECT_ID: 'p',
    HOOKLINE_WEBHOOK_ALLOW: '127.0.0.0/8',
    HOOKLINE_WEBHOOK_SECRET: 'a-secret-of-more-than-32-characters',
    HOOKLINE_WEBHOOK_SCHEDULE: '1s,1h', // where it is known: what is pending stays so
    HOOKLINE_ASYNC_CONCURRENCY: '1',
    HOOKLINE_STREAM_RETENTION: '3650d',
    ...(url && { HOOKLINE_STORE: 'postgres', HOOKLINE_POSTGRES_URL: url, HOOKLINE_KEY: key, HOOKLINE_POSTGRES_SCHEMA: 'old', HOOKLINE_REPLICA_TTL: '5s' }),
};
const sidecar = spawn(program, [], { env, stdio: ['ignore', 'inherit', 'inherit'] });
const command = (...words) => execFileSync(program, words, { env, encoding: 'utf8' });

await until('it is ready', async () => (await fetch(`${runUrl}/_hookline/readyz`).catch(() => null))?.status === 200);
made.token = command('token', 'create', '--name', 'kept', '--role', 'admin', '--expires', '3650d', '--project', 'p').trim().split('\n').pop();
made.revoked = command('token', 'create', '--name', 'revoked', '--expires', '3650d', '--project', 'p').trim().split('\n').pop();
const revokedId = command('token', 'list', '--project', 'p', '--json').match(/"(?:id|account_id)":\s*"([^"]+)"[^}]*"name":\s*"revoked"/)?.[1]
    ?? command('token', 'list', '--project', 'p').split('\n').find((line) => line.includes('revoked')).split(/\s+/)[0];
command('token', 'revoke', revokedId);

const authorized = { authorization: `Bearer ${made.token}` };
async function begin(label, { what = 'ok', hook, query = {}, headers = {}, body = '{"n":1}' } = {}) {
    const search = new URLSearchParams({ async: 'true', ...(hook && { webhookEndpoint: hook }), ...query });
    const answer = await fetch(`${runUrl}/v4/p/a/run?${search}`, {
        method: 'POST', body, headers: { ...authorized, 'content-type': 'application/json', 'x-do': what, ...headers },
    });
    if (answer.status !== 202) throw new Error(`${label}: ${answer.status} ${await answer.text()}`);
    return (made.runs[label] = (await answer.json()).run_id);
}
const show = async (label) => (await fetch(`${runUrl}/v2/projects/p/runs/${made.runs[label]}`, { headers: authorized })).json();
const delivery = async (label, isSo) =>
    until(`the delivery of ${label}`, async () => {
        const answer = await fetch(`${runUrl}/v2/projects/p/deliveries?run_id=${made.runs[label]}`, { headers: authorized });
        const found = (await answer.json()).deliveries?.find(isSo);
        if (found) made.deliveries[label] = found.delivery_id ?? found.id;
        return found;
    });
const ended = (label) => until(`${label} has ended`, async () => (await show(label)).finished_at);

await begin('success', { headers: { 'idempotency-key': 'once' } });
await begin('failure', { what: 'fail' });
await begin('large', { what: 'large', body: JSON.stringify({ n: LARGE }) });
await begin('delivered', { hook: `${receiverUrl}/hook` });
await begin('dead', { hook: `${receiverUrl}/gone` });
await begin('pending', { hook: 'http://127.0.0.1:9/hook' });
for (const label of Object.keys(made.runs)) await ended(label);
await delivery('delivered', ({ state }) => state === 'delivered');
await delivery('dead', ({ state }) => state === 'dead');
await delivery('pending', ({ attempts }) => attempts >= 1 || attempts?.length >= 1);
await begin('running', { what: 'hold' });
await until('it runs', async () => (await show('running')).state === 'running');
await begin('cancelled');
await fetch(`${runUrl}/v2/projects/p/runs/${made.runs.cancelled}/cancel`, { method: 'POST', headers: authorized });
await ended('cancelled');
await begin('queued');
await begin('queued large', { body: JSON.stringify({ n: LARGE }) });
await begin('queued with a webhook', { hook: `${receiverUrl}/hook` });
if (command('--help').includes('HOOKLINE_STREAM_KEEP')) {
    const answer = await fetch(`${runUrl}/v4/p/a/run`, {
        method: 'POST', body: '{}',
        headers: { ...authorized, 'content-type': 'application/json', accept: 'text/event-stream', 'x-run-keep': 'true', 'x-do': 'stream' },
    });
    made.runs['kept stream'] = answer.headers.get('x-request-id');
    made.stream = await answer.text();
    await begin('queued high', { headers: { 'x-run-priority': 'high' } }).catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 500)); // until its end is recorded
}

sidecar.kill('SIGKILL');
await once(sidecar, 'exit');
if (url) {
    const dump = execFileSync('pg_dump', ['--no-owner', '--no-privileges', '--schema=old', url], { maxBuffer: 1 << 28, encoding: 'utf8' });
    // psql knows the two lines from 15.14 on only.
    writeFileSync(join(here, `${name}.sql.gz`), gzipSync(dump.replace(/^\\(un)?restrict .*\n/gm, ''), { level: 9 }));
} else {
    rmSync(join(directory, 'control.sock'), { force: true });
    execFileSync('tar', ['-C', home, '-czf', join(here, `${name}.tar.gz`), '--owner=0', '--group=0', '--exclude=*.sock', 'data']);
}
writeFileSync(join(here, `${name}.json`), `${JSON.stringify(made, null, 4)}\n`);
rmSync(home, { recursive: true });
process.exit();
