// A database that refuses what replicas tell it: nothing that has ended is lost, and all is written once it is taken.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { cluster } from './lib/postgres.mjs';
import { keepFrom, refused, refusing } from './lib/refusing.mjs';
import { RUNS } from './lib/replicas.mjs';
import { RUN } from './lib/stage.mjs';
import { until, within } from './lib/until.mjs';

for (const [what, table, right, state] of [
    ['rights that are missing', 'delivery', 'INSERT', '42501'],
    ['another right that is missing', 'run', 'UPDATE', '42501'],
    ['a right that their long answers need', 'body', 'INSERT', '42501'],
])
    test(`ends of runs outlast ${what}: ${right} on ${table}`, async (t) => {
        const { all, a, doors, change, readyz } = await refusing(t);
        const ids = [];
        const answer = (i) => `answer ${i} `.repeat(i === 2 ? 40_000 : 1);
        for (let i = 0; i < 3; i++) ids.push(await a.begin({ hook: all.receiver.url(`/${i}`), body: answer(i) }));
        const call = a.call(RUN, { query: { webhookEndpoint: all.receiver.url('/sync') }, body: 'sync' });
        await until('all are inside', async () => a.app.requests.length === 4);
        await until('its begin is written', async () => (await all.count('~.ticket WHERE NOT is_async')) === 1);
        await keepFrom({ all, change }, right, table);
        doors.open();
        const { id } = await call;
        await refused(a, state);
        await until('it says so', async () => /degraded: store/.test(await readyz()));
        await change(`GRANT ${right} ON ~.${table} TO ${all.database.role}`);
        for (const [i, run] of ids.entries()) {
            assert.equal((await a.finished(run)).state, 'success');
            assert.equal((await all.receiver.envelope(`/${i}`)).response, answer(i));
        }
        assert.equal((await all.receiver.envelope('/sync')).run_id, id);
        await until('it is well again', async () => /^ok/.test(await readyz()));
        assert.equal(await a.sidecar.metric('hookline_webhooks_lost_total'), 0);
    });

test('SIGTERM ends a replica whose long answers the database refuses', async (t) => {
    const { all, a, doors, change } = await refusing(t);
    await a.begin({ body: 'long '.repeat(80_000) });
    await until('it is inside', async () => a.app.requests.length === 1);
    await change('ALTER TABLE ~.body OWNER TO postgres');
    await change(`GRANT SELECT ON ~.body TO ${all.database.role}`);
    doors.open();
    await refused(a, '42501');
    a.sidecar.signal('SIGTERM');
    assert.deepEqual(await within('it ends', a.sidecar.exited()), { code: 0, signal: null });
});

test('SIGTERM ends a replica to whose webhooks’ attempts the database says no', async (t) => {
    const database = await cluster(t);
    const { all, a, doors, change } = await refusing(t, {}, database);
    doors.open();
    for (let i = 0; i < 5; i++) await a.begin({ hook: 'http://127.0.0.1:1/' });
    await until('all have failed once', async () => (await all.count('~.attempt')) >= 5);
    await change('ALTER TABLE ~.delivery_ticket OWNER TO postgres');
    await change(`GRANT SELECT ON ~.delivery_ticket TO ${all.database.role}`);
    // Those of looks for work are among them, and those of second attempts, which come after a second.
    await until('it has been refused often', async () => database.log().split('permission denied').length > 15);
    a.sidecar.signal('SIGTERM');
    assert.deepEqual(await within('it ends', a.sidecar.exited(), 30_000), { code: 0, signal: null });
});

test('a database that refuses everything leaves a line of each kind in the log, and a count', async (t) => {
    const { all, a, doors, change } = await refusing(t);
    const accept = async () => {
        const answer = await a.call(RUN, { query: { async: 'true' } });
        return answer.status === 202 && answer.json().run_id;
    };
    doors.open();
    await a.finished(await a.begin());
    const asked = 40;
    const elsewhere = `${all.database.schema}_elsewhere`;
    await change(`ALTER SCHEMA ~ RENAME TO ${elsewhere}`);
    for (let i = 0; i < asked; i++) assert.equal((await a.ask('GET', RUNS)).status, 503);
    assert.equal(await accept(), false);
    await change(`ALTER SCHEMA ${elsewhere} RENAME TO ~`);
    await a.finished(await until('it takes runs again', accept));
    await a.sidecar.stop();
    const lines = a.sidecar.log.filter(({ msg }) => msg === 'store: PostgreSQL refused a query');
    assert.deepEqual(lines.map(({ sqlstate, left_out: n }) => [sqlstate, n]), [['42P01', undefined], ['42P01', asked - 1]]);
    assert.ok(a.sidecar.log.filter(({ msg }) => /^store: PostgreSQL refused/.test(msg)).length <= 2 * 17);
});

test('a run whose answer alone is refused ends without it, and the others as ever', async (t) => {
    const { all, a, doors, change } = await refusing(t);
    await change(`ALTER TABLE ~.run ADD CONSTRAINT decent
                  CHECK (body_bytes IS NULL OR position('bad'::bytea IN body_bytes) = 0)`);
    const begin = (body) => a.begin({ hook: all.receiver.url(`/${body}`), body });
    const [bad, ...good] = await Promise.all(['bad', 'good1', 'good2', 'good3'].map(begin));
    await until('all are inside', async () => a.app.requests.length === 4);
    doors.open();
    for (const id of good) assert.equal((await a.finished(id)).state, 'success');
    await refused(a, '23514');
    await a.finished(await a.begin({ body: 'later1' }));
    await until('it has been given up', async () => {
        await a.finished(await a.begin({ body: 'later2' }));
        return (await a.show(bad)).finished_at;
    });
    const { state, reason } = await a.show(bad);
    assert.deepEqual([state, reason], ['failure', 'response_not_kept']);
    const { status, response, reason: said } = await all.receiver.envelope('/bad');
    assert.deepEqual([status, response, said], ['failure', null, 'response_not_kept']);
});

/** As after a clock that went five days on: the last partition of each table ended then, and all rows are of that time. */
const FIVE_DAYS_ON = `DO $$ DECLARE kind text; part text;
    until bigint := (extract(epoch FROM now() - interval '5 days') * 1000)::bigint / 3600000 * 3600000;
    BEGIN FOREACH kind IN ARRAY ARRAY['run', 'delivery', 'attempt', 'body', 'tag'] LOOP
    FOR part IN SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = ('~.' || kind)::regclass LOOP
    EXECUTE 'DROP TABLE ' || part; END LOOP;
    EXECUTE format('CREATE TABLE ~.%I PARTITION OF ~.%I FOR VALUES FROM (MINVALUE) TO (%L)', kind || '_before', kind,
    rpad(lpad(to_hex(until), 12, '0'), 32, '0')::uuid); END LOOP;
    UPDATE ~.meta SET v = convert_to(until::text, 'UTF8') WHERE k = 'partitions_until'; END $$`;

test('what has no partition, because the clock of the database went on by days, is accepted and ends all the same', async (t) => {
    const { all, a, doors, change, readyz } = await refusing(t);
    doors.open();
    await a.finished(await a.begin());
    await change(FIVE_DAYS_ON);
    const begun = ['/short', '/long'].map((path) =>
        a.begin({ hook: all.receiver.url(path), body: path.repeat(path === '/long' ? 100_000 : 1) }),
    );
    const { id } = await a.call(RUN, { query: { webhookEndpoint: all.receiver.url('/sync') }, body: 'sync' });
    for (const run of await Promise.all(begun)) {
        assert.equal((await a.finished(run)).state, 'success');
        assert.equal((await a.settled(run)).state, 'delivered');
    }
    assert.equal((await all.receiver.envelope('/sync')).run_id, id);
    await until('all is well', async () => /^ok/.test(await readyz()));
});

test('a queued run whose body may not be read for a while begins soon after it may', async (t) => {
    const { all, a, doors, change } = await refusing(t, { HOOKLINE_ASYNC_CONCURRENCY: '1' });
    const first = await a.begin({ body: 'first' });
    const long = await a.begin({ body: 'x'.repeat(400_000) });
    await change(`ALTER TABLE ~.body OWNER TO postgres`);
    await change(`GRANT ALL ON ~.body TO ${all.database.role}`);
    await change(`REVOKE SELECT ON ~.body FROM ${all.database.role}`);
    doors.open();
    await a.logged(/request cannot be read; postponed/);
    await change(`GRANT SELECT ON ~.body TO ${all.database.role}`);
    await a.finished(first);
    const { state, attempts } = await a.finished(long);
    assert.deepEqual([state, attempts], ['success', 1]);
});
