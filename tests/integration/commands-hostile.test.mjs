// What a hostile or broken machine answers to a command with --url harms neither the terminal nor the memory, and gets no token by its name.
import assert from 'node:assert/strict';
import http from 'node:http';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { run, temporaryDirectory } from './lib/sidecar.mjs';
import { gate, until } from './lib/until.mjs';

const MIB = 1 << 20;
const ID = '01a201a0-7ddc-7120-be8f-0d98886c0abe';
/** A window's title, a cleared screen, C1's CSI, a line of its own, letters from right to left. */
const EVIL = 'x\x1b]0;owned\x07\x1b[2J\u009b31m\r\nsuccess\u202e\x7f';
const HARM = /[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u202a-\u202e]/;

async function serve(t, handler) {
    const server = http.createServer(handler);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(t, () => (server.closeAllConnections?.(), new Promise((done) => server.close(done))));
    return `http://127.0.0.1:${server.address().port}`;
}

const ask = (words, url, env = {}) => run([...words, '--url', url], { HOOKLINE_PROJECT_ID: 'p', ...env });

/** Every member that a command may show is evil, what is a number among hookline's, too. */
function evil(depth = 0) {
    const names = ['run_id', 'delivery_id', 'id', 'name', 'role', 'state', 'reason', 'mode', 'method', 'path', 'app_name', 'project_id',
        'replica', 'created_at', 'started_at', 'finished_at', 'expires_at', 'last_used_at', 'revoked_at', 'queue_position', 'queued_ms', 'run_ms', 'status_code',
        'response_bytes', 'content_type', 'result', 'destination', 'attempt_count', 'max_attempts', 'next_attempt_at', 'round', 'n', 'duration_ms', 'outcome',
        'error', 'last_error', 'pending', 'dead', 'failing_since', 'oldest_pending_at', 'last_attempt_at', 'last_status_code', 'token', 'detail', 'url',
        'webhook', 'async', 'value', 'text', 'why', 'why_not', 'receiver', 'event_id', 'retry_after', 'address'];
    const row = Object.fromEntries(names.map((name) => [name, EVIL]));
    if (depth > 1) return row;
    const lists = ['runs', 'deliveries', 'service_accounts', 'destinations', 'attempts', 'fields'];
    return { ...row, body: { text: EVIL, why_not: EVIL, truncated: true }, attempt: { ...row, answer: { body: EVIL } }, next_attempt: row, ...Object.fromEntries(lists.map((name) => [name, [evil(depth + 1)]])), answer: { body: EVIL, encoding: EVIL }, next_cursor: EVIL };
}

test('nothing that a machine answers moves a terminal', async (t) => {
    let status = 200;
    const url = await serve(t, (request, response) => {
        request.resume();
        response.writeHead(status, { 'content-type': 'application/json' });
        if (/\/logs$/.test(request.url)) response.end(`${JSON.stringify({ ts: EVIL, level: EVIL, msg: EVIL, [EVIL]: EVIL })}\n`);
        else response.end(JSON.stringify(evil()));
    });
    const commands = ['runs list', `runs show ${ID}`, `runs wait ${ID}`, `runs cancel ${ID}`, `runs rerun ${ID}`, 'runs send words', 'deliveries list',
        `deliveries show ${ID}`, `deliveries redeliver ${ID}`, 'deliveries redeliver --since 1h --yes', 'deliveries destinations', 'token list',
        `deliveries show ${ID} --request`, `deliveries redeliver ${ID} --to https://a.example/`, `deliveries test ${ID} --project p`,
        'token create --name x --expires 1h', `token revoke ${ID}`, 'runs list --json', 'token list --json'];
    for (const [answer, words] of [200, 202, 500].flatMap((code) => commands.map((each) => [code, each]))) {
        status = answer;
        const { stdout, stderr, signal } = await ask(words.split(' '), url);
        assert.equal(signal, null, `${words}: ${stderr}`);
        assert.doesNotMatch(stdout + stderr, HARM, `${words}, ${answer}`);
    }
    let asked = 0;
    const once = await serve(t, (request, response) => {
        if (asked++ > 0) request.socket.destroy();
        else response.end(JSON.stringify({ ...evil(), next_cursor: null }));
    });
    const followed = await ask(['runs', 'list', '--follow'], once);
    assert.match(followed.stdout, /owned/);
    assert.doesNotMatch(followed.stdout + followed.stderr, HARM);
});

test('an answer that never ends is not read for long, and one without sense is said to be none', async (t) => {
    let written = 0;
    const piece = Buffer.alloc(MIB, ' ');
    const url = await serve(t, (request, response) => {
        const more = () => {
            while (!response.destroyed && written < 2000 * MIB) {
                written += piece.length;
                if (!response.write(piece)) return response.once('drain', more);
            }
        };
        more();
    });
    for (const words of ['runs list', `runs show ${ID}`, `runs logs ${ID}`, 'runs send words']) {
        written = 0;
        const { code, stderr } = await ask(words.split(' '), url);
        assert.equal(code, 1, `${words}: ${stderr}`);
        assert.match(stderr, /longer than any of hookline's/, words);
        assert.ok(written < 200 * MIB, `${words}: ${written}`);
    }
    const senseless = await serve(t, (request, response) => response.end('{}'));
    const { code, stderr } = await ask(['runs', 'wait', ID], senseless);
    assert.equal(code, 1);
    assert.match(stderr, /not hookline's/);
});

test('a command says it is done only if a hookline says so', async (t) => {
    let answer;
    const url = await serve(t, (request, response) => (request.resume(), response.end(answer)));
    const commands = ['runs list', `runs show ${ID}`, 'runs show abcd', 'runs errors', `runs cancel ${ID}`, 'runs cancel --all --yes', `runs rerun ${ID}`, 'deliveries list',
        `deliveries show ${ID}`, `deliveries show ${ID} --request`, `deliveries redeliver ${ID} --to https://a.example/`, 'deliveries redeliver --since 1h --yes',
        'deliveries test --to https://a.example/', 'deliveries destinations', 'jobs list', `jobs show ${ID}`, `jobs stop ${ID}`, 'logs', 'audit', 'token list',
        'token create --name x --expires 1h', 'drain', 'drain --cancel'];
    for (const [text, asked] of [['<h1>Sign in</h1>', [...commands, `token revoke ${ID}`]], ['[]', commands], ['{}', commands]]) {
        answer = text;
        for (const words of asked) {
            const { code, stdout, stderr } = await ask(words.split(' '), url);
            assert.equal(code, 1, `${words}: ${stdout}${stderr}`);
            assert.match(stderr, /: the answer is not hookline's: .*\n$/, words);
            assert.equal(stdout, '', words);
        }
    }
});

test('a result is written as it comes (another machine)', async (t) => {
    const rest = gate();
    const url = await serve(t, async (request, response) => {
        response.write(Buffer.alloc(MIB, 'a'));
        await rest.promise;
        response.end(Buffer.alloc(MIB, 'b'));
    });
    const file = join(await temporaryDirectory(t), 'result');
    const result = ask(['runs', 'result', ID, '--output', file], url);
    await until('what has come is in the file', async () => (await stat(file).catch(() => ({ size: 0 }))).size > MIB / 2);
    rest.open();
    assert.equal((await result).code, 0);
    const bytes = await readFile(file);
    assert.equal(bytes.length, 2 * MIB);
    assert.equal(bytes.at(-1), 'b'.charCodeAt(0));
});

test('what answers at the control socket and is no hookline is told of in one line', async (t) => {
    const HOOKLINE_DATA_DIR = await temporaryDirectory(t);
    let answer;
    const server = http.createServer((request, response) => answer(request.resume(), response));
    server.listen(join(HOOKLINE_DATA_DIR, 'control.sock'));
    await once(server, 'listening');
    atEnd(t, () => (server.closeAllConnections?.(), new Promise((done) => server.close(done))));
    const endless = (_, response) => {
        const more = () => response.destroyed || (response.write(Buffer.alloc(MIB, ' ')) ? setImmediate(more) : response.once('drain', more));
        more();
    };
    for (const [how, pattern] of [
        [(request) => request.socket.destroy(), /control socket: .*(reply|reset)/i],
        [(request) => request.socket.end('220 smtp.example ESMTP\r\n'), /control socket: .*HTTP\/0\.9/],
        [(_, response) => response.writeHead(200, { 'content-length': 9 }).write('{', () => response.destroy()), /control socket: .*(transfer closed|reset)/i],
        [endless, /control socket: the answer is longer than any of hookline's/],
        [(_, response) => response.writeHead(500).end('{}'), /the answer was 500/],
        [(_, response) => response.writeHead(404).end(JSON.stringify({ detail: EVIL })), /owned/],
    ]) {
        answer = how;
        const { code, stderr } = await run(['runs', 'show', ID], { HOOKLINE_DATA_DIR });
        assert.equal(code, 1, stderr);
        assert.match(stderr, pattern);
        assert.equal(stderr.split('\n').length, 2, stderr);
        assert.doesNotMatch(stderr, HARM);
    }
});

/** A hookline with as many dead webhooks, newest first, that answers pieces as `answers` have it. */
function withDead(t, n, answers) {
    const ids = Array.from({ length: n }, (_, i) => `01a201a0-7ddc-7120-be8f-${(n - i).toString(16).padStart(12, '0')}`);
    const url = serve(t, async (request, response) => {
        const { searchParams } = new URL(request.url, 'http://x');
        const from = ids.indexOf(searchParams.get('cursor')) + 1;
        const page = ids.slice(from, from + 200);
        if (request.method === 'GET')
            return response.end(JSON.stringify({
                deliveries: page.map((id) => ({ delivery_id: id, destination: 'http://a.test' })),
                next_cursor: from + 200 < n ? page.at(-1) : null,
            }));
        let text = '';
        for await (const piece of request) text += piece;
        return answers.shift()(response, JSON.parse(text).delivery_ids);
    });
    return { ids, url };
}

test('however sending many webhooks again ends, it says how many went, why, and how to go on', async (t) => {
    const all = (response, ids) => response.writeHead(202).end(JSON.stringify({ redelivered: ids.length, refused: [], left: [] }));
    const none = (response, ids) => response.writeHead(202).end(JSON.stringify({ redelivered: 0, refused: [], left: ids }));
    const some = (response, ids) =>
        response.writeHead(202).end(JSON.stringify({
            redelivered: ids.length - 5,
            refused: [{ delivery_id: ids[0], reason: 'pending' }, { delivery_id: ids[1], reason: 'not_found' }, { delivery_id: ids[2], reason: 'not_found' }],
            left: [ids[10], ids[20]],
        }));
    const fail = (response) => response.writeHead(500).end(JSON.stringify({ detail: 'broken \x1b[2J' }));
    const cut = (response) => response.socket.destroy();
    const senseless = (response) => response.writeHead(202).end(JSON.stringify({ redelivered: 7, refused: [], left: [] }));
    for (const [answers, sent, left, after, ...patterns] of [
        [[all, all, all], 1200, 0],
        [[some, all, all], 1195 + 2, 0, null, /3 are not: 1 pending already, 2 no longer there\n/],
        [[all, fail], 500, 700, 499, /broken \\x1b\[2J\n/],
        [[some, cut], 495, 702, 9, /3 are not/, / \(unknown for the next 500\); /],
        [[cut], 0, 1200, null, /0 deliveries are sent again/],
        [[all, senseless], 500, 700, 499, /not hookline's/],
        [[all, none], 500, 700, 499, /not hookline's/],
    ]) {
        const { ids, url } = withDead(t, 1200, answers);
        const { code, stdout, stderr } = await ask(['deliveries', 'redeliver', '--since', '1h', '--yes'], await url);
        const output = stdout + stderr;
        assert.ok(output.includes(`${sent} deliveries are sent again\n`), output);
        assert.equal(code, patterns.length > 0 ? 1 : 0, output);
        for (const pattern of patterns) assert.match(output, pattern);
        assert.equal(/(\d+) of 1200 are left/.exec(output)?.[1] ?? '0', `${left}`, output);
        assert.equal(/ --after (\S+)\n/.exec(output)?.[1] ?? null, after === null || left === 0 ? null : ids[after], output);
        assert.doesNotMatch(output, HARM);
    }
});

test('whether a token can be read in transit is judged by the host, not by how its name begins', async (t) => {
    const file = join(await temporaryDirectory(t), 'token');
    await writeFile(file, 'a.b.c');
    const warned = async (url) => /can be read in transit/.test((await ask(['runs', 'show', ID, '--token-file', file], url)).stderr);
    for (const host of ['localhost.evil.invalid', 'localhostess.invalid', '127.evil.invalid', '127.0.0.1.evil.invalid', '0.0.0.0'])
        assert.ok(await warned(`http://${host}:1`), host);
    for (const host of ['127.0.0.1', '127.1', 'LOCALHOST', '[::1]', '[::ffff:127.0.0.1]', '127.200.1.1']) assert.ok(!(await warned(`http://${host}:1`)), host);
    assert.ok(!(await warned('https://localhost.evil.invalid:1')));
    for (const url of ['http://localhost@evil.invalid:1', 'http://a:b@127.0.0.1:1', 'http://127.0.0.1:1?x', 'http://', 'ftp://127.0.0.1']) {
        const { code, stderr } = await ask(['runs', 'show', ID, '--token-file', file], url);
        assert.equal(code, 2, `${url}: ${stderr}`);
        assert.doesNotMatch(stderr, /a:b@/);
    }
});

test('no proxy is asked for what is on this machine', async (t) => {
    let proxied = 0;
    const proxy = await serve(t, (request, response) => (proxied++, response.end('{}')));
    const url = await serve(t, (request, response) => response.end(JSON.stringify({ run_id: ID, state: 'success' })));
    const env = { http_proxy: proxy, all_proxy: proxy, no_proxy: '' };
    for (const where of [url, url.replace('127.0.0.1', 'localhost')]) {
        const { stdout } = await ask(['runs', 'wait', ID], where, env);
        assert.match(stdout, /success/);
    }
    assert.equal(proxied, 0);
    await ask(['runs', 'wait', ID, '--timeout', '1s'], 'http://hookline.invalid', env);
    assert.ok(proxied > 0, 'it is asked for others');
});
