// Deliveries of a project: the list, one with each attempt, and sending again.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from './lib/case.mjs';
import { assertRefused, control, pages, rest } from './lib/rest.mjs';
import { postgres } from './lib/postgres.mjs';
import { Receiver } from './lib/receiver.mjs';
import { RUN, shared, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const DELIVERIES = '/v2/projects/p/deliveries';
const NIL = '00000000-0000-0000-0000-000000000000';

/** Calls of `app` with a webhook to `url`; waits until it is delivered or dead, and answers the delivery. */
async function deliver({ call, ask, url, app = 'a' }) {
    const { id } = await call(`/v4/p/${app}/run`, { query: { async: 'true', webhookEndpoint: url } });
    return settled(ask, id, 1);
}

function settled(ask, runId, round) {
    return until(`round ${round} of ${runId} is over`, async () => {
        const answer = await ask('GET', `${DELIVERIES}?run_id=${runId}`);
        const [delivery] = answer.json().deliveries;
        return delivery?.state !== 'pending' && delivery?.round === round && delivery;
    });
}

test('the list filters by state, app, run and time, newest first', async (t) => {
    const { call, receiver, sidecar } = await stage(t);
    const ask = control(sidecar);
    receiver.script('/dead', 500);
    const good = await deliver({ call, ask, url: receiver.url('/good') });
    const dead = await deliver({ call, ask, url: receiver.url('/dead') });
    const other = await deliver({ call, ask, url: receiver.url('/good'), app: 'b' });
    const ids = async (query) =>
        (await pages(ask, DELIVERIES, 'deliveries', { ...query, limit: '2' }))
            .flat()
            .map((delivery) => delivery.delivery_id);
    assert.deepEqual(await ids({}), [other, dead, good].map((d) => d.delivery_id));
    assert.deepEqual(await ids({ state: 'dead' }), [dead.delivery_id]);
    assert.deepEqual(await ids({ state: 'delivered' }), [other, good].map((d) => d.delivery_id));
    assert.deepEqual(await ids({ state: 'pending' }), []);
    assert.deepEqual(await ids({ app: 'b' }), [other.delivery_id]);
    assert.deepEqual(await ids({ run_id: good.run_id }), [good.delivery_id]);
    assert.deepEqual(await ids({ since: other.created_at }), [other.delivery_id]);
    assert.deepEqual(await ids({ until: dead.created_at }), [good.delivery_id]);
    assertRefused(await ask('GET', `${DELIVERIES}?state=lost`), 400, /pending, delivered or dead/);
    assertRefused(await ask('GET', `${DELIVERIES}?run_id=x`), 400, /run_id/);
});

test('one delivery has its attempts with time, outcome, status, duration and error', async (t) => {
    const { call, receiver, sidecar } = await shared(t);
    const ask = control(sidecar);
    receiver.script('/hook', 404, 500);
    const { delivery_id } = await deliver({ call, ask, url: receiver.url('/hook') });
    const delivery = (await ask('GET', `${DELIVERIES}/${delivery_id}`)).json();
    assert.deepEqual(
        delivery.attempts.map((a) => [a.n, a.outcome, a.status_code]),
        [
            [1, 'retry', 404],
            [2, 'failed', 500],
        ],
    );
    assert.equal(delivery.attempt_count, 2);
    for (const a of delivery.attempts) {
        assert.ok(Date.parse(a.ended_at) >= Date.parse(a.started_at));
        assert.equal(a.duration_ms, Date.parse(a.ended_at) - Date.parse(a.started_at));
    }
    const unreachable = await deliver({ call, ask, url: 'http://127.0.0.1:1/' });
    assert.equal(unreachable.state, 'dead');
    assert.equal(unreachable.attempts.length, 3);
    assert.match(unreachable.attempts[0].error, /connect/);
    assert.equal(unreachable.attempts[0].status_code, null);
});

test('a dead delivery is sent again in a new round, its history kept', async (t) => {
    const { call, receiver, sidecar } = await shared(t);
    const ask = control(sidecar);
    receiver.script('/hook', 500, 200);
    const dead = await deliver({ call, ask, url: receiver.url('/hook') });
    assert.equal(dead.state, 'dead');
    const answer = await ask('POST', `${DELIVERIES}/${dead.delivery_id}/redeliver`);
    assert.equal(answer.status, 202, answer.text);
    assert.deepEqual(answer.json(), { delivery_id: dead.delivery_id, state: 'pending' });
    const again = await settled(ask, dead.run_id, 2);
    assert.equal(again.state, 'delivered');
    assert.equal(again.delivery_id, dead.delivery_id);
    assert.deepEqual(
        again.attempts.map((a) => [a.round, a.n, a.outcome]),
        [
            [1, 1, 'failed'],
            [2, 1, 'delivered'],
        ],
    );
    const [first, second] = receiver.deliveries('/hook');
    assert.equal(second.get('webhook-id'), first.get('webhook-id'));
    assert.ok(second.bytes.equals(first.bytes));
});

/** The time in an id, by which lists go, in ms. */
const timeOf = (id) => parseInt(id.replace('-', '').slice(0, 12), 16);

test('a pending delivery is not sent again', async (t) => {
    const { call, receiver, sidecar } = await stage(t);
    const ask = control(sidecar);
    receiver.script('/hook', (x) => x.gone);
    const query = { async: 'true', webhookEndpoint: receiver.url('/hook') };
    const { id } = await call('/v4/p/a/run', { query });
    const delivery = await until('it is there', async () => {
        const { deliveries } = (await ask('GET', `${DELIVERIES}?run_id=${id}`)).json();
        return deliveries[0]?.attempts[0]?.outcome === 'sending' && deliveries[0];
    });
    assertRefused(await ask('POST', `${DELIVERIES}/${delivery.delivery_id}/redeliver`), 409, /pending/);
});

test('all dead ones since a time are sent again', async (t) => {
    const { call, receiver, sidecar } = await stage(t);
    const ask = control(sidecar);
    receiver.script('/hook', 500, 500, 500, 200);
    const runs = [];
    for (let i = 0; i < 3; i++) runs.push(await deliver({ call, ask, url: receiver.url('/hook') }));
    const redeliver = (body) => ask('POST', `${DELIVERIES}/redeliver`, { body });
    const elsewhere = await ask('POST', '/v2/projects/q/deliveries/redeliver', {
        body: { state: 'dead', since: 0 },
    });
    assert.deepEqual(elsewhere.json(), { redelivered: 0 });
    const since = timeOf(runs[1].delivery_id);
    const listed = (await ask('GET', `${DELIVERIES}?state=dead&since=${since}`)).json();
    assert.equal(listed.deliveries.length, 2, 'what a list from then on shows');
    const answer = await redeliver({ state: 'dead', since });
    assert.equal(answer.status, 202, answer.text);
    assert.deepEqual(answer.json(), { redelivered: 2 });
    for (const { run_id } of runs.slice(1))
        assert.equal((await settled(ask, run_id, 2)).state, 'delivered');
    assert.equal((await settled(ask, runs[0].run_id, 1)).state, 'dead');
    assert.deepEqual((await redeliver({ state: 'delivered', since: 0 })).json(), { redelivered: 2 });
    for (const [body, pattern] of [
        ['', /not a JSON object/],
        ['[]', /not a JSON object/],
        ['{"state":"dead","state":"dead","since":0}', /unique members/],
        [{ state: 'dead' }, /these two members/],
        [{ state: 'pending', since: 0 }, /member state/],
        [{ state: 'dead', since: 'now' }, /member since/],
        [{ state: 'dead', since: -1 }, /member since/],
        [{ state: 'dead', since: 1_700_000_000 }, /member since .*milliseconds/],
        [{ state: 'dead', since: 0, all: true }, /these two members/],
        [{ state: 'dead', since: 0, cursor: '0' }, /member cursor/],
        [{ state: 'dead', since: 0, cursor: `-1.${NIL}` }, /member cursor/],
        [{ state: 'dead', since: 0, cursor: `0.${NIL}\0` }, /member cursor/],
        [{ delivery_ids: [] }, /member delivery_ids/],
        [{ delivery_ids: NIL }, /member delivery_ids/],
        [{ delivery_ids: [runs[0].delivery_id, NIL] }, /member delivery_ids/],
        [{ delivery_ids: [`${runs[0].delivery_id} `] }, /member delivery_ids/],
        [{ delivery_ids: Array(1001).fill(runs[0].delivery_id) }, /member delivery_ids/],
        [{ delivery_ids: [runs[0].delivery_id], since: 0 }, /these two members/],
    ])
        assertRefused(await redeliver(body), 400, pattern);
});

for (const [store, start] of [
    ['sqlite', async () => ({})],
    ['postgres', async (t) => (await postgres(t)).env],
])
    test(`many dead ones are sent again in pieces, which leave room for new webhooks (${store})`, async (t) => {
        const env = { ...(await start(t)), HOOKLINE_MAX_PENDING_DELIVERIES: '8', HOOKLINE_WEBHOOK_CONCURRENCY: '8' };
        const { call, receiver, sidecar } = await stage(t, { env });
        const ask = control(sidecar);
        receiver.script('/dead', 400);
        const runs = [];
        for (let i = 0; i < 6; i++) runs.push(await deliver({ call, ask, url: receiver.url('/dead') }));
        const held = gate();
        receiver.script('/dead', async (x) => {
            await held.promise;
            await x.send(200);
        });
        const redeliver = (cursor) =>
            ask('POST', `${DELIVERIES}/redeliver`, { body: { state: 'dead', since: 0, ...(cursor && { cursor }) } });
        const first = (await redeliver()).json();
        assert.deepEqual({ ...first, cursor: '' }, { redelivered: 4, has_more: true, cursor: '' });
        const other = await Receiver.start(t);
        assert.equal((await call(RUN, { query: { webhookEndpoint: other.url() } })).status, 200);
        await other.envelope();
        const refused = await redeliver(first.cursor);
        assertRefused(refused, 429, /other half/);
        assert.ok(Number(refused.headers['retry-after']) > 0);
        held.open();
        const rest = [];
        await until('there is room for all', async () => {
            const answer = await redeliver(rest.at(-1)?.cursor ?? first.cursor);
            if (answer.status === 202) rest.push(answer.json());
            return rest.length > 0 && !rest.at(-1).has_more;
        });
        assert.equal(rest.reduce((sum, { redelivered }) => sum + redelivered, 0), 2);
        assert.deepEqual(Object.keys(rest.at(-1)), ['redelivered']);
        for (const { run_id } of runs) assert.notEqual((await settled(ask, run_id, 2)).state, 'pending');
    });

for (const [store, start] of [
    ['sqlite', async () => ({})],
    ['memory', async () => ({ HOOKLINE_STORE: 'memory' })],
    ['postgres', async (t) => (await postgres(t)).env],
])
    test(`those that are named are sent again, refused, or left for want of room (${store})`, async (t) => {
        const env = { ...(await start(t)), HOOKLINE_MAX_PENDING_DELIVERIES: '8', HOOKLINE_WEBHOOK_CONCURRENCY: '8' };
        const { call, receiver, sidecar } = await stage(t, { env });
        const ask = control(sidecar);
        receiver.script('/dead', 400);
        const dead = [];
        for (let i = 0; i < 6; i++) dead.push((await deliver({ call, ask, url: receiver.url('/dead') })).delivery_id);
        const held = gate();
        receiver.script('/dead', async (x) => {
            await held.promise;
            await x.send(200);
        });
        const redeliver = (...ids) => ask('POST', `${DELIVERIES}/redeliver`, { body: { delivery_ids: ids } });
        const unknown = NIL.replace(/0$/, '1');
        const elsewhere = await ask('POST', '/v2/projects/q/deliveries/redeliver', { body: { delivery_ids: [dead[0]] } });
        assert.deepEqual(elsewhere.json(), { redelivered: 0, refused: [{ delivery_id: dead[0], reason: 'not_found' }], left: [] });
        const first = await redeliver(dead[0], dead[0], unknown, dead[1]);
        assert.equal(first.status, 202, first.text);
        assert.deepEqual(first.json(), {
            redelivered: 2,
            refused: [{ delivery_id: dead[0], reason: 'pending' }, { delivery_id: unknown, reason: 'not_found' }],
            left: [],
        });
        const second = (await redeliver(...dead.slice(2), dead[0])).json();
        assert.equal(second.redelivered, 2, 'half is for new ones');
        assert.deepEqual(second.left.slice(0, 2), dead.slice(4));
        const other = await Receiver.start(t);
        assert.equal((await call(RUN, { query: { webhookEndpoint: other.url() } })).status, 200);
        const refused = await redeliver(...dead.slice(4));
        assertRefused(refused, 429, /other half/);
        assert.ok(Number(refused.headers['retry-after']) > 0);
        held.open();
        let left = dead.slice(4);
        await until('there is room for all', async () => {
            const answer = await redeliver(...left);
            if (answer.status === 202) left = answer.json().left;
            return left.length === 0;
        });
    });

test('deliveries are found by destination and by the last status, and counted', async (t) => {
    const { call, receiver, sidecar } = await stage(t);
    const ask = control(sidecar);
    receiver.script('/bad', 400);
    receiver.script('/worse', 500, 500, 500);
    await deliver({ call, ask, url: receiver.url('/bad') });
    await deliver({ call, ask, url: receiver.url('/worse') });
    const good = await deliver({ call, ask, url: receiver.url('/good') });
    const nobody = await deliver({ call, ask, url: 'http://127.0.0.1:1/' });
    const here = encodeURIComponent(receiver.url('/any'));
    for (const [query, n] of [
        ['', 4],
        [`destination=${here}`, 3],
        [`destination=${here}&state=dead`, 2],
        [`destination=${here}&status=5xx`, 1],
        ['status=none', 1],
        ['status=400', 1],
        ['status=4xx&state=delivered', 0],
        [`status=200&since=${timeOf(good.delivery_id)}`, 1],
        [`until=${timeOf(nobody.delivery_id)}`, 3],
        ['destination=http://127.0.0.1:1', 1],
    ]) {
        const list = (await ask('GET', `${DELIVERIES}?${query}`)).json();
        assert.equal(list.deliveries.length, n, query);
        assert.equal(list.searched_to, null, 'to the end');
        assert.deepEqual((await ask('GET', `${DELIVERIES}/count?${query}`)).json(), { count: n, has_more: false }, query);
    }
    for (const [query, pattern] of [
        ['destination=example.com', /destination must be a destination \(https:/],
        ['status=9', /status must be a status \(404\), a class \(5xx\) or none/],
        ['path=/x', /no query parameter "path"/],
    ])
        assertRefused(await ask('GET', `${DELIVERIES}?${query}`), 400, pattern);
    assertRefused(await ask('GET', `${DELIVERIES}/count?limit=1`), 400, /no query parameter "limit"/);
});

test('a delivery of another project is 404', async (t) => {
    const { call, receiver, sidecar } = await shared(t);
    const ask = control(sidecar);
    const { delivery_id } = await deliver({ call, ask, url: receiver.url() });
    const path = `/v2/projects/q/deliveries/${delivery_id}`;
    assertRefused(await ask('GET', path), 404);
    assertRefused(await ask('POST', `${path}/redeliver`), 404);
    assertRefused(await ask('POST', `${DELIVERIES}/${NIL}/redeliver`), 404);
    assert.deepEqual((await ask('GET', '/v2/projects/q/deliveries')).json().deliveries, []);
    assert.equal((await ask('GET', `/v2/deliveries/${delivery_id}`)).status, 200);
});

/* ---- what was sent ---- */

const SECRETS = { HOOKLINE_AUTH: 'jwt', HOOKLINE_WEBHOOK_TRUSTED_HOSTS: '*', HOOKLINE_WEBHOOK_SECRET: 'operator-secret',
    HOOKLINE_WEBHOOK_HEADERS: 'Authorization: Bearer own-secret\nAccept-Language: de' };

/** Whom that token is for. */
async function asRole(sidecar, role) {
    const body = { name: role, role, expires_at: new Date(Date.now() + 3_600_000).toISOString() };
    const { token } = (await control(sidecar)('POST', '/v2/projects/p/service-accounts', { body })).json();
    return { token, ask: rest(sidecar, { token }) };
}

/** A call by somebody with the role invoke, and its delivery when that has arrived. */
async function sendTo(here, url, { headers = {}, body = '{"n": 1}' } = {}) {
    const { token } = await asRole(here.sidecar, 'invoke');
    const { id } = await here.call(RUN, {
        query: { async: 'true', webhookEndpoint: url },
        headers: { authorization: `Bearer ${token}`, ...headers },
        body,
    });
    return settled(control(here.sidecar), id, 1);
}

test('what was sent is shown as the receiver got it, but for what is secret', async (t) => {
    const here = await shared(t, { env: SECRETS });
    const { receiver, sidecar } = here;
    receiver.script('/hook', 404, 200);
    const url = receiver.url('/hook?token=query-secret&empty=&flag');
    const { delivery_id: id, run_id: run } = await sendTo(here, url, { headers: { 'x-webhook-secret': 'own-key', 'x-run-tag': 'tier=gold, order=17' } });
    const admin = await asRole(sidecar, 'admin');
    const sent = (await admin.ask('GET', `${DELIVERIES}/${id}/request`)).json();
    const got = receiver.deliveries('/hook');
    assert.equal(got.length, 2);
    assert.deepEqual(JSON.parse(got[0].bytes).tags, { tier: 'gold', order: '17' });
    assert.equal(sent.body.text, got[0].bytes.toString());
    assert.deepEqual([sent.body.bytes, sent.body.truncated, sent.body.why_not], [got[0].bytes.length, false, null]);
    assert.equal(sent.url, `${receiver.url('/hook')}?token=***&empty=***&***`);
    assert.equal(sent.signed, true);
    sent.attempts.forEach(({ n, fields, body_as_sent: isSame }, i) => {
        assert.deepEqual([n, isSame], [i + 1, true]);
        const names = fields.map(({ name }) => name.toLowerCase()).sort();
        assert.deepEqual(names, got[i].head.fields.map(([name]) => name.toLowerCase()).sort(), 'no field more or less');
        for (const { name, value } of fields) if (value !== null) assert.equal(value, got[i].get(name), name);
        const hidden = fields.filter(({ value }) => value === null).map(({ name }) => name);
        assert.deepEqual(hidden, ['X-Service-Webhook-Signature', 'webhook-signature', 'Authorization']);
    });
    assert.equal(got[0].get('authorization'), 'Bearer own-secret');
    const one = (await admin.ask('GET', `${DELIVERIES}/${id}`)).json();
    assert.equal(one.url, sent.url);
    assert.equal(one.next_attempt, null);
    assert.deepEqual(one.attempts.map((a) => a.sent_bytes), got.map(({ bytes }) => bytes.length));
    const texts = [sent, one, (await admin.ask('GET', DELIVERIES)).json()].map((json) => JSON.stringify(json));
    for (const text of texts) assert.doesNotMatch(text, /query-secret|own-secret|own-key|operator-secret/);
    const viewer = await asRole(sidecar, 'viewer');
    const seen = (await viewer.ask('GET', `${DELIVERIES}/${id}/request`)).json();
    assert.equal(seen.url, null);
    assert.deepEqual({ ...seen, url: sent.url }, sent);
    const invoke = await asRole(sidecar, 'invoke');
    for (const path of [`${DELIVERIES}/${id}/request`, `${DELIVERIES}/${id}`, DELIVERIES])
        assertRefused(await invoke.ask('GET', path), 403, /admin or viewer/);
    const record = (await invoke.ask('GET', `/v2/projects/p/runs/${run}`)).text;
    assert.doesNotMatch(record, /\/hook|query-secret/);
    assert.doesNotMatch(JSON.stringify(sidecar.log), /\/hook|query-secret|own-secret|own-key/);
});

test('of a long response the beginning is shown, and of each attempt whether that is what went out', async (t) => {
    const app = async (x) => x.send(200, { 'content-type': 'text/plain' }, 'é'.repeat(200_000));
    const here = await shared(t, { app, env: SECRETS });
    const { delivery_id: id } = await sendTo(here, here.receiver.url('/long'));
    const sent = (await control(here.sidecar)('GET', `${DELIVERIES}/${id}/request`)).json();
    const [{ bytes }] = here.receiver.deliveries('/long');
    assert.deepEqual([sent.body.bytes, sent.body.truncated], [bytes.length, true]);
    assert.ok(sent.body.text.length > 130_000);
    assert.ok(bytes.toString().startsWith(sent.body.text));
    assert.equal(sent.attempts[0].body_as_sent, true);
});

test('receivers of one host are told apart, and a token in the path is cut', async (t) => {
    const here = await shared(t, { env: SECRETS });
    const { receiver, sidecar } = here;
    const paths = ['/services/T0AB/B0CD/9f8E7d6C5b4A3f2E1d0C9b8A', '/services/T0AB/B0CD/1a2B3c4D5e6F7a8B9c0D1e2F'];
    for (const path of [...paths, paths[0]]) await sendTo(here, receiver.url(path));
    const admin = await asRole(sidecar, 'admin');
    const { deliveries } = (await admin.ask('GET', `${DELIVERIES}?destination=${receiver.url('')}`)).json();
    const [third, second, first] = deliveries;
    assert.equal(third.receiver, first.receiver);
    assert.notEqual(second.receiver, first.receiver);
    assert.deepEqual([first.path, second.path], ['/services/T0AB/B0CD/9f8E…8A', '/services/T0AB/B0CD/1a2B…2F']);
    const viewer = await asRole(sidecar, 'viewer');
    const seen = (await viewer.ask('GET', `${DELIVERIES}?destination=${receiver.url('')}`)).json().deliveries;
    assert.deepEqual(seen.map((d) => [d.receiver, d.path]), deliveries.map((d) => [d.receiver, null]));
});

test('why a delivery waits, and until when, is told', async (t) => {
    const env = { ...SECRETS, HOOKLINE_WEBHOOK_SCHEDULE: '1h,1h', HOOKLINE_WEBHOOK_RETRY_ON: 'network,404,503' };
    const here = await shared(t, { env });
    const { receiver, sidecar } = here;
    const held = gate();
    receiver.script('/held', async (x) => (await held.promise, x.send(200)));
    receiver.script('/later', 404);
    receiver.script('/asked', async (x) => x.send(503, { 'retry-after': '3600' }));
    const { ask, token } = await asRole(sidecar, 'admin');
    const next = async (path, why) => {
        const query = { async: 'true', webhookEndpoint: receiver.url(path) };
        const { id } = await here.call(RUN, { query, headers: { authorization: `Bearer ${token}` } });
        return until(`${path} waits: ${why}`, async () => {
            const [delivery] = (await ask('GET', `${DELIVERIES}?run_id=${id}`)).json().deliveries;
            const whole = delivery && (await ask('GET', `${DELIVERIES}/${delivery.delivery_id}`)).json();
            return whole?.next_attempt?.why === why && whole;
        });
    };
    const sending = (await next('/held', 'sending')).next_attempt;
    assert.deepEqual([sending.n, sending.of, sending.at], [1, 3, null]);
    held.open();
    const later = await next('/later', 'schedule');
    assert.deepEqual([later.next_attempt.n, later.next_attempt.of], [2, 3]);
    assert.equal(later.next_attempt.at, later.next_attempt_at);
    const asked = await next('/asked', 'retry_after');
    assert.equal(asked.attempts[0].retry_after, 3600);
});

/* ---- to another URL ---- */

const auditOf = async (ask, action) => (await ask('GET', `/v2/projects/p/audit?action=${action}&limit=1`)).json().audit[0];

test('what was sent goes to another URL too, with another secret, as a delivery of its own', async (t) => {
    const here = await shared(t, { env: SECRETS });
    const { receiver, sidecar } = here;
    const from = await sendTo(here, receiver.url('/first?key=query-secret'), { headers: { 'x-webhook-secret': 'own-key' } });
    const { ask } = await asRole(sidecar, 'admin');
    const resend = (body) => ask('POST', `${DELIVERIES}/${from.delivery_id}/redeliver`, { body });
    const answer = await resend({ url: receiver.url('/second?key=other-secret'), secret: 'another-key' });
    assert.equal(answer.status, 202, answer.text);
    const { delivery_id: id, resent_from: of, state } = answer.json();
    assert.deepEqual([of, state], [from.delivery_id, 'pending']);
    const [first] = receiver.deliveries('/first');
    const second = await receiver.delivered('/second');
    assert.ok(second.bytes.equals(first.bytes));
    assert.equal(second.get('webhook-id'), first.get('webhook-id'));
    const proof = `${from.run_id}.${second.get('webhook-timestamp')}.${second.bytes}`;
    const hmac = createHmac('sha256', 'another-key').update(proof).digest('hex');
    assert.equal(second.get('x-service-webhook-signature'), `v1,${hmac}`);
    const one = await until('it is delivered', async () => {
        const found = (await ask('GET', `${DELIVERIES}/${id}`)).json();
        return found.state === 'delivered' && found;
    });
    assert.deepEqual([one.resent, one.run_id, one.url], [true, from.run_id, `${receiver.url('/second')}?key=***`]);
    assert.equal((await ask('GET', `${DELIVERIES}/${from.delivery_id}`)).json().resent, false);
    const row = await auditOf(ask, 'delivery_resent');
    assert.deepEqual([row.target.id, row.detail], [from.delivery_id, { delivery_id: id, destination: receiver.url('') }]);
    const record = async (who) => (await who.ask('GET', `/v2/projects/p/runs/${from.run_id}`)).json().deliveries.map((d) => d.delivery_id);
    assert.deepEqual(await record({ ask }), [id, from.delivery_id]);
    assert.deepEqual(await record(await asRole(sidecar, 'invoke')), [from.delivery_id], 'it is no business of its caller’s');
    assert.doesNotMatch(JSON.stringify([sidecar.log, row]), /\/second|other-secret|another-key/);
    const again = await ask('POST', `${DELIVERIES}/${id}/redeliver`, { body: {} });
    assert.deepEqual(again.json(), { delivery_id: id, state: 'pending' });
    await receiver.delivered('/second', 2);
});

for (const [store, start] of [
    ['memory', async () => ({ HOOKLINE_STORE: 'memory' })],
    ['postgres', async (t) => (await postgres(t)).env],
])
    test(`what was sent is shown, and goes to another URL too (${store})`, async (t) => {
        const app = async (x) => x.send(200, { 'content-type': 'text/plain' }, 'é'.repeat(x.path.endsWith('long') ? 200_000 : 3));
        const env = { ...(await start(t)), HOOKLINE_MAX_PENDING_DELIVERIES: '4', HOOKLINE_WEBHOOK_SECRET: 'operator-secret' };
        const { call, receiver, sidecar } = await stage(t, { app, env });
        const ask = control(sidecar);
        for (const path of ['run', 'long']) {
            const { id } = await call(`/v4/p/a/${path}`, { query: { async: 'true', webhookEndpoint: receiver.url(`/${path}?a=b`) } });
            const from = await settled(ask, id, 1);
            const sent = (await ask('GET', `${DELIVERIES}/${from.delivery_id}/request`)).json();
            const [{ bytes }] = receiver.deliveries(`/${path}`);
            assert.ok(bytes.toString().startsWith(sent.body.text));
            assert.deepEqual([sent.body.bytes, sent.body.truncated], [bytes.length, path === 'long']);
            assert.deepEqual([sent.attempts[0].body_as_sent, sent.signed], [true, true]);
            const body = { url: receiver.url(`/other/${path}`), secret: 'another-key' };
            const { delivery_id: made } = (await ask('POST', `${DELIVERIES}/${from.delivery_id}/redeliver`, { body })).json();
            const got = await receiver.delivered(`/other/${path}`);
            assert.ok(got.bytes.equals(bytes));
            const hmac = createHmac('sha256', 'another-key').update(`${id}.${got.get('webhook-timestamp')}.`).update(got.bytes).digest('hex');
            assert.equal(got.get('x-service-webhook-signature'), `v1,${hmac}`);
            const one = await until('it is delivered', async () => {
                const found = (await ask('GET', `${DELIVERIES}/${made}`)).json();
                return found.state === 'delivered' && found;
            });
            assert.deepEqual([one.resent, one.attempts[0].sent_bytes], [true, bytes.length]);
            assert.notEqual(one.receiver, from.receiver);
        }
        const held = gate();
        receiver.script('/held', async (x) => (await held.promise, x.send(200)));
        const [{ delivery_id: id }] = (await ask('GET', DELIVERIES)).json().deliveries;
        const again = () => ask('POST', `${DELIVERIES}/${id}/redeliver`, { body: { url: receiver.url('/held') } });
        const refused = await until('there is no room', async () => {
            const answer = await again();
            return answer.status === 429 && answer;
        });
        assertRefused(refused, 429, /HOOKLINE_MAX_PENDING_DELIVERIES/);
        held.open();
    });

test('a URL that a call may not name is refused, and so is what is no URL', async (t) => {
    const here = await shared(t, { env: SECRETS });
    const { sidecar, receiver } = here;
    const from = await sendTo(here, receiver.url('/first'));
    const { ask } = await asRole(sidecar, 'admin');
    const url = receiver.url('/x');
    for (const [body, what] of [
        [{ url: 'ftp://a.example/' }, /absolute http or https URL/],
        [{ url: `http://a.example/${'x'.repeat(2048)}` }, /2048 bytes/],
        [{ url: 'http://me:you@a.example/' }, /credentials/],
        [{ url: 'http://10.0.0.1/' }, /may not reach/],
        [{ url, secret: '' }, /secret/],
        [{ url, secret: 'whsec_?' }, /secret/],
        [{ url, other: 1 }, /.*/],
        [{ secret: 'x' }, /.*/],
        ['[1]', /object/],
    ]) {
        assertRefused(await ask('POST', `${DELIVERIES}/${from.delivery_id}/redeliver`, { body }), 400, what);
        assertRefused(await ask('POST', '/v2/projects/p/destinations/test', { body }), 400, what);
    }
    const body = { url };
    assertRefused(await ask('POST', `${DELIVERIES}/${from.run_id}/redeliver`, { body }), 404);
    for (const role of ['viewer', 'invoke']) {
        const who = await asRole(sidecar, role);
        assertRefused(await who.ask('POST', `${DELIVERIES}/${from.delivery_id}/redeliver`, { body }), 403);
        assertRefused(await who.ask('POST', '/v2/projects/p/destinations/test', { body }), 403);
    }
    assert.equal(receiver.deliveries('/x').length, 0);
});

/* ---- a test of a receiver ---- */

test('a receiver is tested at once, signed and guarded, and what it said is told', async (t) => {
    const here = await stage(t, { env: SECRETS });
    const { receiver, sidecar } = here;
    const path = '/v2/projects/p/destinations/test';
    const from = await sendTo(here, receiver.url('/hook?key=query-secret'), { headers: { 'x-webhook-secret': 'own-key' } });
    const { ask } = await asRole(sidecar, 'admin');
    receiver.script('/hook', async (x) => x.send(418, { 'content-type': 'text/plain', 'retry-after': '7' }, 'no tea'));
    const told = (await ask('POST', path, { body: { delivery_id: from.delivery_id } })).json();
    const got = receiver.deliveries('/hook')[1];
    assert.equal(told.body, got.bytes.toString());
    const event = JSON.parse(told.body);
    assert.deepEqual([event.type, event.event_id, event.project_id], ['hookline.test', told.event_id, 'p']);
    assert.equal(got.get('webhook-id'), told.event_id);
    const hmac = createHmac('sha256', 'own-key').update(`${told.event_id}.${got.get('webhook-timestamp')}.${got.bytes}`).digest('hex');
    assert.equal(got.get('x-service-webhook-signature'), `v1,${hmac}`);
    const { outcome, status_code: status, answer, retry_after: after, sent_bytes: bytes } = told.attempt;
    assert.deepEqual([outcome, status, answer.body, after, bytes], ['failed', 418, 'no tea', 7, got.bytes.length]);
    assert.equal(told.url, `${receiver.url('/hook')}?key=***`);
    const good = (await ask('POST', path, { body: { url: receiver.url('/other') } })).json();
    assert.deepEqual([good.attempt.outcome, good.attempt.status_code, good.attempt.error], ['delivered', 200, null]);
    const nowhere = (await ask('POST', path, { body: { url: 'http://127.0.0.1:1/' } })).json();
    assert.match(nowhere.attempt.error, /connect_failed/);
    const row = await auditOf(ask, 'webhook_tested');
    assert.deepEqual(row.detail, { destination: 'http://127.0.0.1:1' });
    assertRefused(await ask('POST', path, { body: { delivery_id: from.run_id } }), 404);
    assert.equal((await ask('GET', DELIVERIES)).json().deliveries.length, 1, 'nothing of it is kept');
    await until('there were enough', async () => (await ask('POST', path, { body: { url: receiver.url('/other') } })).status === 429);
    assert.ok(receiver.deliveries('/other').length <= 9);
});
