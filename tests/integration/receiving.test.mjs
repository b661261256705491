// What deploy/receiving-webhooks.md gives to copy, run as it stands there, agrees with the standardwebhooks library on real deliveries.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { control } from './lib/rest.mjs';
import { BINARY, temporaryDirectory } from './lib/sidecar.mjs';
import { verifyByStandard } from './lib/signature.mjs';
import { RUN, stage } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

const exec = promisify(execFile);
const SECRET = 'a secret, chosen by the caller';
const page = await readFile(new URL('../../deploy/receiving-webhooks.md', import.meta.url), 'utf8');

/** The page's blocks of code of that language. */
const blocks = (language) => [...page.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'gm'))].map(([, code]) => code);

/** Each function that the page's JavaScript exports, by its name. */
async function nodeFunctions(t) {
    const directory = await temporaryDirectory(t);
    await symlink(fileURLToPath(new URL('node_modules', import.meta.url)), join(directory, 'node_modules'));
    const codes = blocks('js');
    const genuine = codes.findIndex((code) => /export function isGenuine/.test(code));
    const name = (i) => join(directory, i === genuine ? 'genuine.mjs' : `block-${i}.mjs`);
    await Promise.all(codes.map((code, i) => writeFile(name(i), code)));
    const modules = await Promise.all(codes.map((_, i) => import(pathToFileURL(name(i)))));
    return Object.assign({}, ...modules);
}

/** Runs all of the page's Python, then `more` with `given` as its JSON argument; answers what it prints, parsed. */
async function python(more, given, directory) {
    const program = [...blocks('python'), 'import json, sys', 'given = json.loads(sys.argv[1])', more].join('\n');
    return JSON.parse((await exec('python3', ['-c', program, JSON.stringify(given)], { cwd: directory })).stdout);
}

/** Python's is_genuine over [secrets, headers, body]. */
function pythonJudge(deliveries) {
    const given = deliveries.map(([secrets, headers, body]) => [secrets, headers, body.toString('base64')]);
    const more = `
from email.message import Message
answers = []
for secrets, fields, body in given:
    headers = Message()
    for name, value in fields.items():
        headers[name] = value
    answers.append(is_genuine(secrets, headers, base64.b64decode(body)))
print(json.dumps(answers))`;
    return python(more, given);
}

async function nodeJudge(deliveries, t) {
    const { isGenuine } = await nodeFunctions(t);
    return deliveries.map((delivery) => isGenuine(...delivery));
}

/** The page's few lines around the library. */
async function libraryJudge(deliveries, t) {
    const { open } = await nodeFunctions(t);
    const isOpened = (...words) => {
        try {
            return typeof open(...words).run_id === 'string';
        } catch {
            return false;
        }
    };
    return deliveries.map(([secrets, headers, body]) => secrets.some((secret) => isOpened(secret, headers, body)));
}

/** What the library says of the same delivery. */
function byLibrary(secrets, headers, body) {
    const isGood = (secret) => {
        try {
            verifyByStandard({ bytes: body, get: (name) => headers[name.toLowerCase()] }, secret);
            return true;
        } catch {
            return false;
        }
    };
    return secrets.some(isGood);
}

/** A real delivery, signed with that secret. */
async function deliver(t, secret) {
    const { call, receiver } = await stage(t);
    await call(RUN, {
        query: { webhookEndpoint: receiver.url() },
        headers: { 'x-webhook-secret': secret },
        body: '{"text":"ünïcode"}',
    });
    const { head, bytes } = await receiver.delivered();
    const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
    return { headers: Object.fromEntries(names.map((name) => [name, head.get(name)])), bytes };
}

const signed = (secret, headers, bytes) =>
    `v1,${createHmac('sha256', secret).update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`).update(bytes).digest('base64')}`;

for (const [name, judge] of [
    ['Python', pythonJudge],
    ['Node', nodeJudge],
    ['Node with the library', libraryJudge],
]) {
    test(`the receiver in ${name} knows what is genuine, as the library does`, async (t) => {
        const { headers, bytes } = await deliver(t, SECRET);
        const old = String(Number(headers['webhook-timestamp']) - 3600);
        const other = '0193f0b0-1234-7000-8000-0123456789ab';
        const change = (what) => [[SECRET], { ...headers, ...what }, bytes];
        const signature = headers['webhook-signature'];
        const others = signed('the secret before', headers, bytes);
        const cases = {
            'as it came': [true, change({})],
            'signed with the secret before, too': [true, change({ 'webhook-signature': `${others} ${signature}` })],
            'signed by another version, too': [true, change({ 'webhook-signature': `v2,x ${signature} v1a,y` })],
            'judged by two secrets': [true, [['another', SECRET], headers, bytes]],
            'of another secret': [false, [[`${SECRET}.`], headers, bytes]],
            'judged by none': [false, [[], headers, bytes]],
            'with a byte more': [false, [[SECRET], headers, Buffer.concat([bytes, Buffer.from(' ')])]],
            'without fields': [false, [[SECRET], {}, bytes]],
            'with another id': [false, change({ 'webhook-id': other })],
            'an hour old': [
                false,
                change({ 'webhook-timestamp': old, 'webhook-signature': signed(SECRET, { ...headers, 'webhook-timestamp': old }, bytes) }),
            ],
            'with another time': [false, change({ 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 1) })],
            'with another signature': [false, change({ 'webhook-signature': signature.replace(/,./, ',_') })],
            'of another version': [false, change({ 'webhook-signature': signature.replace('v1', 'v2') })],
            'with a short signature': [false, change({ 'webhook-signature': 'v1,AA==' })],
        };
        const answers = await judge(Object.values(cases).map(([, delivery]) => delivery), t);
        for (const [i, [what, [isGood, delivery]]] of Object.entries(cases).entries()) {
            assert.equal(byLibrary(...delivery), isGood, `the library: ${what}`);
            assert.equal(answers[i], isGood, what);
        }
    });

    test(`the receiver in ${name} takes a whsec_ secret`, async (t) => {
        const secret = `whsec_${Buffer.from('thirty-two bytes of key material').toString('base64')}`;
        const { headers, bytes } = await deliver(t, secret);
        const other = `whsec_${Buffer.from('thirty-two bytes of another sort').toString('base64')}`;
        const answers = await judge([[[secret], headers, bytes], [[other], headers, bytes], [[other, secret], headers, bytes]], t);
        assert.deepEqual(answers, [true, false, true]);
    });
}

test('the inbox keeps a delivery that comes twice once, and works on each once', async (t) => {
    const directory = await temporaryDirectory(t);
    const more = `
inbox = Inbox("inbox.db")
kept = [inbox.keep(*words) for words in [("a", b"1"), ("b", b"2"), ("a", b"1")]]
done = []
inbox.work(lambda body: done.append(body.decode()))
again = Inbox("inbox.db")
kept.append(again.keep("b", b"2"))
again.work(lambda body: done.append(body.decode()))
print(json.dumps([kept, done]))`;
    assert.deepEqual(await python(more, null, directory), [[true, true, false, false], ['1', '2']]);
});

test('the whole receiver keeps what is genuine, answers 204, and hears of it again', async (t) => {
    const { receiver } = await nodeFunctions(t);
    const { call, sidecar } = await stage(t);
    const ask = control(sidecar);
    const kept = [];
    const server = receiver([SECRET], async (id, body) => kept.push([id, JSON.parse(body).run_id])).listen(0, '127.0.0.1');
    atEnd(t, () => server.close());
    await once(server, 'listening');
    const query = { async: 'true', webhookEndpoint: `http://127.0.0.1:${server.address().port}/` };
    const ended = (id, round) =>
        until(`round ${round} is over`, async () => {
            const [delivery] = (await ask('GET', `/v2/runs/${id}`)).json().deliveries ?? [];
            return delivery?.round === round && delivery.state !== 'pending' && delivery;
        });
    const { id } = await call(RUN, { query, headers: { 'x-webhook-secret': SECRET } });
    const { delivery_id, attempts } = await ended(id, 1);
    assert.equal(attempts[0].status_code, 204);
    await ask('POST', `/v2/deliveries/${delivery_id}/redeliver`);
    await ended(id, 2);
    assert.deepEqual(kept, [[id, id], [id, id]], 'under the same id');
    const { id: unsigned } = await call(RUN, { query });
    assert.equal((await ended(unsigned, 1)).attempts[0].status_code, 401);
    assert.equal(kept.length, 2);
});

test('an answer that is not in the delivery is fetched from where it says', async (t) => {
    const { fetchResult } = await nodeFunctions(t);
    const { call, sidecar } = await stage(t, { env: { HOOKLINE_AUTH: 'jwt' } });
    const made = await control(sidecar)('POST', '/v2/projects/p/service-accounts', {
        body: { name: 'x', expires_at: new Date(Date.now() + 3_600_000).toISOString() },
    });
    const { token } = made.json();
    const { id } = await call(RUN, { query: { async: 'true' }, headers: { authorization: `Bearer ${token}` } });
    await until('it has ended', async () => (await control(sidecar)('GET', `/v2/runs/${id}`)).json().finished_at);
    const result_url = `http://127.0.0.1:${sidecar.port}/v2/projects/p/runs/${id}/result`;
    const expected = (await control(sidecar)('GET', `/v2/projects/p/runs/${id}/result`)).body;
    assert.ok((await fetchResult({ run_id: id, result_url }, token)).equals(expected));
    assert.equal(await fetchResult({ run_id: id, result_url: null }, token), null);
    await assert.rejects(fetchResult({ run_id: id, result_url }, 'x.y.z'), /401/);
});

test('the commands of the page print what it says', async (t) => {
    const directory = await temporaryDirectory(t);
    const session = blocks('console')[0].replace(/\\\n/g, '');
    const commands = session.match(/^\$ .*$/gm).map((line) => line.slice(2));
    const env = { PATH: `${dirname(BINARY)}:${process.env.PATH}` };
    const { stdout } = await exec('sh', ['-c', commands.join('\n')], { cwd: directory, env });
    assert.equal(stdout, session.replace(/^\$ .*\n/gm, ''));
});
