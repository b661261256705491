// schedule_ledger.mjs - webhooks whose senders are killed: what the receivers saw and answered, and whether what came, how
// often and when is what the schedule and Retry-After allow.
import assert from 'node:assert/strict';
import { Receiver } from './receiver.mjs';
import { RUN } from './stage.mjs';
import { sleep, until } from './until.mjs';

const DESTINATIONS = 4; // beside one that never answers and is failing before long
const DEAD_SHARE = 0.1;
const SHORT = 5000; // ms: delays up to this one are made shorter only, and wait in memory
const SETTLED_WITHIN = 240_000;

/**
 * What a receiver does with an attempt. It notes when that was over, at the earliest (`overFrom`) and at the latest
 * (`overBy`), and what it asked for: `asked`, a wait in ms, or `askedUntil`, a time.
 */
const ANSWERS = {
    missing: (x) => answer(x, 404),
    broken: (x) => answer(x, 500),
    later: (x, random) => {
        x.asked = 1000 + 1000 * Math.floor(random() * 15);
        return answer(x, 503, { 'Retry-After': `${x.asked / 1000}` });
    },
    until: (x, random) => {
        x.askedUntil = Math.ceil(Date.now() / 1000 + random() * 15) * 1000;
        return answer(x, 429, { 'Retry-After': new Date(x.askedUntil).toUTCString() });
    },
    slow: async (x, random) => {
        await Promise.race([sleep(random() * 900), x.gone]);
        await answer(x, 503);
    },
    reset: (x) => {
        x.overFrom = x.overBy = Date.now();
        x.reset();
    },
    silent: async (x) => {
        x.overFrom = x.at;
        await x.gone;
        x.overBy = Date.now();
    },
    taken: (x) => answer(x, 200),
};
const REFUSALS = Object.keys(ANSWERS).filter((name) => name !== 'taken');

async function answer(x, status, fields) {
    x.status = status;
    x.overFrom = Date.now();
    await x.send(status, fields);
    x.overBy = Date.now();
}

const numberOf = (x) => new URL(x.target, 'http://x').searchParams.get('number');
const time = (text) => new Date(text).getTime();

/** How much of [from, to] lies in one of the spans. */
function overlap(spans, from, to) {
    return spans.reduce((sum, span) => sum + Math.max(0, Math.min(to, span[1]) - Math.max(from, span[0])), 0);
}

export class ScheduleLedger {
    #plans = new Map(); // a call's number → the names of its answers, in turn
    #receivers = [];
    /** Run id → the call's number, of calls that were accepted. */
    accepted = new Map();
    /** When senders were dead: `[from, to]`, their starts included. */
    downs = [];
    /** When what had begun at a sender, or waited in its memory, may have been nobody's: the same, and what others need to see it. */
    losses = [];

    /** `delays`: the schedule, ms. `slack`: by how many ms the clocks may differ. */
    static async start(t, { delays, random, slack = 1 }) {
        const ledger = new ScheduleLedger();
        Object.assign(ledger, { delays, random, slack });
        for (let i = 0; i <= DESTINATIONS; i++) {
            const receiver = await Receiver.start(t);
            const isDead = i === DESTINATIONS;
            receiver.script('/hook', (x) => ANSWERS[isDead ? 'reset' : ledger.#next(x)](x, random));
            ledger.#receivers.push(receiver);
        }
        return ledger;
    }

    get #dead() {
        return this.#receivers[DESTINATIONS];
    }

    #next(x) {
        return this.#plans.get(numberOf(x)).shift() ?? 'taken';
    }

    /** Calls whose webhooks are refused a few times, some for good. Those that are not accepted may be nothing. */
    async begin(call, count) {
        const { random, delays } = this;
        const pick = (n) => Math.floor(random() * n);
        await Promise.all(Array.from({ length: count }, async () => {
            const number = `${this.#plans.size}`;
            this.#plans.set(number, Array.from({ length: pick(delays.length + 2) }, () => REFUSALS[pick(REFUSALS.length)]));
            const receiver = random() < DEAD_SHARE ? this.#dead : this.#receivers[pick(DESTINATIONS)];
            const query = { async: 'true', webhookEndpoint: `${receiver.url()}?number=${number}` };
            const response = await call(RUN, { query, body: '{}' }).catch(() => null);
            if (response?.status === 202) this.accepted.set(response.json().run_id, number);
        }));
    }

    /** What came for each run: its requests in the order in which they came, and whether the receiver is the dead one. */
    #arrivals() {
        const runs = new Map([...this.accepted.keys()].map((id) => [id, { requests: [], isDead: false }]));
        for (const receiver of this.#receivers)
            for (const x of receiver.deliveries()) {
                const run = runs.get(x.id) ?? { requests: [] };
                run.requests.push(x);
                run.isDead = receiver === this.#dead;
                runs.set(x.id, run);
            }
        return runs;
    }

    /**
     * Waits until all deliveries are over, and holds each to what the schedule allows. `ask`: of a sender's REST
     * interface. Answers what there was: counts, and by how many ms attempts were late for which there is no excuse.
     */
    async settle(ask) {
        const seen = { deliveries: 0, requests: 0, attempts: 0, cut: 0, dead: 0, rows: 0, asked: 0, late: [] };
        const pending = async () => (await ask('GET', '/v2/projects/p/deliveries?state=pending&limit=1')).json().deliveries;
        const queued = async () => (await ask('GET', '/v2/projects/p/apps/a/runs?limit=200')).json().runs;
        await until('all runs are over', async () => (await queued()).every((run) => run.finished_at), SETTLED_WITHIN);
        await until('all deliveries are over', async () => (await pending()).length === 0, SETTLED_WITHIN);
        for (const [id, run] of this.#arrivals()) {
            const { deliveries } = (await ask('GET', `/v2/projects/p/deliveries?run_id=${id}`)).json();
            assert.equal(deliveries.length, 1, `run ${id} is lost`);
            this.#judge(deliveries[0], run, seen);
        }
        return seen;
    }

    #judge(delivery, { requests, isDead }, seen) {
        const { attempts, state } = delivery;
        const told = JSON.stringify({ delivery, requests: requests.map(({ at, status, asked, askedUntil, overFrom, overBy }) => ({ at, status, asked, askedUntil, overFrom, overBy })) });
        seen.deliveries++;
        seen.requests += requests.length;
        seen.attempts += attempts.length;
        seen.dead += state === 'dead';
        assert.deepEqual(attempts.map(({ n }) => n), attempts.map((_, i) => i + 1), `attempts are missing: ${told}`);
        assert.ok(attempts.length <= this.delays.length + 1, `too many attempts: ${told}`);
        assert.equal(state, attempts.at(-1).outcome === 'delivered' ? 'delivered' : 'dead', told);
        if (state === 'dead') assert.equal(attempts.length, this.delays.length + 1, `given up too early: ${told}`);
        else assert.equal(requests.at(-1).status, 200, `nobody took it: ${told}`);
        this.#match(attempts, requests, told);
        for (const [i, attempt] of attempts.entries()) {
            const before = attempts[i - 1];
            seen.cut += attempt.outcome === 'unknown';
            seen.rows += Boolean(before) && this.delays[i - 1] > SHORT;
            seen.asked += Boolean(attempt.request?.asked ?? attempt.request?.askedUntil);
            if (attempt.request) this.#judgeTime(delivery, attempt, before, isDead, seen, told);
        }
    }

    /** Which attempt a request belongs to: the last one that had begun. Each is sent once; only one that was cut may have never come. */
    #match(attempts, requests, told) {
        for (const x of requests) {
            const attempt = attempts.findLast(({ started_at }) => time(started_at) <= x.at + this.slack);
            assert.ok(attempt, `sent before it was recorded: ${told}`);
            assert.ok(!attempt.request, `an attempt was sent twice: ${told}`);
            attempt.request = x;
        }
        for (const { outcome, request } of attempts)
            assert.ok(request || outcome === 'unknown', `an attempt that nobody saw: ${told}`);
    }

    #judgeTime(delivery, attempt, before, isDead, seen, told) {
        const { at } = attempt.request;
        const isCut = before?.outcome === 'unknown'; // what was answered is not known: the next is due at once
        const last = before?.request;
        let from, by;
        if (!before) from = by = time(delivery.created_at);
        else if (isCut) from = by = time(before.ended_at);
        else {
            const delay = this.delays[before.n - 1], most = Math.max(...this.delays);
            const isHeard = before.status_code === (last.status ?? null); // an answer may have come too late
            const until = isHeard ? last.askedUntil ?? 0 : 0, wait = isHeard ? last.asked ?? 0 : 0;
            const over = isHeard ? last.overBy : Math.max(last.overBy, time(before.ended_at));
            from = last.overFrom + Math.max(delay * 0.8, Math.min(Math.max(wait, until - last.overFrom), most));
            by = over + Math.max(delay <= SHORT ? delay : delay * 1.2, until ? most : Math.min(wait, most));
        }
        assert.ok(at >= from - this.slack, `attempt ${attempt.n} came ${from - at} ms too early: ${told}`);
        const isExcused = isDead || isCut && this.losses !== this.downs;
        if (isExcused) return;
        const isRow = before && !isCut && this.delays[before.n - 1] > SHORT;
        const spans = isRow ? this.downs : this.losses;
        seen.late.push(Math.max(0, at - by - overlap(spans, by, at)));
    }
}
