// signature.mjs - both signature schemes checked twice: by hand as contract 5 says it, and with the
// standardwebhooks library as a receiver would.
import assert from 'node:assert/strict';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { Webhook } from 'standardwebhooks';

const latin1 = (text) => Buffer.from(text, 'latin1');

/** What a receiver does by contract 5. `secret` as it stood in the header, latin1. */
export function isSignedByContract(delivery, secret, service = 'Service') {
    const id = delivery.get('x-request-id');
    const timestamp = delivery.get(`x-${service}-webhook-timestamp`);
    const [version, received] = delivery.get(`x-${service}-webhook-signature`).split(',');
    const content = Buffer.concat([latin1(`${id}.${timestamp}.`), delivery.bytes]);
    const expected = createHmac('sha256', latin1(secret)).update(content).digest('hex');
    return (
        version === 'v1' &&
        received.length === expected.length &&
        timingSafeEqual(latin1(received), latin1(expected))
    );
}

/** Throws unless the library accepts the delivery. */
export function verifyByStandard(delivery, secret) {
    const key = secret.startsWith('whsec_') ? secret : latin1(secret).toString('base64');
    const headers = Object.fromEntries(
        ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((n) => [n, delivery.get(n)]),
    );
    return new Webhook(key).verify(delivery.bytes, headers);
}

/** Both schemes hold, agree with each other, and the timestamp is this attempt's. */
export function assertSigned(delivery, secret, service = 'Service') {
    assert.ok(isSignedByContract(delivery, secret, service), 'X-…-Webhook-Signature');
    verifyByStandard(delivery, secret);
    assert.equal(delivery.get('webhook-id'), delivery.get('x-request-id'));
    assert.equal(delivery.get('webhook-timestamp'), delivery.get(`x-${service}-webhook-timestamp`));
    const lag = delivery.at / 1000 - Number(delivery.get('webhook-timestamp'));
    assert.ok(lag > -1.5 && lag < 6, `sent ${lag} s after its timestamp`);
}
