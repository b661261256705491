// postgres.mjs - PostgreSQL for tests: a database of a test's own on a server that all share, or a whole server of its
// own, which it may stop, kill and pause. The server is tests/postgres/cluster.sh's.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { onFailure } from './case.mjs';
import { atEnd } from './cleanup.mjs';
import { plugIn, THERE_RUN } from './machine.mjs';

const SCRIPT = fileURLToPath(new URL('../../postgres/cluster.sh', import.meta.url));
const INT8 = 20;
/** Whose sessions are the test's own. */
const TEST = 'test';
const SUPERUSER = 'postgres';

pg.types.setTypeParser(INT8, Number);

const draw = () => `test_${randomBytes(8).toString('hex')}`;

let shared;

/** A Database that is dropped when the test ends, whoever is connected then. */
export async function postgres(t) {
    shared ??= process.env.HOOKLINE_TEST_POSTGRES ?? startShared();
    const server = new Database(await shared);
    const name = draw();
    await server.superuser(`CREATE DATABASE ${name} OWNER ${server.role}`);
    atEnd(t, async () => {
        await server.superuser(`DROP DATABASE ${name} WITH (FORCE)`);
        await server.close();
    });
    const url = new URL(server.url);
    url.pathname = name;
    const database = new Database(url.href);
    atEnd(t, () => database.close());
    return database;
}

/**
 * A Cluster, with these settings in its configuration, that is gone when the test ends. `isFar`: on another machine
 * (machine.mjs, only inside), at the end of a `cable` that can be cut; queries of the test itself do not go through it.
 */
export async function cluster(t, { config = {}, isFar = false } = {}) {
    const settings = Object.entries(isFar ? { listen_addresses: '*', ...config } : config);
    const server = await Server.start(
        settings.map(([name, value]) => `${name}=${value}`),
        isFar ? THERE_RUN : [],
    );
    const made = new Cluster(server);
    atEnd(t, () => made.close());
    atEnd(t, () => server.end());
    onFailure(t, () => server.log());
    if (isFar) made.stretch(await plugIn(server.pid));
    return made;
}

/** One for all tests of this file; it goes with this process, which does not wait for it. */
async function startShared() {
    const server = await Server.start([]);
    server.unref();
    return server.url;
}

class Database {
    #pools = new Map();

    /** The name of a schema that is not there yet, and not the usual one. */
    schema = draw();
    key = randomBytes(32).toString('hex');

    /** `socket`: the directory of the server's unix socket, by which the test itself asks; else as the URL says. */
    constructor(url, socket) {
        this.url = url;
        this.socket = socket;
    }

    get role() {
        return new URL(this.url).username;
    }

    get superuserUrl() {
        const url = new URL(this.url);
        url.username = SUPERUSER;
        return url.href;
    }

    /** What a sidecar needs to store here. */
    get env() {
        return {
            HOOKLINE_STORE: 'postgres',
            HOOKLINE_POSTGRES_URL: this.url,
            HOOKLINE_POSTGRES_SCHEMA: this.schema,
            HOOKLINE_KEY: this.key,
        };
    }

    /** The rows of a statement, as objects; bigint as numbers. */
    async query(sql, parameters) {
        return (await this.#pool(this.role).query(sql, parameters)).rows;
    }

    /** The same, with all rights. */
    async superuser(sql, parameters) {
        return (await this.#pool(SUPERUSER).query(sql, parameters)).rows;
    }

    /** A connection of its own, for what lasts: `query(sql, parameters)` as pg has it. */
    async connect(t, url = this.url) {
        const client = new pg.Client({ connectionString: url, application_name: TEST });
        client.on('error', () => {}); // it may be broken off
        await client.connect();
        atEnd(t, () => client.end());
        return client;
    }

    /** Breaks off all sessions but the test's own, or those of one application_name; answers how many. */
    async terminate(name) {
        const ended = await this.superuser(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
             AND backend_type = 'client backend' AND application_name <> $1
             AND application_name = coalesce($2, application_name)`,
            [TEST, name],
        );
        return ended.length;
    }

    async close() {
        const pools = [...this.#pools.values()];
        this.#pools.clear();
        await Promise.all(pools.map((pool) => pool.end()));
    }

    #pool(user) {
        if (!this.#pools.has(user)) {
            const { hostname, port, password, pathname } = new URL(this.url);
            const pool = new pg.Pool({
                host: this.socket ?? hostname,
                port,
                user,
                password,
                database: pathname.slice(1),
                max: 4,
                application_name: TEST,
                allowExitOnIdle: true,
            });
            pool.on('error', () => {}); // an idle connection was broken off
            this.#pools.set(user, pool);
        }
        return this.#pools.get(user);
    }
}

/** The database of a server of its own. */
class Cluster extends Database {
    #server;

    constructor(server) {
        super(server.url, server.directory);
        this.#server = server;
        this.directory = server.directory;
    }

    /** Puts it at the other end of that cable. */
    stretch(cable) {
        const url = new URL(this.url);
        url.hostname = cable.address;
        this.url = url.href;
        this.cable = cable;
    }

    /** Of its first process. */
    get pid() {
        return Number(readFileSync(join(this.directory, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);
    }

    /** Until it takes connections again, on the same port. */
    start() {
        return this.#server.order('start');
    }

    /** An orderly end: sessions are broken off, everything is written. */
    async stop() {
        await this.#server.order('stop');
        await this.close();
    }

    /** All its processes at once, by SIGKILL. */
    async kill() {
        await this.#server.order('kill');
        await this.close();
    }

    /** All its processes stand still; the kernel goes on taking connections and bytes for it. */
    pause() {
        return this.#server.order('pause');
    }

    resume() {
        return this.#server.order('resume');
    }

    /** Its state now is what `lose` brings back. Sessions are broken off. */
    async keep() {
        await this.#server.order('keep');
        await this.close();
    }

    /** A failover to a standby that lacks all that was committed since `keep`. */
    async lose() {
        await this.#server.order('lose');
        await this.close();
    }

    log() {
        return this.#server.log();
    }
}

/** A running cluster.sh. */
class Server {
    #child;
    #lines;
    #errors = '';

    /** `prefix`: what its command begins with. */
    static async start(settings, prefix = []) {
        const server = new Server();
        await server.#start([...prefix, SCRIPT, ...settings]);
        return server;
    }

    async #start([program, ...args]) {
        this.#child = spawn(program, args, { stdio: 'pipe' });
        this.#child.stderr.setEncoding('utf8').on('data', (text) => (this.#errors += text));
        this.#child.stdin.on('error', () => {});
        this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
        [this.url, this.directory] = (await this.#read()).split(' ');
    }

    /** Of the script. */
    get pid() {
        return this.#child.pid;
    }

    /** See cluster.sh. */
    async order(word) {
        this.#child.stdin.write(`${word}\n`);
        const answer = await this.#read();
        if (answer !== 'ok') throw new Error(answer);
    }

    async #read() {
        const { value, done } = await this.#lines.next();
        if (done) throw new Error(`there is no PostgreSQL: ${this.#errors}`);
        return value;
    }

    log() {
        return readFileSync(join(this.directory, 'log'), 'utf8');
    }

    async end() {
        const closed = once(this.#child, 'close');
        this.#child.stdin.end();
        await closed;
    }

    unref() {
        for (const handle of [this.#child, ...this.#child.stdio]) handle.unref();
    }
}
