// A cable to PostgreSQL that is cut as cables are: neither end is told, each goes by time-outs of its own.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { test } from './lib/case.mjs';
import { isInside, runInside } from './lib/machine.mjs';
import { cluster } from './lib/postgres.mjs';
import { until } from './lib/until.mjs';

const NAME = 'a server gives up the locks of a session whose machine has vanished, by the time-outs of that session';
const TIMEOUTS = { tcp_user_timeout: 2000, tcp_keepalives_idle: 1, tcp_keepalives_interval: 1, tcp_keepalives_count: 2 };
const LOCK = 'SELECT 1 FROM t FOR UPDATE NOWAIT';

async function isDropped(t) {
    const server = await cluster(t, { isFar: true });
    await server.query('CREATE TABLE t AS SELECT 1 AS n');
    const client = await server.connect(t);
    for (const [name, value] of Object.entries(TIMEOUTS)) await client.query(`SET ${name} = ${value}`);
    await client.query('BEGIN');
    await client.query(LOCK);
    await server.cable.cut();
    const answer = client.query('COMMIT');
    let isTold = false;
    answer.catch(() => {}).finally(() => (isTold = true));
    await assert.rejects(server.query(LOCK), { code: '55P03' });
    await until('the lock is free', () => server.query(LOCK).catch(() => null));
    assert.ok(!isTold);
    await server.cable.mend();
    await assert.rejects(answer);
    await (await server.connect(t)).query(LOCK);
}

if (isInside) test(NAME, isDropped);
else test(NAME, (t) => runInside(t, fileURLToPath(import.meta.url)));
