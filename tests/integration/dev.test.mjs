// hookline dev: an app under work, hookline in front of it, a receiver for its webhooks; one command, and nothing left.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir, readlink, writeFile } from 'node:fs/promises';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { atEnd } from './lib/cleanup.mjs';
import { onFailure, test } from './lib/case.mjs';
import { compileText } from './lib/function.mjs';
import { coreSettings } from './lib/python.mjs';
import { startServer } from './lib/server.mjs';
import { BINARY, run, temporaryDirectory } from './lib/sidecar.mjs';
import { until } from './lib/until.mjs';

const MAIN = `
def run(prompt: str, n: int):
    return {"said": prompt * n}

def stream(prompt: str):
    yield prompt
    yield "again"
`;

class Dev {
    output = '';

    constructor(child, folder) {
        this.child = child;
        this.folder = folder;
        this.closed = once(child, 'close');
        for (const name of ['stdout', 'stderr'])
            child[name].setEncoding('utf8').on('data', (text) => (this.output += text));
    }

    said(pattern) {
        return until(`it says ${pattern}`, () => pattern.test(this.output));
    }

    /** The line to paste below that heading. */
    command(heading) {
        return new RegExp(`^${heading}.*:\n  (curl .*)$`, 'm').exec(this.output)[1];
    }

    async paste(heading) {
        const { stdout } = await promisify(execFile)('bash', ['-c', this.command(heading)]);
        return stdout;
    }

    get port() {
        return Number(/hookline is at http:\/\/127\.0\.0\.1:(\d+)/.exec(this.output)[1]);
    }

    async webhooks() {
        const url = /received webhooks at (http:\S+)/.exec(this.output)[1];
        return (await (await fetch(url)).json()).deliveries;
    }

    async end(signal = 'SIGINT') {
        this.child.kill(signal);
        return (await this.closed)[0];
    }
}

/** `words`: its arguments. `files`: of the folder it is started in. `said`: what is waited for. */
async function startDev(t, words, { files = { 'main.py': MAIN }, env = {}, said = /^Ctrl-C ends everything/m } = {}) {
    const folder = await temporaryDirectory(t);
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    const child = spawn(BINARY, ['dev', ...words], {
        cwd: folder,
        env: { PATH: process.env.PATH, HOME: folder, ...coreSettings(), ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
    });
    const dev = new Dev(child, folder);
    atEnd(t, async () => {
        child.kill('SIGKILL');
        await dev.closed;
    });
    onFailure(t, () => dev.output);
    await dev.said(said);
    return dev;
}

/** Processes that know of that folder. */
async function processesIn(folder) {
    const found = [];
    for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
        const environ = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
        if (environ.split('\0').includes(`HOME=${folder}`)) found.push(pid);
    }
    return found;
}

/** Control sockets that those processes have open, by path. */
async function controlSocketsOf(folder) {
    const sockets = (await readFile('/proc/net/unix', 'utf8')).split('\n').map((line) => line.split(/ +/));
    const paths = new Map(sockets.map((words) => [`socket:[${words[6]}]`, words[7]]));
    const found = [];
    for (const pid of await processesIn(folder))
        for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => []))
            found.push(paths.get(await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));
    return found.filter((path) => path?.endsWith('control.sock'));
}

test('a file of functions: the calls that it prints work as printed', async (t) => {
    const dev = await startDev(t, ['main.py']);
    assert.deepEqual(JSON.parse(await dev.paste('A call')), { said: 'hello' });
    assert.match(await dev.paste('A stream'), /^data: hello\nid: 1\n\ndata: again\nid: 2\n/);
    const { run_id } = JSON.parse(await dev.paste('In the background'));
    await dev.said(new RegExp(`run.success of run ${run_id}: signature verified, answered with 200`));
    const [{ verdict }] = await dev.webhooks();
    assert.equal(verdict, 'signature verified');
});

test('several that are started at the same moment have ports of their own', async (t) => {
    const server = await startServer(t, (exchange) => exchange.send(200));
    const devs = await Promise.all(Array.from({ length: 4 }, () => startDev(t, [server.url], { files: {} })));
    assert.equal(new Set(devs.map((dev) => dev.port)).size, devs.length);
    for (const dev of devs) assert.equal(await dev.end(), 0);
});

test('the app is started again when its files change, and waits for the next change when it cannot be', async (t) => {
    const dev = await startDev(t, ['main.py']);
    const file = join(dev.folder, 'main.py');
    await writeFile(join(dev.folder, 'data.json'), '{}');
    await writeFile(file, MAIN.replace('"said"', '"changed"'));
    await until('the new code answers', async () => /changed/.test(await dev.paste('A call')));
    await writeFile(file, `${MAIN}\ndef (`);
    await dev.said(/SyntaxError[^]*ended with status 1\n.*it is restarted when a file below/);
    await writeFile(file, MAIN);
    await until('it answers again', async () => /said/.test(await dev.paste('A call')));
    assert.doesNotMatch(dev.output, /data\.json/);
    assert.doesNotMatch(dev.output, /warning:/, 'a restart is dev’s own choice');
});

test('of an app that ends at once its last words, its status and what comes next are said', async (t) => {
    const broken = "for (let i = 1; i < 9; i++) console.error('line ' + i);\nprocess.exit(7);";
    const said = /dev +\| it is restarted.*\n/;
    const dev = await startDev(t, ['--', 'node', 'server.js'], { files: { 'server.js': broken }, said });
    const [, words, next] = /ended with status 7 before it listened\n((?:dev .*\n)*)(dev .*restarted.*)\n/.exec(dev.output);
    assert.deepEqual(words.match(/line \d/g), [4, 5, 6, 7, 8].map((n) => `line ${n}`));
    assert.match(next, /when a file below \/.* changes; what to call is printed once it listens on port \d+; Ctrl-C ends everything/);
    const good = "require('http').createServer((q, a) => a.end('good')).listen(process.env.PORT, '127.0.0.1');";
    await writeFile(join(dev.folder, 'server.js'), good);
    await dev.said(/^Ctrl-C ends everything/m);
    assert.equal(await dev.paste('A call'), 'good');
    assert.equal(await dev.end(), 0);
});

test('an app that does not listen where it should is told of', async (t) => {
    const mute = { 'server.js': 'setInterval(() => {}, 1000);' };
    const said = /the app is not yet listening on 127\.0\.0\.1:\d+/;
    const dev = await startDev(t, ['--', 'node', 'server.js'], { files: mute, said });
    assert.equal(await dev.end(), 0);
});

test('a command that is not there is named, with what comes next', async (t) => {
    const dev = await startDev(t, ['--', 'no-such-program'], { said: /dev +\| it is restarted when a file below/ });
    assert.match(dev.output, /no-such-program cannot be run: No such file/);
    assert.equal(await dev.end(), 0);
});

test('a command gets PORT, and what it leaves behind is ended with it', async (t) => {
    const server = `
require('child_process').spawn('sleep', ['1000'], { stdio: 'ignore', detached: true });
require('http').createServer((q, a) => a.end('hi from ' + q.url)).listen(process.env.PORT, '127.0.0.1');`;
    const dev = await startDev(t, ['--', 'node', 'server.js'], { files: { 'server.js': server } });
    assert.match(await dev.paste('A call'), /^hi from \//);
    assert.equal(await dev.end(), 0);
    await until('no process is left', async () => (await processesIn(dev.folder)).length === 0);
    assert.deepEqual(await readdir(dev.folder), ['server.js']);
});

test('a server that runs already is given by its URL; one that does not run yet is waited for', async (t) => {
    const app = await startServer(t, (x) => x.send(200, {}, 'here'));
    const dev = await startDev(t, [app.url], { files: {} });
    assert.equal(await dev.paste('A call'), 'here');
    assert.match(dev.output, /could not be found out: GET \/openapi\.json answered 200, GET \/ answered 200\. Put your own path/);

    // What it says of itself never ends: nobody waits for that.
    const drip = (answer) => {
        const timer = setInterval(() => answer.write(' '), 50);
        answer.on('close', () => clearInterval(timer));
    };
    const later = http.createServer(({ url }, answer) => (url === '/openapi.json' ? drip(answer) : answer.end('later')));
    await once(later.listen(0, '127.0.0.1'), 'listening');
    const { port } = later.address();
    later.close();
    await once(later, 'close');
    const url = `http://127.0.0.1:${port}`;
    const waiting = await startDev(t, [url], { files: {}, said: new RegExp(`nothing listens at ${url}: what to call is printed once`) });
    assert.doesNotMatch(waiting.output, /curl/);
    // Another test may have the port just now.
    await until('the port is taken', () => once(later.listen(port, '127.0.0.1'), 'listening').then(() => true, () => false));
    atEnd(t, () => (later.closeAllConnections(), later.close()));
    await waiting.said(/^Ctrl-C ends everything/m);
    assert.equal(await waiting.paste('A call'), 'later');
});

test('an app that describes itself is called as it says: /openapi.json', async (t) => {
    const paths = { '/': { get: {} }, '/items': { post: { requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Item' } } } } } } };
    const schema = { type: 'object', required: ['name'], properties: { name: { type: 'string', enum: ["it's"] } } };
    const server = `
const description = ${JSON.stringify(JSON.stringify({ openapi: '3.1.0', paths, components: { schemas: { Item: schema } } }))};
require('http').createServer((q, a) => {
    if (q.url === '/openapi.json') { a.setHeader('content-type', 'application/json'); a.write(description.slice(0, 9)); return a.end(description.slice(9)); }
    q.on('data', (bytes) => a.write(q.method + ' ' + q.url + ' ' + bytes)).on('end', () => a.end());
}).listen(process.env.PORT, '127.0.0.1');`;
    const dev = await startDev(t, ['--', 'node', 'server.js'], { files: { 'server.js': server } });
    assert.equal(await dev.paste('A call'), 'POST /items {"name": "it\'s"}');
});

const FASTAPI = `
from typing import List
from fastapi import FastAPI
from pydantic import BaseModel, Field

app = FastAPI()

class Item(BaseModel):
    name: str = Field(min_length=8)
    price: float = Field(gt=1)

class Order(BaseModel):
    prompt: str
    items: List[Item] = Field(min_items=1)

@app.get("/")
def root():
    return "root"

@app.post("/orders/{shop}")
def order(shop: int, order: Order, top: int, more: str = ""):
    return {"shop": shop, "top": top, "items": len(order.items)}
`;

const FLASK = `
from flask import Flask

app = Flask(__name__)

@app.get("/")
def root():
    return "from Flask"
`;

test('an app of FastAPI is called as it describes itself, with all that the call needs', async (t) => {
    const command = 'exec /usr/bin/python3 -m uvicorn --port $PORT main:app';
    const dev = await startDev(t, ['--', 'sh', '-c', command], { files: { 'main.py': FASTAPI } });
    assert.deepEqual(JSON.parse(await dev.paste('A call')), { shop: 1, top: 1, items: 1 });
    const { run_id } = JSON.parse(await dev.paste('In the background'));
    await dev.said(new RegExp(`run.success of run ${run_id}: signature verified, answered with 200`));
});

test('of an app of Flask, or of Express, which describe nothing, it says what was tried', async (t) => {
    const flask = await startDev(t, ['--', 'sh', '-c', 'exec /usr/bin/python3 -m flask --app main run --port $PORT'], { files: { 'main.py': FLASK } });
    assert.match(flask.output, /could not be found out: GET \/openapi\.json answered 404, GET \/ answered 200\. Put your own path/);
    assert.equal(await flask.paste('A call'), 'from Flask');
    assert.equal(await flask.end(), 0);
    const express = new URL('apps/express.mjs', import.meta.url).pathname;
    const dev = await startDev(t, ['--', process.execPath, express], { files: {} });
    assert.match(dev.output, /GET \/openapi\.json answered 404, GET \/ answered 404\. Put your own path/);
    const call = `${dev.command('A call').replace("/app/'", "/app/run'")} -H 'Content-Type: application/json' -d '{"prompt": "abc"}'`;
    assert.equal(JSON.parse((await promisify(execFile)('bash', ['-c', call])).stdout).output, 'cba');
});

test('people read a line a call, prints as they are, tracebacks as Python writes them, and no warnings of dev’s own choices', async (t) => {
    const main = `import logging
def run():
    print("  printed")
    logging.warning("careful")

def fail():
    return {}["missing"]
`;
    const dev = await startDev(t, ['main.py'], { files: { 'main.py': main } });
    await dev.paste('A call');
    await dev.said(/^app {6}\|   printed\n/m);
    await dev.said(/^app {6}\| warning: careful /m);
    await dev.said(/^hookline \| \d\d:\d\d:\d\d POST \/v4\/dev\/app\/run 200 \d+ ms [0-9a-f-]{36} sync$/m);
    await fetch(`http://127.0.0.1:${dev.port}/v4/dev/app/fail`, { method: 'POST' });
    await dev.said(/^app {6}\| fail\(\) raised KeyError \(run [0-9a-f-]{36}\)\napp {6}\| Traceback \(most recent call last\):\napp {6}\|   File ".*main\.py", line 7, in fail$/m);
    await dev.said(/^hookline \| \S+ POST \/v4\/dev\/app\/fail 500 /m);
    assert.doesNotMatch(dev.output, /WARN|HOOKLINE_AUTH|control socket|"level"/);
    assert.deepEqual(await controlSocketsOf(dev.folder), [], 'none, as root neither, in place of that of a service');
});

test('functions of a class, and those of a shared object, are called as their host lists them', async (t) => {
    const main = 'class Model:\n    def predict(self, prompt: str, n: int = 2): return prompt * n\n';
    const dev = await startDev(t, ['main.py'], { files: { 'main.py': main } });
    assert.equal(await dev.paste('A call'), '"hellohello"');
    await dev.end();

    const upper = await compileText(t, `#include <hookline/function.h>
static int run(struct hl_fn_call *call) { hl_fn_emit_text(call, hl_fn_get_text(call, "prompt", "")); return 0; }
static const struct hl_fn_parameter takes[] = {{"prompt", HL_FN_STRING, HL_FN_REQUIRED}, {0}};
static const struct hl_fn_function functions[] = {{"run", run, takes}, {0}};
HL_FN_MODULE(functions, NULL, NULL);
`);
    const module = await startDev(t, [upper], { files: {} });
    assert.equal(await module.paste('A call'), '["hello"]');
});

test('a file of functions in JavaScript is served, shown and started again as one in Python is', async (t) => {
    const main = `export function run({ prompt, n = 2 }) {
    console.log('  printed');
    return prompt.repeat(n);
}
export function fail() {
    throw new RangeError('too far');
}
`;
    const dev = await startDev(t, ['main.mjs'], { files: { 'main.mjs': main } });
    assert.equal(await dev.paste('A call'), '"hellohello"');
    await dev.said(/^app {6}\|   printed\n/m);
    await fetch(`http://127.0.0.1:${dev.port}/v4/dev/app/fail`, { method: 'POST' });
    await dev.said(/^app {6}\| fail\(\) threw RangeError \(run [0-9a-f-]{36}\)\napp {6}\| RangeError: too far\napp {6}\|     at fail \(.*main\.mjs:6:\d+\)$/m);
    await writeFile(join(dev.folder, 'main.mjs'), `${main}export function (`);
    await dev.said(/main\.mjs:8\n[^]*SyntaxError[^]*ended with status 1\n.*it is restarted when a file below/);
    await writeFile(join(dev.folder, 'main.mjs'), main.replace('prompt.repeat(n)', '[prompt]'));
    await until('the new code answers', async () => (await dev.paste('A call')) === '["hello"]');
    assert.equal(await dev.end(), 0);
    assert.doesNotMatch(dev.output, /WARN|"level"/);
});

test('--fail-hooks lets the receiver misbehave, in that order, and then be good', async (t) => {
    const dev = await startDev(t, ['--fail-hooks', '404,reset', 'main.py']);
    await dev.paste('In the background');
    await until('the third attempt is there', async () => (await dev.webhooks()).length === 3);
    const answers = (await dev.webhooks()).map(({ answer }) => answer);
    assert.deepEqual(answers, ['200', 'reset', '404']);
});

test('pages of other origins and other names are refused', async (t) => {
    const dev = await startDev(t, ['main.py']);
    const status = async (path, headers) =>
        (await fetch(`http://127.0.0.1:${dev.port}${path}`, { method: 'POST', headers, body: '{}' })).status;
    assert.equal(await status('/v4/dev/app/run', { origin: 'http://evil.example' }), 403);
    const ask = (path) =>
        new Promise((resolve, reject) => {
            const headers = { host: 'evil.example' };
            const asked = http.get({ port: dev.port, host: '127.0.0.1', path, headers, agent: false });
            asked.on('response', (answer) => resolve(answer.resume().statusCode)).on('error', reject);
        });
    assert.equal(await ask('/v4/dev/app/x'), 421);
    assert.equal(await ask('/_hookline/healthz'), 200);
});

test('its receiver refuses other names and pages of other origins, knows a call’s own secret for one, and the folder stays as it was', async (t) => {
    const files = { 'main.py': `import words\n${MAIN}`, 'words.py': 'HELLO = 1\n' };
    const dev = await startDev(t, ['main.py'], { files });
    const [, url, port] = /received webhooks at (http:\/\/[^:]+:(\d+)\S+)/.exec(dev.output);
    const ask = (method, headers) =>
        new Promise((resolve, reject) => {
            const asked = http.request({ port, host: '127.0.0.1', method, path: new URL(url).pathname, headers, agent: false });
            asked.on('response', (answer) => resolve(answer.resume().statusCode)).on('error', reject).end(method === 'POST' ? '{}' : undefined);
        });
    const own = `127.0.0.1:${port}`;
    for (const method of ['GET', 'POST']) assert.equal(await ask(method, { host: 'evil.example' }), 421);
    for (const headers of [{ origin: 'http://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }])
        assert.equal(await ask('POST', { host: own, ...headers }), 403);
    assert.equal(await ask('GET', { host: own, origin: 'http://evil.example' }), 200, 'it may be read, which a browser prevents');
    assert.deepEqual(await dev.webhooks(), [], 'none of them counts as a delivery');
    for (const headers of [{ host: own }, { host: `localhost:${port}`, origin: `http://localhost:${port}` }]) assert.equal(await ask('POST', headers), 200);
    const path = `/v4/dev/app/run?async=true&webhookEndpoint=${encodeURIComponent(url)}`;
    const call = { method: 'POST', headers: { 'x-webhook-secret': 'my own', 'content-type': 'application/json' }, body: '{"prompt":"x"}' };
    const { run_id } = await (await fetch(`http://127.0.0.1:${dev.port}${path}`, call)).json();
    const delivery = await until('its webhook has come', async () => (await dev.webhooks()).find((one) => one.run_id === run_id));
    assert.match(delivery.verdict, /^signed with another secret: the call's own/);
    assert.equal(await dev.end(), 0);
    assert.deepEqual((await readdir(dev.folder)).sort(), ['main.py', 'words.py']);
});

test('ports that are taken are passed over, and variables of hookline’s are named and ignored', async (t) => {
    const taken = net.createServer();
    atEnd(t, () => taken.close());
    // Another test may have it just now, and give it up before dev looks.
    const take = () => once(taken.listen(8080, '127.0.0.1'), 'listening').then(() => true, () => false);
    await until('the port is taken here', take);
    const dev = await startDev(t, ['main.py'], { env: { HOOKLINE_LISTEN: '127.0.0.1:8080', HOOKLINE_AUTH: 'jwt' } });
    assert.notEqual(dev.port, 8080);
    assert.match(dev.output, /^Ignored: HOOKLINE_LISTEN HOOKLINE_AUTH /m);
    assert.match(await dev.paste('A call'), /said/);
});

test('two signals end it at once, and nothing is left', async (t) => {
    const stubborn = `process.on('SIGTERM', () => {});
require('http').createServer((q, a) => a.end()).listen(process.env.PORT, '127.0.0.1');`;
    const dev = await startDev(t, ['--', 'node', 'server.js'], { files: { 'server.js': stubborn } });
    dev.child.kill('SIGINT');
    await dev.said(/listeners closed/);
    assert.equal(await dev.end('SIGTERM'), 0);
    await until('no process is left', async () => (await processesIn(dev.folder)).length === 0);
});

for (const [words, what] of [
    [[], /^hookline dev: it needs an app: a file of functions in Python/],
    [['--'], /needs a command after it/],
    [['localhost:3000'], /did you mean http:\/\/localhost:3000\?/],
    [['http://'], /^hookline dev: http:\/\/ is not the URL of an app, such as http:\/\/127\.0\.0\.1:3000: it has no host\n/],
    [['https://:3000/'], /https:\/\/:3000\/ is not the URL .*: it has no host\n/],
    [['http://localhost:port'], /localhost:port is not the URL .*: its host or its port cannot be read\n/],
    [['http://localhost:3000/a b'], /a b is not the URL .*: its path has bytes that a URL must write as %XX\n/],
    [['ftp://localhost'], /ftp:\/\/localhost is not the URL .*: it begins with neither http:\/\/ nor https:\/\/\n/],
    [['http:/localhost'], /http:\/localhost is not the URL .*: it begins with neither/],
    [['/etc/hosts.conf.js', '--fast', '--fail-hooks', '9'], /no option "--fast"[^]*--fail-hooks takes[^]*hosts\.conf\.js: No such/],
    [['a.py', 'b.py'], /one app, but got "b\.py" too/],
    [['--fail-hooks', 'often', 'a.py'], /--fail-hooks takes statuses/],
    [['--fast', 'a.py'], /no option "--fast"/],
])
    test(`dev ${words.join(' ')} says what it wants`, async () => {
        const { code, stderr } = await run(['dev', ...words]);
        assert.equal(code, 2);
        assert.match(stderr, what);
    });

test('a file that is not there is named', async () => {
    const { code, stderr } = await run(['dev', '/nonexistent/main.py']);
    assert.equal(code, 1);
    assert.match(stderr, /^hookline dev: \/nonexistent\/main\.py: No such file.*; it takes a file of functions in Python/);
    const folder = await run(['dev', '/']);
    assert.match(folder.stderr, /^hookline dev: \/: it is a folder/);
});
