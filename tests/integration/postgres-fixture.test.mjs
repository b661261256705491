// What the tests on PostgreSQL stand on: a server that goes with its user, and a link that fails as networks do.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { test } from './lib/case.mjs';
import { link } from './lib/link.mjs';
import { cluster, postgres } from './lib/postgres.mjs';
import { until } from './lib/until.mjs';

const TABLE = 'CREATE TABLE t (n bigint)';
const count = async (database) => (await database.query('SELECT count(*) AS n FROM t'))[0].n;

const ended = (client) => new Promise((resolve) => client.once('end', resolve));

/** Whether a promise is still waiting after one that came later has been answered. */
async function isSilent(promise, other) {
    let isSettled = false;
    const settle = () => (isSettled = true);
    promise.then(settle, settle);
    await other();
    return !isSettled;
}

test('a server is gone with its user, however that ends', async (t) => {
    const program = `
        import { cluster } from './lib/postgres.mjs';
        import { test } from './lib/case.mjs';
        test('x', async (t) => {
            const { pid, directory } = await cluster(t);
            process.stderr.write(pid + ' ' + directory + '\\n');
            await new Promise(() => {});
        });`;
    const { NODE_TEST_CONTEXT, ...env } = process.env;
    void NODE_TEST_CONTEXT;
    const user = spawn(process.execPath, ['--input-type=module', '-e', program], {
        cwd: import.meta.dirname ?? new URL('.', import.meta.url).pathname,
        env,
        stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [line] = await once(user.stderr.setEncoding('utf8'), 'data');
    const [pid, directory] = line.trim().split(' ');
    assert.ok(existsSync(directory));
    user.kill('SIGKILL');
    await until('the server has gone', () => !existsSync(`/proc/${pid}`));
    await until('its directory has gone', () => !existsSync(directory));
});

test('what was committed is there after the server was killed', async (t) => {
    const server = await cluster(t, { config: { log_min_messages: 'log' } });
    await server.query(TABLE);
    await server.query('INSERT INTO t VALUES (1)');
    await server.kill();
    await assert.rejects(count(server), { code: 'ECONNREFUSED' });
    await server.start();
    assert.equal(await count(server), 1);
    assert.match(server.log(), /automatic recovery in progress/);
});

test('a server that stands still answers when it is resumed', async (t) => {
    const server = await cluster(t);
    const other = await postgres(t);
    await server.query(TABLE);
    await server.pause();
    const answer = count(server);
    assert.ok(await isSilent(answer, () => other.query('SELECT 1')));
    await server.resume();
    assert.equal(await answer, 0);
});

test('a test breaks off the sessions of one application in its own database', async (t) => {
    const [mine, another] = [await postgres(t), await postgres(t)];
    const open = async (database, name) => {
        const client = await mine.connect(t, `${database.url}?application_name=${name}`);
        return { client, end: ended(client) };
    };
    const [gone, stays, far] = [await open(mine, 'a'), await open(mine, 'b'), await open(another, 'a')];
    assert.equal(await mine.terminate('a'), 1);
    await gone.end;
    await stays.client.query('SELECT 1');
    await far.client.query('SELECT 1');
});

test('an answer that a link holds back is lost when it is cut, its statement is not', async (t) => {
    const database = await postgres(t);
    await database.query(TABLE);
    const cable = await link(t, database.url);
    const client = await database.connect(t, cable.url);
    cable.blackHole('answers');
    const answer = client.query('INSERT INTO t VALUES (1)');
    await until('it is committed', async () => (await count(database)) === 1);
    await cable.cut();
    await assert.rejects(answer);
    await assert.rejects(database.connect(t, cable.url), { code: 'ECONNREFUSED' });
    await cable.heal();
    const [{ n }] = (await (await database.connect(t, cable.url)).query('SELECT count(*) AS n FROM t')).rows;
    assert.equal(n, 1);
});

test('what was sent into a black hole arrives when it is healed', async (t) => {
    const database = await postgres(t);
    await database.query(TABLE);
    const cable = await link(t, database.url);
    const client = await database.connect(t, cable.url);
    cable.blackHole();
    const answer = client.query('INSERT INTO t VALUES (1)');
    const late = database.connect(t, cable.url);
    const second = () => until('a second connection', () => cable.accepted === 2);
    assert.ok(await isSilent(Promise.race([answer, late]), second));
    assert.equal(await count(database), 0);
    await cable.heal();
    await answer;
    await late;
    assert.equal(await count(database), 1);
});

test('of a connection that is half open the server believes in a client that has gone', async (t) => {
    const database = await postgres(t);
    const cable = await link(t, database.url);
    const client = await database.connect(t, `${cable.url}?application_name=a`);
    const sessions = async () =>
        (await database.superuser("SELECT pid FROM pg_stat_activity WHERE application_name = 'a'")).length;
    const end = ended(client);
    cable.halfOpen('server');
    await end;
    await (await database.connect(t, cable.url)).query('SELECT 1');
    assert.equal(await sessions(), 1);
    await cable.heal();
    await until('the server has learnt it', async () => (await sessions()) === 0);
});

test('a slow link keeps the order and loses nothing', async (t) => {
    const database = await postgres(t);
    await database.query(TABLE);
    const cable = await link(t, database.url);
    const client = await database.connect(t, cable.url);
    cable.delay(20);
    const values = Array.from({ length: 20 }, (_, n) => n);
    const began = performance.now();
    await Promise.all(values.map((n) => client.query('INSERT INTO t VALUES ($1)', [n])));
    assert.ok(performance.now() - began >= 20 * values.length);
    assert.deepEqual(
        (await database.query('SELECT n FROM t ORDER BY ctid')).map(({ n }) => n),
        values,
    );
});
