// ledger.mjs - what a sidecar that dies again and again was asked, what its app and its receivers saw,
// and whether it kept what it promised: the app and the receivers of the crash tests, and their checks.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { filesBelow } from './files.mjs';
import { Receiver } from './receiver.mjs';
import { startServer } from './server.mjs';
import { RUN, caller } from './stage.mjs';
import { startSidecar } from './sidecar.mjs';
import { gate, sleep, until } from './until.mjs';

const KIB = 1024;

/**
 * Calls: `hook`: the path of their webhook, `request` and `answer`: their bodies' sizes (above
 * 256 KiB in files), `isHeld`: the app answers when it is let, `hasKey`: with an Idempotency-Key.
 */
const KINDS = {
    plain: { answer: 48 * KIB },
    reported: { hook: '/fast' },
    longRequest: { hook: '/fast', request: 300 * KIB },
    longAnswer: { hook: '/fast', answer: 300 * KIB },
    retried: { hook: '/flaky' },
    refused: { hook: '/refusing' },
    missed: { hook: '/missing' },
    keyed: { hook: '/fast', hasKey: true },
    synchronous: { hook: '/fast', isSynchronous: true },
    slow: { hook: '/slow' },
    held: { hook: '/slow', isHeld: true },
    bulky: { hook: '/slow', isHeld: true, answer: 200 * KIB },
};

/** How the store writes them: proxy/store/record.h, proxy/store/sqlite/database.h. */
const RUN_STATES = ['queued', 'running', 'success', 'failure', 'cancelled'];
const REASONS = [
    'none',
    'app_error',
    'timeout',
    'upstream_unreachable',
    'upstream_reset',
    'bad_response',
    'interrupted',
];
const DELIVERY_STATES = ['pending', 'ok', 'dead'];
const LOST = [3, 4]; // attempts whose process ended: abandoned, unknown
const BODY = { inline: 1, file: 2 };
const ATTEMPTS = 3;
const SETTLED_WITHIN = 240_000; // the longer a process took to die, the more was asked of it
const FINAL = { 200: 'ok', 500: 'dead' }; // answers after which there is no further attempt
const PATHS = ['/fast', '/flaky', '/missing', '/refusing', '/slow'];

const requestOf = ({ number, kind }) => Buffer.alloc(kind.request ?? 100, `${number}/`);
const answerOf = ({ number, kind }) => Buffer.alloc(kind.answer ?? 100, `${number} is done. `);
const digest = (bytes) => createHash('sha256').update(bytes).digest('hex');
const plainId = (id) => id.replaceAll('-', '');

export class Ledger {
    #random;
    #call;
    #app;
    #receivers = new Map(); // each path is a destination of its own: none waits for another
    #calls = new Map(); // by number
    #round = []; // calls since begin()
    #byRun = new Map(); // run id → call, as the caller, the app or a receiver said
    #appCalls = new Map(); // run id → how often the app was called
    #final = new Map(); // run id → the final state that was seen on disk
    #since = 0;
    #ends = 0; // of processes in this round

    /** App, receivers and sidecar; nothing was asked yet. */
    static async open(t, random, { env = {}, ...options } = {}) {
        const ledger = new Ledger();
        ledger.#random = random;
        ledger.begin();
        ledger.#app = await startServer(t, (x) => ledger.#serve(x));
        for (const path of PATHS) ledger.#receivers.set(path, await Receiver.start(t));
        for (const [path, receiver] of ledger.#receivers)
            receiver.script(path, (x) => ledger.#receive(x));
        ledger.sidecar = await startSidecar(t, {
            env: {
                HOOKLINE_APP_URL: ledger.#app.url,
                HOOKLINE_WEBHOOK_TIMEOUT: '1h', // slow receivers are slow until they are let go
                ...env,
            },
            ...options,
        });
        ledger.#call = caller(t, ledger.sidecar);
        return ledger;
    }

    get appUrl() {
        return this.#app.url;
    }

    /** How many calls of this round have their 202. */
    get accepted() {
        return this.#round.filter((call) => call.isAccepted).length;
    }

    /** A new round. */
    begin() {
        this.#round = [];
        this.#since = Date.now();
        this.#ends = 0;
        this.hold();
    }

    /** From here on held calls are held and slow receivers are slow, until `app` and `slow` open. */
    hold() {
        this.app = gate();
        this.slow = gate();
    }

    /** How many calls are inside the app, and how many deliveries at the slow receiver. */
    waiting = { app: 0, slow: 0 };

    async #wait(where, opened, x) {
        this.waiting[where]++;
        await Promise.race([opened.promise, x.gone]);
        this.waiting[where]--;
    }

    async #serve(x) {
        const bytes = await x.body();
        const call = this.#calls.get(bytes.toString('latin1', 0, 100).split('/')[0]);
        assert.ok(call && bytes.equals(requestOf(call)), 'the app got what nobody had sent');
        this.#identify(x.id, call);
        if (call.kind.isHeld) await this.#wait('app', this.app, x);
        else await sleep(this.#random() * 30);
        await x.send(200, { 'Content-Type': 'text/plain' }, answerOf(call));
    }

    async #receive(x) {
        const number = new URL(x.target, 'http://x').searchParams.get('call');
        const call = this.#calls.get(number);
        assert.ok(call, `nobody made call ${number}`);
        const { run_id, status, response } = JSON.parse(x.bytes);
        this.#identify(run_id, call);
        const isRight = response === (status === 'success' ? answerOf(call).toString() : null);
        assert.ok(isRight, `call ${number} was reported with another response`);
        const isFirst = call.deliveries.length === 0;
        const answers = { '/flaky': isFirst ? 404 : 200, '/refusing': 500, '/missing': 404 };
        const answer = answers[x.path] ?? 200;
        call.deliveries.push({ status, digest: digest(x.bytes), answer });
        if (x.path === '/slow') await this.#wait('slow', this.slow, x);
        await x.send(answer);
    }

    #identify(runId, call) {
        const other = this.#byRun.get(plainId(runId));
        assert.ok(!other || other === call, `${runId} is a run of two calls`);
        this.#byRun.set(plainId(runId), call);
        call.runs.add(plainId(runId));
    }

    /** Makes one call of each of these kinds, all at once; resolves when all are answered or lost. */
    ask(...names) {
        return Promise.all(
            names.map((name) => {
                const number = `${this.#calls.size}`;
                const call = { number, kind: KINDS[name], name, runs: new Set(), deliveries: [] };
                this.#calls.set(number, call);
                this.#round.push(call);
                return this.#ask(call);
            }),
        );
    }

    async #ask(call) {
        const { hook, isSynchronous, hasKey } = call.kind;
        const query = isSynchronous ? {} : { async: 'true' };
        if (hook)
            query.webhookEndpoint = `${this.#receivers.get(hook).url(hook)}?call=${call.number}`;
        const headers = hasKey ? { 'Idempotency-Key': call.number } : {};
        const options = { query, headers, body: requestOf(call) };
        const response = await this.#call(RUN, options).catch(() => null);
        if (response?.status === 202) {
            call.isAccepted = true;
            this.#identify(response.json().run_id, call);
        } else if (response?.status === 200) {
            assert.ok(response.body.equals(answerOf(call)), `call ${call.number}: its answer`);
        }
    }

    /** Calls with a key again, as their callers would: no second run may come of it. */
    askAgain() {
        return Promise.all(this.#round.filter((c) => c.kind.hasKey).map((c) => this.#ask(c)));
    }

    /** After a kill: how many runs were in which state. A final state that was seen once is final. */
    async look() {
        this.#ends++;
        const [{ final, ...states }] = await this.sidecar.sql(
            `SELECT (SELECT json_group_array(json_array(lower(hex(run_id)), state)) FROM run_with_state
                     WHERE state >= 2 AND created_ms >= ${this.#since}) AS final,
                    (SELECT count(*) FROM run_with_state WHERE state = 0) AS "queued",
                    (SELECT count(*) FROM run_with_state WHERE state = 1) AS "in the app",
                    count(*) FILTER (WHERE NOT is_leased) AS "undelivered",
                    count(*) FILTER (WHERE is_leased) AS "delivering"
             FROM delivery WHERE state = 0`,
        );
        for (const [id, state] of JSON.parse(final)) this.#assertFinal(id, state);
        return states;
    }

    #assertFinal(id, state) {
        const before = this.#final.get(id) ?? state;
        assert.equal(RUN_STATES[state], RUN_STATES[before], `${id} was ${RUN_STATES[before]}`);
        this.#final.set(id, state);
    }

    /** Lets everything go on, waits until nothing is left to do, stops the sidecar. */
    async settle(repeats) {
        this.app.open();
        this.slow.open();
        if (repeats) await this.askAgain();
        const idle = ['runs_queued', 'runs_in_flight', 'deliveries_pending'].map((name) => `\nhookline_${name} 0\n`);
        for (let left = 1; left; [{ left }] = await this.sidecar.sql(LEFT)) {
            if (!this.sidecar.isRunning) {
                this.#ends++; // it stopped too early
                await this.sidecar.start();
            }
            await until(
                'nothing is queued, running or pending',
                async () => {
                    const { text } = await this.sidecar.admin('/metrics');
                    return idle.every((line) => text.includes(line));
                },
                SETTLED_WITHIN,
            );
            await this.sidecar.stop();
        }
    }

    /** Of a settled round: every promise. `isPurged`: finished runs may be gone from the store. */
    async check(isPurged) {
        for (const [id, n] of this.#app.callsById())
            this.#appCalls.set(plainId(id), (this.#appCalls.get(plainId(id)) ?? 0) + n);
        const rows = await this.sidecar.sql(`${RUNS} WHERE r.created_ms >= ${this.#since}`);
        const byId = new Map(rows.map((row) => [row.id, row]));
        assert.equal(byId.size, rows.length, 'a run has two results or two deliveries');
        const files = await filesBelow(join(this.sidecar.dataDir, 'bodies'));
        const paths = new Map(files.map((path) => [plainId(basename(path)), path]));
        assert.equal(paths.size, files.length, 'two files of one body');
        for (const row of rows) await this.#checkRow(row, paths);
        for (const call of this.#round)
            if (!isPurged || !wasDone(call, this.#ends)) checkCall(call, byId);
        for (const [id, n] of this.#appCalls) assert.equal(n, 1, `the app was called twice: ${id}`);
        await this.#checkFiles(paths);
        for (const { requests } of [this.#app, ...this.#receivers.values()]) requests.length = 0;
    }

    async #checkRow(row, paths) {
        const call = this.#byRun.get(row.id);
        const what = `${row.id} (${call?.name ?? 'of a caller who was not answered'})`;
        const state = RUN_STATES[row.state];
        this.#assertFinal(row.id, row.state);
        assert.match(state, /^(success|failure)$/, what);
        if (state === 'failure') {
            const reasons = call?.kind.isSynchronous ? /^(interrupted|upstream_)/ : /^interrupted$/;
            assert.match(REASONS[row.reason], reasons, what);
        } else {
            assert.ok(call, what);
            assert.equal(this.#appCalls.get(row.id), 1, `${what}: success without the app`);
            assert.ok((await keptBody(row, paths)).equals(answerOf(call)), `${what}: kept body`);
        }
        if (row.has_webhook) checkDeliveries(call, row, what, state, this.#ends);
    }

    /** The database is whole, and every file is some record's. */
    async #checkFiles(paths) {
        const [{ integrity, strays, files }] = await this.sidecar.sql(WHOLE);
        assert.deepEqual(JSON.parse(integrity), ['ok']);
        assert.equal(strays, 0, 'rows that refer to none');
        assert.deepEqual(
            [...paths.keys()].sort(),
            JSON.parse(files).sort(),
            'files without a record, or records without a file',
        );
        const unfinished = await filesBelow(join(this.sidecar.dataDir, 'tmp'));
        assert.deepEqual(unfinished, [], 'unfinished files');
        const missing = this.sidecar.log.filter(({ msg }) => /file is missing/.test(msg));
        assert.deepEqual(missing, [], 'a record named a file that was not there');
    }
}

const LEFT = `SELECT (SELECT count(*) FROM run_with_state WHERE state < 2) +
                     (SELECT count(*) FROM delivery WHERE state = 0) AS left`;

const WHOLE = `
    SELECT (SELECT json_group_array(integrity_check) FROM pragma_integrity_check) AS integrity,
           (SELECT count(*) FROM pragma_foreign_key_check) AS strays,
           (SELECT json_group_array(lower(hex(file))) FROM (
                SELECT body_file AS file FROM result WHERE body_file IS NOT NULL
                UNION SELECT body_file FROM ticket WHERE body_file IS NOT NULL
                UNION SELECT body_file FROM request WHERE body_file IS NOT NULL)) AS files`;

const RUNS = `
    SELECT lower(hex(r.run_id)) AS id, r.state, r.has_webhook, s.reason, s.body_where,
           lower(hex(s.body_file)) AS file, hex(s.body_bytes) AS bytes, d.state AS delivery,
           (SELECT json_group_array(
                json_object('verdict', verdict, 'answer', http_status, 'error', error))
            FROM (SELECT * FROM attempt a WHERE a.delivery_id = d.delivery_id ORDER BY n)) AS attempts
    FROM run_with_state r LEFT JOIN result s ON s.number = r.number
               LEFT JOIN delivery d ON d.run_id = r.run_id`;

/** What the store keeps of a response. `paths`: of its files, by their ids. */
async function keptBody({ body_where, file, bytes }, paths) {
    if (body_where === BODY.inline) return Buffer.from(bytes, 'hex');
    assert.equal(body_where, BODY.file);
    return readFile(paths.get(file));
}

/**
 * Reported at least once, always the same, as the store has it, within the attempts. An attempt ends
 * with an answer that the receiver gave, or with its process, and each process takes one at most.
 */
function checkDeliveries(call, row, what, state, ends) {
    assert.ok(call, `${what}: its webhook was never sent`);
    const { deliveries } = call;
    const attempts = JSON.parse(row.attempts);
    const told = `${what}: ${JSON.stringify({ ends, attempts, deliveries })}`;
    const lost = attempts.filter(({ verdict }) => LOST.includes(verdict));
    const final = attempts.findIndex(({ answer }) => FINAL[answer]);
    const expected = final < 0 ? 'dead' : FINAL[attempts[final].answer];
    assert.equal(DELIVERY_STATES[row.delivery] ?? 'no delivery', expected, told);
    assert.equal(attempts.length, final < 0 ? ATTEMPTS : final + 1, `attempts: ${told}`);
    assert.ok(deliveries.length <= attempts.length, `sent more often than recorded: ${told}`);
    assert.ok(lost.length <= ends, `lost, but not with a process: ${told}`);
    const answers = deliveries.map(({ answer }) => answer);
    for (const attempt of attempts.filter((one) => !lost.includes(one))) {
        const given = answers.indexOf(attempt.answer);
        assert.ok(given >= 0, `an outcome that no receiver gave: ${told}`);
        answers.splice(given, 1);
    }
    for (const delivery of deliveries) {
        assert.equal(delivery.status, state, what);
        assert.equal(delivery.digest, deliveries[0].digest, `${what}: two different bodies`);
    }
}

/** Whether a call's run has ended and may be forgotten: its webhook came, or none was asked for. */
const wasDone = ({ kind, deliveries }, ends) =>
    !kind.hook || deliveries.length > 0 || ends >= ATTEMPTS;

/** One run for a call at most; for an accepted one, exactly one. */
function checkCall(call, rows) {
    const what = `call ${call.number} (${call.name})`;
    assert.ok(call.runs.size <= 1, `${what} made ${call.runs.size} runs`);
    const [id] = call.runs;
    if (rows.has(id)) return;
    assert.ok(!call.isAccepted, `${what} was accepted as ${id} and is lost`);
    assert.equal(call.deliveries.length, 0, `${what} was reported, but the store has no ${id}`);
    assert.ok(!id || call.kind.isSynchronous, `${what} reached the app as ${id} without a record`);
}
