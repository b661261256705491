// The receivers' code in deploy/webhooks.md, run as it stands there, agrees with the standardwebhooks library on real deliveries.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { temporaryDirectory } from './lib/sidecar.mjs';
import { verifyByStandard } from './lib/signature.mjs';
import { RUN, stage } from './lib/stage.mjs';

const SECRET = 'a secret, chosen by the caller';

/** The code of that language under "Receiving webhooks". */
async function snippet(language) {
    const page = await readFile(new URL('../../deploy/webhooks.md', import.meta.url), 'utf8');
    const section = /^## Receiving webhooks\n([^]*?)^## /m.exec(page)[1];
    const code = new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'm').exec(section);
    assert.ok(code, `code in ${language}`);
    return code[1];
}

/** Python's is_genuine over deliveries [secret, headers, body]. */
async function pythonReceiver() {
    const program = `${await snippet('python')}
import base64, json, sys
from email.message import Message
answers = []
for secret, fields, body in json.loads(sys.argv[1]):
    headers = Message()
    for name, value in fields.items():
        headers[name] = value
    answers.append(is_genuine(secret.encode(), headers, base64.b64decode(body)))
print(json.dumps(answers))
`;
    return async (deliveries) => {
        const given = deliveries.map(([secret, headers, body]) => [
            secret,
            headers,
            body.toString('base64'),
        ]);
        const words = ['-c', program, JSON.stringify(given)];
        return JSON.parse((await promisify(execFile)('python3', words)).stdout);
    };
}

async function nodeReceiver(t) {
    const file = join(await temporaryDirectory(t), 'receiver.mjs');
    await writeFile(file, await snippet('js'));
    const { isGenuine } = await import(pathToFileURL(file));
    return async (deliveries) => deliveries.map((delivery) => isGenuine(...delivery));
}

/** What the library says of the same delivery. */
function byLibrary(secret, headers, body) {
    try {
        verifyByStandard({ bytes: body, get: (name) => headers[name.toLowerCase()] }, secret);
        return true;
    } catch {
        return false;
    }
}

for (const [language, receiver] of [
    ['Python', pythonReceiver],
    ['Node', nodeReceiver],
])
    test(`the receiver in ${language} knows what is genuine, as the library does`, async (t) => {
        const judge = await receiver(t);
        const { call, receiver: hook } = await stage(t);
        await call(RUN, {
            query: { webhookEndpoint: hook.url() },
            headers: { 'x-webhook-secret': SECRET },
            body: '{"text":"ünïcode"}',
        });
        const { head, bytes } = await hook.delivered();
        const headers = Object.fromEntries(
            [
                'x-request-id',
                'x-service-webhook-timestamp',
                'x-service-webhook-signature',
                'webhook-id',
                'webhook-timestamp',
                'webhook-signature',
            ].map((name) => [name, head.get(name)]),
        );
        const old = String(Number(headers['webhook-timestamp']) - 3600);
        const other = '0193f0b0-1234-7000-8000-0123456789ab';
        const flip = (value) => value.replace(/.$/, (c) => (c === 'A' ? 'B' : 'A'));
        const changes = {
            nothing: [SECRET, headers, bytes],
            'the secret': [`${SECRET}.`, headers, bytes],
            'a byte of the body': [SECRET, headers, Buffer.concat([bytes, Buffer.from(' ')])],
            'all fields': [SECRET, {}, bytes],
            'the id': [SECRET, { ...headers, 'x-request-id': other, 'webhook-id': other }, bytes],
            'the time': [
                SECRET,
                { ...headers, 'x-service-webhook-timestamp': old, 'webhook-timestamp': old },
                bytes,
            ],
            'the signature': [
                SECRET,
                {
                    ...headers,
                    'x-service-webhook-signature': flip(headers['x-service-webhook-signature']),
                    'webhook-signature': headers['webhook-signature'].replace(/,./, ',_'),
                },
                bytes,
            ],
            'its version': [
                SECRET,
                {
                    ...headers,
                    'x-service-webhook-signature': headers['x-service-webhook-signature'].replace('v1', 'v2'),
                    'webhook-signature': headers['webhook-signature'].replace('v1', 'v2'),
                },
                bytes,
            ],
            'its length': [
                SECRET,
                { ...headers, 'x-service-webhook-signature': 'v1,é', 'webhook-signature': 'v1,AA==' },
                bytes,
            ],
        };
        const answers = await judge(Object.values(changes));
        for (const [i, [what, delivery]] of Object.entries(changes).entries()) {
            assert.equal(byLibrary(...delivery), what === 'nothing', `the library: ${what} changed`);
            assert.equal(answers[i], what === 'nothing', `${what} changed`);
        }
    });
