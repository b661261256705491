// Webhooks are signed in both schemes, with the caller's secret or the operator's.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { assertSigned, isSignedByContract, verifyByStandard } from './lib/signature.mjs';
import { RUN, assertProblem, shared, stage } from './lib/stage.mjs';
import { request } from './lib/raw.mjs';
import { temporaryDirectory } from './lib/sidecar.mjs';
import { until } from './lib/until.mjs';

const SIGNATURE = [
    'x-service-webhook-timestamp',
    'x-service-webhook-signature',
    'webhook-signature',
];

/** A raw call with this secret (latin1); the delivery that follows. */
async function deliveryFor({ connect, receiver }, secret, path = '/hook') {
    const client = await connect();
    const hook = encodeURIComponent(receiver.url(path));
    await client.send(
        request('POST', `${RUN}?webhookEndpoint=${hook}`, { 'X-Webhook-Secret': secret }, '{}'),
    );
    assert.equal((await client.response()).status, 200);
    return receiver.delivered(path);
}

test('the caller’s secret signs the whole body in both schemes', async (t) => {
    const context = await shared(t);
    const delivery = await deliveryFor(context, 'my secret');
    assertSigned(delivery, 'my secret');
    assert.match(delivery.get('x-service-webhook-signature'), /^v1,[0-9a-f]{64}$/);
    assert.match(delivery.get('x-service-webhook-timestamp'), /^[0-9]{10}$/);
    assert.ok(!isSignedByContract(delivery, 'my secreT'));
    assert.throws(() => verifyByStandard(delivery, 'my secreT'));
    delivery.bytes[delivery.bytes.length - 2] ^= 1;
    assert.ok(!isSignedByContract(delivery, 'my secret'));
    assert.throws(() => verifyByStandard(delivery, 'my secret'));
});

test('an asynchronous call is signed the same', async (t) => {
    const { call, receiver } = await shared(t);
    await call(RUN, {
        query: { async: '1', webhookEndpoint: receiver.url() },
        headers: { 'x-webhook-secret': 'abc' },
    });
    assertSigned(await receiver.delivered(), 'abc');
});

test('secrets with odd bytes are keyed as they stand', async (t) => {
    const context = await shared(t);
    const secrets = [
        'x',
        '"',
        '\\',
        'a b\tc',
        ',;=',
        "' or 1=1 --",
        '\x80\xff\xfe caf\xe9',
        'ünï'.normalize(),
        '%41%00',
        'v1,abc',
        's'.repeat(1024),
        'WHSEC_not',
        'whsec',
        Buffer.from('日本').toString('latin1'),
    ];
    for (const [i, secret] of secrets.entries()) {
        assertSigned(await deliveryFor(context, secret, `/${i}`), secret);
    }
});

test('a whsec_ secret is decoded for the Standard scheme and stands as it is for the other', async (t) => {
    const context = await shared(t);
    for (const [i, size] of [24, 32, 1, 64].entries()) {
        const secret = `whsec_${randomBytes(size).toString('base64')}`;
        assertSigned(await deliveryFor(context, secret, `/${i}`), secret);
    }
});

test('a bad secret is 400 and the app is not called', async (t) => {
    const { app, connect, receiver } = await shared(t);
    const hook = encodeURIComponent(receiver.url());
    const bad = [
        's'.repeat(1025),
        '',
        'whsec_',
        'whsec_***',
        'whsec_YWJj=',
        'whsec_A',
        ['two', 'secrets'],
    ];
    for (const secret of bad) {
        const client = await connect();
        await client.send(
            request('POST', `${RUN}?webhookEndpoint=${hook}`, { 'X-Webhook-Secret': secret }, '{}'),
        );
        const problem = assertProblem(await client.response(), 400);
        if (secret.length > 6)
            assert.ok(
                !JSON.stringify(problem).includes(String(secret)),
                'the secret is not repeated',
            );
    }
    assert.equal(app.requests.length, 0);
});

test('without a secret there is no signature, but X-Request-Id and webhook-id', async (t) => {
    const { call, receiver } = await shared(t);
    const { id } = await call(RUN, { query: { webhookEndpoint: receiver.url() } });
    const delivery = await receiver.delivered();
    assert.equal(delivery.get('x-request-id'), id);
    for (const name of ['x-service-webhook-signature', 'webhook-signature']) {
        assert.equal(delivery.head.has(name), false, name);
    }
});

test('the operator’s secret signs calls that brought none', async (t) => {
    const context = await stage(t, { env: { HOOKLINE_WEBHOOK_SECRET: 'of the operator' } });
    await context.call(RUN, { query: { webhookEndpoint: context.receiver.url('/none') } });
    assertSigned(await context.receiver.delivered('/none'), 'of the operator');
    assertSigned(await deliveryFor(context, 'of the caller'), 'of the caller');
});

test('a start without the operator’s secret warns that webhooks may go out unsigned', async (t) => {
    const { sidecar } = await stage(t);
    const warnings = () =>
        sidecar.log.filter((l) => l.level === 'warn' && /HOOKLINE_WEBHOOK_SECRET .*not signed/.test(l.msg));
    await until('the warning', () => warnings().length === 1);
    await sidecar.restart({ HOOKLINE_WEBHOOK_SECRET: 'abc' });
    await sidecar.stop();
    assert.equal(warnings().length, 1);
});

test('the operator’s secret may come from a file', async (t) => {
    const file = join(await temporaryDirectory(t), 'secret');
    await writeFile(file, 'from a file\n');
    const { call, receiver } = await stage(t, { env: { HOOKLINE_WEBHOOK_SECRET_FILE: file } });
    await call(RUN, { query: { webhookEndpoint: receiver.url() } });
    assertSigned(await receiver.delivered(), 'from a file');
});

test('HOOKLINE_SERVICE_NAME names the fields', async (t) => {
    const context = await stage(t, { env: { HOOKLINE_SERVICE_NAME: 'Acme' } });
    const delivery = await deliveryFor(context, 'abc');
    assertSigned(delivery, 'abc', 'Acme');
    for (const name of SIGNATURE.slice(0, 2)) assert.equal(delivery.head.has(name), false);
});

test('each attempt is signed anew over the same body', async (t) => {
    const context = await shared(t);
    context.receiver.script('/hook', 404, 200);
    await deliveryFor(context, 'abc');
    await context.receiver.delivered('/hook', 2);
    const [first, second] = context.receiver.deliveries();
    assert.ok(first.bytes.equals(second.bytes));
    assertSigned(first, 'abc');
    assertSigned(second, 'abc');
});
