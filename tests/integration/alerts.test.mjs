// Alerts: what goes wrong is told to HOOKLINE_ALERT_URL, once when it begins and once when it ends, by one of those who see it.
import assert from 'node:assert/strict';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { makePair, openssl } from './lib/certificates.mjs';
import { compile, inRepository } from './lib/function.mjs';
import { link } from './lib/link.mjs';
import { assertAlertDescribed } from './lib/openapi.mjs';
import { Receiver } from './lib/receiver.mjs';
import { fleet } from './lib/replicas.mjs';
import { control } from './lib/rest.mjs';
import { startServer } from './lib/server.mjs';
import { freePort, run, startSidecar, temporaryDirectory } from './lib/sidecar.mjs';
import { assertSigned } from './lib/signature.mjs';
import { RUN, caller } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const SECRET = 'alerts-are-signed';
const PATH = '/alerts';
/** A machine that is busy is no app that is not ready. */
const SOON = { HOOKLINE_ALERT_APP_AFTER: '1s' };
const TELLING = {
    HOOKLINE_WEBHOOK_SECRET: SECRET,
    HOOKLINE_WEBHOOK_ATTEMPTS: '1',
    HOOKLINE_ALERT_QUEUE_AGE: '1s',
};

/** The alerts that have arrived: of a kind, and about a destination. Who is killed while it sends one sends it again. */
function told(receiver, kind, destination) {
    const once = new Map(receiver.deliveries(PATH).map((delivery) => [delivery.get('webhook-id'), delivery]));
    return [...once.values()]
        .map((delivery) => ({ ...JSON.parse(delivery.bytes), delivery }))
        .filter(({ type }) => type === `hookline.alert.${kind}`)
        .filter(({ details }) => !destination || details.destination === destination);
}

/** Once so many were told as have these statuses; the last of them. */
async function whenTold(receiver, kind, expected, destination) {
    const all = () => told(receiver, kind, destination);
    await until(`${kind} is ${expected}`, () => all().length >= expected.length);
    assert.deepEqual(all().map(({ status }) => status), expected, kind);
    for (const { delivery } of all()) {
        assertSigned(delivery, SECRET);
        assertAlertDescribed(delivery.bytes);
    }
    return all().at(-1);
}

/** Signed attempts of one event have one id. */
const events = (receiver) => new Set(receiver.deliveries(PATH).map((delivery) => delivery.get('webhook-id')));

/** A sidecar that tells them to a receiver of their own, before an app at a port that may be left. */
async function telling(t, { env = {}, app: handler = (x) => x.send(200), hasApp = true, ...options } = {}) {
    const [alerts, hooks] = [await Receiver.start(t), await Receiver.start(t)];
    const port = await freePort();
    const begin = () => startServer(t, handler, port);
    const app = hasApp ? await begin() : null;
    const sidecar = await startSidecar(t, {
        env: { ...TELLING, HOOKLINE_ALERT_URL: alerts.url(PATH), HOOKLINE_APP_URL: `http://127.0.0.1:${port}`, ...env },
        wait: app ? 'readyz' : 'healthz',
        ...options,
    });
    return { alerts, hooks, app, begin, sidecar, call: caller(t, sidecar) };
}

const callWith = (call, webhookEndpoint) => call(RUN, { query: { webhookEndpoint } });

test('an app that is not ready is told once, also by the process after a kill, and when it is back', async (t) => {
    const { alerts, begin, sidecar } = await telling(t, { env: SOON, hasApp: false });
    const firing = await whenTold(alerts, 'app_not_ready', ['firing']);
    assert.equal(firing.delivery.get('webhook-id'), firing.event_id);
    assert.equal(firing.alert_id, firing.event_id);
    assert.equal(firing.until, null);
    assert.match(firing.details.why, /./);
    await sidecar.kill();
    await sidecar.start('healthz');
    await begin();
    const resolved = await whenTold(alerts, 'app_not_ready', ['firing', 'resolved']);
    assert.equal(resolved.alert_id, firing.alert_id);
    assert.equal(resolved.since, firing.since);
    assert.ok(resolved.until > resolved.since);
    assert.notEqual(resolved.event_id, firing.event_id);
    assert.equal(events(alerts).size, 2);
});

test('a queue that is too old, and when it is not; what ends while nobody watches is told by the next process', async (t) => {
    const held = gate();
    const { alerts, begin, app, call, sidecar } = await telling(t, {
        env: { HOOKLINE_ASYNC_CONCURRENCY: '1', HOOKLINE_RUN_ATTEMPTS: '3' },
        app: async (x) => {
            await x.body();
            await Promise.race([held.promise, x.gone]);
            await x.send(200);
        },
    });
    for (let i = 0; i < 2; i++) assert.equal((await call(RUN, { query: { async: 'true' } })).status, 202);
    const { details } = await whenTold(alerts, 'queue_age', ['firing']);
    assert.ok(details.age_seconds >= details.limit_seconds);
    assert.equal(details.limit_seconds, 1);
    await sidecar.kill();
    held.open();
    await app.close();
    await begin();
    await sidecar.start();
    await whenTold(alerts, 'queue_age', ['firing', 'resolved']);
});

test('destinations: dead letters of one are one line, failing and answering are told, alerts that die are not', async (t) => {
    const { alerts, hooks, call, sidecar } = await telling(t);
    assert.equal((await call('/v4/p/hookline.alerts/run')).status, 404);
    alerts.script(PATH, 500, 200); // the first one is lost
    hooks.script('/dead', 500);
    const origin = new URL(hooks.url()).origin;
    for (let i = 0; i < 3; i++) await callWith(call, hooks.url('/dead'));
    const letters = await whenTold(alerts, 'dead_letters', ['firing'], origin);
    assert.ok(letters.details.count >= 1);
    assert.equal(letters.details.error, 'status 500');
    const port = await freePort();
    const gone = `http://127.0.0.1:${port}`;
    for (let i = 0; i < 20; i++) await callWith(call, `${gone}/hook`);
    const failing = await whenTold(alerts, 'destination_failing', ['firing'], gone);
    assert.match(failing.details.error, /./);
    await whenTold(alerts, 'dead_letters', ['firing'], gone);
    const ask = control(sidecar);
    const over = (...states) => until(`they are ${states}`, async () => {
        const { deliveries } = (await ask('GET', '/v2/projects/hookline/deliveries')).json();
        return String(deliveries.map(({ state }) => state).sort()) === String(states);
    });
    await over('dead', 'delivered', 'delivered');
    await sidecar.kill();
    await sidecar.start();
    await startServer(t, (x) => x.send(200), port);
    await callWith(call, `${gone}/hook`);
    await whenTold(alerts, 'destination_failing', ['firing', 'resolved'], gone);
    await over('dead', 'delivered', 'delivered', 'delivered');
    assert.equal(events(alerts).size, 4, 'none about the one that was lost');
});

test('a store that is nearly full, and one that has room again', async (t) => {
    const { alerts, call } = await telling(t, {
        env: { HOOKLINE_STORE: 'memory', HOOKLINE_STORE_MAX_BYTES: '1MiB', HOOKLINE_RETENTION: '5s' },
        app: async (x) => x.send(200, {}, await x.body()),
    });
    const body = Buffer.alloc(100_000, 'x');
    for (let i = 0; i < 12; i++) await call(RUN, { query: { async: 'true' }, body });
    const { details } = await whenTold(alerts, 'store_full', ['firing']);
    assert.equal(details.max_bytes, 1 << 20);
    assert.ok(details.bytes >= 0.9 * details.max_bytes);
    await whenTold(alerts, 'store_full', ['firing', 'resolved']);
});

test('a certificate that is about to expire, until another one is there', async (t) => {
    const directory = await temporaryDirectory(t);
    const { cert, key } = await makePair(directory, 'short'); // two days
    const { alerts } = await telling(t, {
        env: { HOOKLINE_TLS_CERT_FILE: cert, HOOKLINE_TLS_KEY_FILE: key, HOOKLINE_STORE: 'memory' },
        wait: '',
    });
    const { details } = await whenTold(alerts, 'certificate_expiring', ['firing']);
    const days = (Date.parse(details.expires_at) - Date.now()) / 86_400_000;
    assert.ok(days > 1 && days <= 2, `${days} days`);
    const next = join(directory, 'next.pem');
    await openssl('x509', '-in', cert, '-signkey', key, '-days', '100', '-out', next);
    await rename(next, cert);
    await whenTold(alerts, 'certificate_expiring', ['firing', 'resolved']);
});

test('a store that fails is told without it while it does, and when it can be written again', async (t) => {
    const file = join(await temporaryDirectory(t), 'fails');
    const shim = await compile(t, inRepository('tests/integration/lib/failing_disk.c'), {
        flags: ['-D_GNU_SOURCE', '-Wno-pedantic', '-ldl'],
    });
    const { alerts, call, sidecar } = await telling(t, {
        env: {
            LD_PRELOAD: shim,
            FAILING_DISK: file,
            ASAN_OPTIONS: 'exitcode=99:detect_leaks=1:quarantine_size_mb=16:verify_asan_link_order=0',
        },
    });
    await writeFile(file, 'sync');
    await call(RUN, { query: { async: 'true' } });
    await whenTold(alerts, 'store_failing', ['firing']);
    assert.equal(await sidecar.metric('hookline_store_failing'), 1);
    await rm(file);
    await whenTold(alerts, 'store_failing', ['firing', 'resolved']);
});

test('replicas: what all see is told by one of them, and what each has of its own by each', async (t) => {
    const all = await fleet(t, { env: TELLING });
    const env = { HOOKLINE_ALERT_URL: all.receiver.url(PATH) };
    const add = (name, role) => all.add(name, { env: { ...env, ...SOON, HOOKLINE_ROLE: role }, hasApp: false });
    const [front, a] = await Promise.all([add('front', 'front'), add('a', 'all'), add('b', 'all')]);
    await a.begin();
    await whenTold(all.receiver, 'queue_age', ['firing']);
    await whenTold(all.receiver, 'app_not_ready', ['firing', 'firing']);
    await a.sidecar.kill();
    const before = a.sidecar.log.length;
    await Promise.all([a.sidecar.start('healthz'), all.add('c', { env })]);
    const knows = ({ alert, to }) => alert === 'app_not_ready' && to === 'firing';
    await until('the next process knows what was told', () => a.sidecar.log.slice(before).some(knows));
    await whenTold(all.receiver, 'queue_age', ['firing', 'resolved']);
    const apps = told(all.receiver, 'app_not_ready').map(({ replica }) => replica);
    assert.deepEqual(apps.sort(), ['a', 'b']);
    assert.ok(!front.sidecar.log.some(({ alert }) => alert === 'app_not_ready'), 'it has none');
});

test('replicas without their database tell that themselves, and its return', async (t) => {
    const all = await fleet(t, { env: TELLING });
    const env = { HOOKLINE_ALERT_URL: all.receiver.url(PATH) };
    const cable = await link(t, all.database.url);
    const a = await all.add('a', { env, url: cable.url });
    await cable.cut();
    const { replica } = await whenTold(all.receiver, 'store_failing', ['firing']);
    assert.equal(replica, 'a');
    assert.equal(await a.sidecar.metric('hookline_runs_queued'), undefined, 'what is not known has no sample');
    await cable.heal();
    await whenTold(all.receiver, 'store_failing', ['firing', 'resolved']);
});

test('an alert URL that no webhook may have stops the start with one line', async () => {
    for (const [url, why] of [
        ['http://10.0.0.1/x', /^HOOKLINE_ALERT_URL: .*private or special.*HOOKLINE_WEBHOOK_ALLOW/],
        ['ftp://alerts.example/', /^HOOKLINE_ALERT_URL: /],
        ['http://user:pw@alerts.example/', /^HOOKLINE_ALERT_URL: /],
    ]) {
        const { code, stderr } = await run(['serve'], { HOOKLINE_ALERT_URL: url, HOOKLINE_APP_URL: 'http://127.0.0.1:1' });
        assert.equal(code, 2, stderr);
        const lines = stderr.trim().split('\n').filter((line) => line.includes('ALERT_URL'));
        assert.equal(lines.length, 1, stderr);
        assert.match(lines[0].replace(/^hookline: /, ''), why);
    }
    const { code, stderr } = await run(['serve'], { HOOKLINE_ALERT_QUEUE_AGE: '1m', HOOKLINE_APP_URL: 'http://127.0.0.1:1' });
    assert.equal(code, 2);
    assert.match(stderr, /HOOKLINE_ALERT_QUEUE_AGE: needs HOOKLINE_ALERT_URL/);
});
