// limits.mjs - limits that three replicas share, under an open load: how many calls got in of those that a rate, or a
// max_running, allows, and how often the database was asked. README.md has what it said last.
import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from '../../integration/lib/case.mjs';
import { postgres } from '../../integration/lib/postgres.mjs';
import { fleet } from '../../integration/lib/replicas.mjs';
import { sleep } from '../../integration/lib/until.mjs';
import { RUN } from '../../integration/lib/stage.mjs';

const TICK_MS = 5;
const EVEN = [34, 33, 33];
const UNEVEN = [80, 15, 5];

/** `rate`, calls a second, in which parts of 100 at the three, for how many seconds; how many the rate allows in that time. */
const ROWS = [
    { rate: '1000/s', per_s: 1000, parts: EVEN, s: 10, allowed: Infinity },
    { rate: '1000/s', per_s: 1500, parts: EVEN, s: 10, allowed: 10 * 1000 },
    { rate: '1000/s', per_s: 1500, parts: UNEVEN, s: 10, allowed: 10 * 1000 },
    { rate: '60000/m', per_s: 1000, parts: EVEN, s: 10, allowed: Infinity },
    { rate: '60000/m', per_s: 1000, parts: UNEVEN, s: 10, allowed: Infinity },
    { rate: '6000/m', per_s: 1000, parts: EVEN, s: 10, allowed: 6000 },
    { rate: '6000/m', per_s: 1000, parts: UNEVEN, s: 10, allowed: 6000 },
];

/** `max_running`, how long each call is inside, calls a second, in which parts at the three. */
const AT_ONCE = [
    { max_running: 60, inside_ms: 20, per_s: 1000, parts: EVEN, s: 10 },
    { max_running: 30, inside_ms: 20, per_s: 1000, parts: EVEN, s: 10 },
    { max_running: 30, inside_ms: 20, per_s: 1000, parts: UNEVEN, s: 10 },
    { max_running: 15, inside_ms: 20, per_s: 1000, parts: EVEN, s: 10 },
    { max_running: 15, inside_ms: 20, per_s: 1000, parts: UNEVEN, s: 10 },
    { max_running: 2, inside_ms: 2, per_s: 300, parts: EVEN, s: 10 },
];

const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });

/** The status, and how long it took, ms. */
function call(port, token) {
    const began = performance.now();
    return new Promise((resolve, reject) => {
        const options = { port, path: RUN, agent, method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-length': 2 } };
        const request = http.request({ host: '127.0.0.1', ...options }, (response) => {
            response.resume();
            response.on('end', () => resolve({ status: response.statusCode, ms: performance.now() - began }));
        });
        request.on('error', reject);
        request.end('{}');
    });
}

const at = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];

async function play(replicas, token, { per_s, parts, s }, onAnswer = () => {}) {
    const calls = [];
    const began = performance.now();
    const whose = (n) => {
        const point = (n * 37) % 100;
        return point < parts[0] ? 0 : point < parts[0] + parts[1] ? 1 : 2;
    };
    for (let ms = 0; ms < 1000 * s; ms = performance.now() - began) {
        const due = Math.floor((Math.min(ms + TICK_MS, 1000 * s) * per_s) / 1000);
        while (calls.length < due) calls.push(call(replicas[whose(calls.length)].sidecar.port, token).then((end) => (onAnswer(end), end)));
        await sleep(TICK_MS);
    }
    const ended = await Promise.all(calls);
    const ms = ended.map((e) => e.ms).sort((a, b) => a - b);
    for (const { status } of ended) assert.ok(status === 200 || status === 429, `${status}`);
    const took = (performance.now() - began) / 1000;
    return { n: ended.length, took, admitted: ended.filter((e) => e.status === 200).length, p50: at(ms, 0.5), p99: at(ms, 0.99) };
}

const pad = (cells) => cells.map((c, i) => (i === 0 || i === 2 ? `${c}`.padEnd(9) : `${c}`.padStart(9))).join(' ');

test('rates of three replicas', { limit: 300_000 }, async (t) => {
    const all = await fleet(t, { database: await postgres(t), env: { HOOKLINE_AUTH: 'jwt', HOOKLINE_REPLICA_TTL: '60s', HOOKLINE_LOG_LEVEL: 'warn' } });
    const replicas = [await all.add('a'), await all.add('b'), await all.add('c')];
    const metric = async (name) => (await Promise.all(replicas.map((r) => r.sidecar.metric(name)))).reduce((a, b) => a + b, 0);
    console.log(pad(['rate', 'calls/s', 'spread', 'calls', 'admitted', 'over %', 'short %', 'asked', 'per 100', 'p50 ms', 'p99 ms']));
    for (const row of ROWS) {
        const body = { name: 'bench', expires_at: new Date(Date.now() + 3_600_000).toISOString(), rate: row.rate };
        const { token } = (await replicas[0].ask('POST', '/v2/projects/p/service-accounts', { body })).json();
        for (const replica of replicas) await call(replica.sidecar.port, token); // connections, and the token is known
        await sleep(row.rate.endsWith('/s') ? 1100 : 0);
        const before = await metric('hookline_rate_questions_total');
        const r = await play(replicas, token, row);
        const asked = (await metric('hookline_rate_questions_total')) - before;
        const used = row.rate.endsWith('/s') ? 0 : replicas.length; // by the first call at each, in the same window
        const allowed = Math.min(row.allowed - used, r.n);
        const over = (100 * Math.max(0, r.admitted - allowed)) / allowed;
        const short = (100 * Math.max(0, allowed - r.admitted)) / allowed;
        console.log(pad([row.rate, (r.n / r.took).toFixed(0), row.parts === EVEN ? 'even' : '80:15:5', r.n, r.admitted, over.toFixed(2), short.toFixed(2),
            asked, ((100 * asked) / r.n).toFixed(2), r.p50.toFixed(1), r.p99.toFixed(1)]));
    }
    assert.equal(await metric('hookline_rate_shares'), 0);
});

/** The app of all replicas: how many calls are in it, and how many were at most. */
class Hall {
    inside = 0;
    most = 0;
    inside_ms = 0;

    async visit(x) {
        await x.body();
        this.most = Math.max(this.most, ++this.inside);
        await sleep(this.inside_ms);
        this.inside--;
        await x.send(200, {}, 'ok');
    }
}

test('calls at once of three replicas', { limit: 300_000 }, async (t) => {
    const hall = new Hall();
    const env = { HOOKLINE_AUTH: 'jwt', HOOKLINE_REPLICA_TTL: '60s', HOOKLINE_LOG_LEVEL: 'warn' };
    const all = await fleet(t, { database: await postgres(t), env, app: (x) => hall.visit(x) });
    const replicas = [await all.add('a'), await all.add('b'), await all.add('c')];
    const metric = async (name) => (await Promise.all(replicas.map((r) => r.sidecar.metric(name)))).reduce((a, b) => a + b, 0);
    console.log(pad(['running', 'calls/s', 'spread', 'calls', 'admitted', 'most', 'over %', 'needless', 'asked', 'per 100', 'p50 ms', 'p99 ms']));
    for (const row of AT_ONCE) {
        const body = { name: 'bench', expires_at: new Date(Date.now() + 3_600_000).toISOString(), max_running: row.max_running };
        const { token } = (await replicas[0].ask('POST', '/v2/projects/p/service-accounts', { body })).json();
        for (const replica of replicas) await call(replica.sidecar.port, token); // connections, and the token is known
        Object.assign(hall, { most: 0, inside_ms: row.inside_ms });
        const before = await metric('hookline_permit_questions_total');
        let needless = 0; // refused while fewer were inside
        const r = await play(replicas, token, row, ({ status }) => (needless += status === 429 && hall.inside < row.max_running));
        const asked = (await metric('hookline_permit_questions_total')) - before;
        const over = (100 * Math.max(0, hall.most - row.max_running)) / row.max_running;
        console.log(pad([row.max_running, (r.n / r.took).toFixed(0), row.parts === EVEN ? 'even' : '80:15:5', r.n, r.admitted, hall.most, over.toFixed(2),
            needless, asked, ((100 * asked) / r.n).toFixed(2), r.p50.toFixed(1), r.p99.toFixed(1)]));
        assert.ok(hall.most <= row.max_running);
    }
});
