// What a database that refuses a part of what a replica asks makes of its readiness, and that it is said until it is over.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { keepFrom, refused, refusing } from './lib/refusing.mjs';
import { RUN } from './lib/stage.mjs';
import { until } from './lib/until.mjs';

test('a replica whose beats the database refuses says that it is degraded, until they are taken', async (t) => {
    const { all, a, doors, change } = await refusing(t, { HOOKLINE_REPLICA_TTL: '3s' });
    doors.open();
    await a.finished(await a.begin());
    await a.says('ok');
    await change('ALTER TABLE ~.node OWNER TO postgres');
    await refused(a, '42501');
    await a.says('degraded: store');
    await change(`GRANT ALL ON ~.node TO ${all.database.role}`);
    await a.says('ok');
    await a.finished(await a.begin());
});

for (const [what, event] of [
    ['accepts', 'INSERT'],
    ['ends', 'UPDATE'],
])
    test(`a database whose disk is full for ${what} makes a replica degraded, until it has room`, async (t) => {
        const { all, a, doors, change } = await refusing(t);
        await change(`CREATE FUNCTION ~.full() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$`);
        const id = await a.begin({ hook: all.receiver.url('/') });
        await change(`CREATE TRIGGER f BEFORE ${event} ON ~.run FOR EACH STATEMENT EXECUTE FUNCTION ~.full()`);
        if (what === 'accepts') assert.equal((await a.call(RUN, { query: { async: 'true' } })).status, 503);
        doors.open();
        await a.says('degraded: store');
        await change('DROP TRIGGER f ON ~.run');
        await a.finished(id);
        await all.receiver.envelope('/');
        await a.says('ok');
    });

for (const role of ['all', 'front'])
    test(`a replica (${role}) whose accepts alone the database refuses says so, and that it is over without a call`, async (t) => {
        const it = await refusing(t);
        const { all, change } = it;
        const b = role === 'all' ? it.a : await all.add('b', { env: { HOOKLINE_ROLE: role } });
        const said = role === 'all' ? 'degraded: store' : 'a front has nothing else to take calls with';
        await keepFrom(it, 'INSERT', 'ticket');
        assert.equal((await b.call(RUN, { query: { async: 'true' } })).status, 503);
        await until('it says so', async () => (await b.sidecar.admin('/readyz')).text.includes(said));
        assert.match((await b.sidecar.logged(({ msg }) => msg === 'store: PostgreSQL refuses all asynchronous calls')).why, /ticket/);
        await change(`GRANT INSERT ON ~.ticket TO ${all.database.role}`);
        await b.says('ok');
        await b.begin();
    });

test('accepts that are refused for what is in them, in a row, leave a replica well', async (t) => {
    const { all, a, doors, change, readyz } = await refusing(t);
    doors.open();
    await change(`ALTER TABLE ~.run ADD CONSTRAINT decent
                  CHECK (request_bytes IS NULL OR position('bad'::bytea IN request_bytes) = 0)`);
    for (let i = 0; i < 8; i++) {
        assert.equal((await a.call(RUN, { query: { async: 'true' }, body: 'bad' })).status, 503);
        assert.match(await readyz(), /^ok/);
    }
    await refused(a, '23514');
    await a.finished(await a.begin({ hook: all.receiver.url('/') }));
    assert.match(await readyz(), /^ok/);
});

for (const [what, table] of [
    ['claims', 'ticket'],
    ['webhooks’ turns', 'delivery_ticket'],
])
    test(`a replica whose ${what} the database refuses says that it is degraded, until they are taken`, async (t) => {
        const it = await refusing(t);
        const { all, a, doors, change } = it;
        doors.open();
        await a.finished(await a.begin());
        await keepFrom(it, 'UPDATE', table);
        const id = await a.begin({ hook: all.receiver.url('/') });
        await a.says('degraded: store');
        await change(`GRANT UPDATE ON ~.${table} TO ${all.database.role}`);
        await a.finished(id);
        await all.receiver.envelope('/');
        await a.says('ok');
    });
