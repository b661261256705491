// Measures functions in JavaScript beside a bare node:http server that does the same, one process each, over loopback.
// Asserts nothing; figures are for reading.
//
//   node tests/bench/runtime/node.mjs [ROUNDS]    small calls on 16 kept connections; medians over rounds (7)
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HOST = fileURLToPath(new URL('../../../runtime/node/bin/hookline-functions.mjs', import.meta.url));
const ROUNDS = Number(process.argv[2] ?? 7);
const CONNECTIONS = 16;
const ROUND_MS = 400;
const FUNCTIONS = `export const run = () => null;
export const later = async ({ prompt }) => ({ said: prompt });
export const schema = { later: { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] } };`;
const BARE = `const http = require('node:http');
http.createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
        const { prompt } = JSON.parse(Buffer.concat(chunks));
        const text = JSON.stringify(request.url === '/run' ? null : { said: prompt });
        response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) });
        response.end(text);
    });
}).listen(process.env.PORT, '127.0.0.1', () => console.error(JSON.stringify({ msg: 'listening', address: 'port ' + process.env.PORT })));`;

const folder = mkdtempSync(join(tmpdir(), 'hookline-bench-'));
writeFileSync(join(folder, 'main.mjs'), FUNCTIONS);
writeFileSync(join(folder, 'bare.cjs'), BARE);

async function start(args, port) {
    const env = { ...process.env, PORT: port, HOOKLINE_LOG_FORMAT: 'json', HOOKLINE_FUNCTION_CONCURRENCY: '16' };
    const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
    await new Promise((resolve) => child.stderr.on('data', (text) => /listening/.test(text) && resolve()));
    return { child, port };
}

/** Of the process, all its threads, user and system, ms. */
function cpuOf({ child }) {
    const [user, system] = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13);
    return (Number(user) + Number(system)) * 10;
}

/** Calls in ROUND_MS, one after the other on each connection. */
async function callsOf({ port }, name) {
    const body = '{"prompt":"hello"}';
    const text = `POST /${name} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    let count = 0;
    const end = Date.now() + ROUND_MS;
    const ask = () =>
        new Promise((resolve, reject) => {
            const socket = net.connect(port, '127.0.0.1', () => socket.write(text));
            socket.on('error', reject);
            socket.on('data', (bytes) => {
                if (!bytes.includes('HTTP/1.1 200')) reject(new Error(String(bytes)));
                count++;
                if (Date.now() < end) socket.write(text);
                else socket.end(resolve);
            });
        });
    await Promise.all(Array.from({ length: CONNECTIONS }, ask));
    return count;
}

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

const servers = {
    'hookline-functions': await start([HOST, 'main.mjs'], 18190),
    'node:http': await start(['bare.cjs'], 18191),
};
for (const name of ['run', 'later']) {
    const found = Object.fromEntries(Object.keys(servers).map((server) => [server, { calls: [], cpu: [] }]));
    for (let round = -1; round < ROUNDS; round++) {
        for (const [server, it] of Object.entries(servers)) {
            const before = cpuOf(it);
            const count = await callsOf(it, name);
            if (round < 0) continue;
            found[server].calls.push(count / (ROUND_MS / 1000));
            found[server].cpu.push(((cpuOf(it) - before) * 1000) / count);
        }
    }
    for (const [server, { calls, cpu }] of Object.entries(found))
        console.log(
            `${name.padEnd(6)} ${server.padEnd(19)} ${Math.round(median(calls))} calls/s, ${median(cpu).toFixed(0)} us of CPU a call`,
        );
}
for (const { child } of Object.values(servers)) child.kill('SIGKILL');
rmSync(folder, { recursive: true });
