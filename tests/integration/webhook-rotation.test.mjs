// The operator's secret is changed step by step, and receivers with either secret verify on the way.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { Webhook as Svix } from 'svix';
import { Webhook as Standard } from 'standardwebhooks';
import { isSignedByContract } from './lib/signature.mjs';
import { RUN, stage } from './lib/stage.mjs';

const OLD = `whsec_${Buffer.from('the old key of this operator').toString('base64')}`;
const NEW = `whsec_${Buffer.from('the new key of this operator').toString('base64')}`;

/** Which libraries take the delivery with this secret. */
function verifiers(delivery, secret) {
    const fields = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
    const headers = Object.fromEntries(fields.map((name) => [name, delivery.get(name)]));
    const accepts = (Library) => {
        try {
            new Library(secret).verify(delivery.bytes.toString(), headers);
            return true;
        } catch {
            return false;
        }
    };
    return { standard: accepts(Standard), svix: accepts(Svix) };
}

const BOTH = { standard: true, svix: true };
const NEITHER = { standard: false, svix: false };

for (const [step, env, withOld, withNew] of [
    ['the old secret alone', { HOOKLINE_WEBHOOK_SECRET: OLD }, BOTH, NEITHER],
    [
        'the new one, and the old one as the previous',
        { HOOKLINE_WEBHOOK_SECRET: NEW, HOOKLINE_WEBHOOK_PREVIOUS_SECRET: OLD },
        BOTH,
        BOTH,
    ],
    ['the new one alone', { HOOKLINE_WEBHOOK_SECRET: NEW }, NEITHER, BOTH],
]) {
    test(`rotation: ${step}`, async (t) => {
        const { call, receiver } = await stage(t, { env });
        await call(RUN, { query: { webhookEndpoint: receiver.url() } });
        const delivery = await receiver.delivered();
        assert.deepEqual(verifiers(delivery, OLD), withOld);
        assert.deepEqual(verifiers(delivery, NEW), withNew);
        assert.ok(isSignedByContract(delivery, env.HOOKLINE_WEBHOOK_SECRET));
    });
}

test('a caller’s own secret never gets a second signature', async (t) => {
    const { call, receiver } = await stage(t, {
        env: { HOOKLINE_WEBHOOK_SECRET: NEW, HOOKLINE_WEBHOOK_PREVIOUS_SECRET: OLD },
    });
    const headers = { 'x-webhook-secret': 'mine' };
    await call(RUN, { headers, query: { webhookEndpoint: receiver.url() } });
    const delivery = await receiver.delivered();
    assert.match(delivery.get('webhook-signature'), /^v1,[^ ]+$/);
    assert.ok(isSignedByContract(delivery, 'mine'));
    assert.deepEqual(verifiers(delivery, OLD), NEITHER);
});
