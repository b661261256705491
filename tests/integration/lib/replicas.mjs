// replicas.mjs - sidecars that share one database, each before an app of its own, and one receiver for all of them.
import assert from 'node:assert/strict';
import { atEnd } from './cleanup.mjs';
import { postgres } from './postgres.mjs';
import { Receiver } from './receiver.mjs';
import { control } from './rest.mjs';
import { startServer } from './server.mjs';
import { startSidecar } from './sidecar.mjs';
import { RUN, caller } from './stage.mjs';
import { gate, until } from './until.mjs';

export const RUNS = '/v2/projects/p/apps/a/runs';
export const DELIVERIES = '/v2/projects/p/deliveries';

const SETTINGS = {
    HOOKLINE_REPLICA_TTL: '3s', // the least there is
    HOOKLINE_WORKERS: '1',
};

/** A database and a receiver, and no replica yet: `add` starts them. `env`: of all; `app(exchange, name)`. */
export async function fleet(t, { database, env = {}, app } = {}) {
    return new Fleet(t, database ?? (await postgres(t)), await Receiver.start(t), env, app);
}

class Fleet {
    #t;
    #env;
    #app;

    /** Where calls with a field `X-Held` wait inside the apps. */
    held = gate();
    replicas = [];

    constructor(t, database, receiver, env, app) {
        this.#t = t;
        this.database = database;
        this.receiver = receiver;
        this.#env = env;
        this.#app = app ?? ((exchange, name) => this.#answer(exchange, name));
    }

    /** Starts a replica. `url`: by which way to the database; `hasApp`: whether there is something at its app's address. */
    async add(name, { env = {}, url, hasApp = true, ...options } = {}) {
        const app = hasApp ? await startServer(this.#t, (x) => this.#app(x, name)) : null;
        const sidecar = await startSidecar(this.#t, {
            env: {
                ...this.database.env,
                ...SETTINGS,
                HOOKLINE_REPLICA: name,
                HOOKLINE_APP_URL: app ? app.url : 'http://127.0.0.1:1',
                ...(url && { HOOKLINE_POSTGRES_URL: url }),
                ...this.#env,
                ...env,
            },
            wait: app ? 'readyz' : 'healthz',
            ...options,
        });
        const replica = new Replica(this.#t, name, app, sidecar);
        this.replicas.push(replica);
        return replica;
    }

    async #answer(exchange, name) {
        await exchange.body();
        if (exchange.get('x-held')) await Promise.race([this.held.promise, exchange.gone]);
        await exchange.json({ by: name });
    }

    /** Rows of a statement in which `~` is the schema. */
    rows(sql, parameters) {
        return this.database.query(sql.replaceAll('~', this.database.schema), parameters);
    }

    /** How many rows a condition is true for. */
    async count(from, parameters) {
        return (await this.rows(`SELECT count(*) AS n FROM ${from}`, parameters))[0].n;
    }

    /**
     * Begins `accept`, does `change` while the database holds the new run back, which its replica has sent, and lets it go:
     * the answer to come. A trigger waits, as long as a statement may; a lock is given less. `when`: what else it holds back.
     */
    async whileHeld(t, accept, change, when = 'BEFORE INSERT ON ~.run') {
        const { schema } = this.database;
        const other = await this.database.connect(t);
        await other.query(`CREATE TABLE IF NOT EXISTS ${schema}.held ();
            CREATE OR REPLACE FUNCTION ${schema}.wait_while_held() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN WHILE EXISTS (SELECT FROM ${schema}.held) LOOP PERFORM pg_sleep(0.02); END LOOP; RETURN NULL; END $$;
            CREATE OR REPLACE TRIGGER waits ${when.replace('~', schema)} EXECUTE FUNCTION ${schema}.wait_while_held()`);
        await other.query(`INSERT INTO ${schema}.held DEFAULT VALUES`);
        const answer = accept();
        answer.catch(() => {}); // a test that fails before says why
        await until('it waits', async () => {
            const { rows } = await other.query(`SELECT FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event = 'PgSleep'`);
            return rows.length;
        });
        await change();
        await other.query(`DELETE FROM ${schema}.held`);
        return { answer };
    }

    /** How often the apps were called for a run. */
    calls(id) {
        return this.replicas.reduce((n, { app }) => n + (app?.callsById().get(id) ?? 0), 0);
    }
}

class Replica {
    #t;

    constructor(t, name, app, sidecar) {
        this.#t = t;
        this.name = name;
        this.app = app;
        this.sidecar = sidecar;
        this.call = caller(t, sidecar);
        this.ask = control(sidecar);
    }

    /** The id of an asynchronous run. `hook`: the URL of its webhook; `isHeld`: see Fleet.held. */
    async begin({ hook, isHeld, headers, ...options } = {}) {
        const response = await this.call(RUN, {
            query: { async: 'true', ...(hook && { webhookEndpoint: hook }) },
            headers: { ...(isHeld && { 'x-held': '1' }), ...headers },
            ...options,
        });
        assert.equal(response.status, 202, response.text);
        return response.json().run_id;
    }

    /** When /readyz says so: `ok`, or `degraded: store` while the database is away. */
    says(line) {
        return until(`${this.name}'s /readyz says ${line}`, async () => (await this.sidecar.admin('/readyz')).text === `${line}\n`);
    }

    /** A run as this replica shows it. */
    async show(id) {
        const answer = await this.ask('GET', `${RUNS}/${id}`);
        assert.equal(answer.status, 200, answer.text);
        return answer.json();
    }

    /** The same, once it has ended. */
    finished(id) {
        return until(`run ${id} has ended`, async () => {
            const run = await this.show(id);
            return run.finished_at && run;
        });
    }

    /** The delivery of a run, with its attempts, once it is delivered or dead; of its `round`. */
    settled(id, round = 1) {
        return until(`round ${round} of the webhook of ${id} is over`, async () => {
            const { deliveries } = (await this.ask('GET', `${DELIVERIES}?run_id=${id}`)).json();
            return deliveries.find((one) => one.state !== 'pending' && one.round === round);
        });
    }

    /** Until the app has `n` calls of this run. */
    called(id, n = 1) {
        return until(`${this.name}'s app was called`, () => (this.app.callsById().get(id) ?? 0) >= n);
    }

    /** Stands still until it is woken. */
    freeze() {
        this.sidecar.signal('SIGSTOP');
        atEnd(this.#t, () => this.wake());
    }

    wake() {
        this.sidecar.signal('SIGCONT');
    }

    /** The first line of its log that says so. */
    logged(pattern) {
        return this.sidecar.logged((line) => pattern.test(line.msg));
    }
}
