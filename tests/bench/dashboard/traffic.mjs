// traffic.mjs - what a busy week looks like: apps, how long their runs take and as what they fail, tags, receivers of
// webhooks. Numbers come from a seed: the same week each time.

/** Numbers from 0 to 1, the same ones each time (xorshift). */
export function chance(seed = 7) {
    let x = seed;
    return () => {
        x ^= x << 13;
        x ^= x >>> 17;
        x ^= x << 5;
        return (x >>> 0) / 2 ** 32;
    };
}

/** `ms`: the half of its runs takes less. `errors`: of a thousand runs so many end as `[status, type, body]`; no status: the app hangs up. */
const JSON_TYPE = 'application/json';
const problem = (detail) => JSON.stringify({ detail });
const APPS = {
    words: { weight: 30, ms: 4, path: '/run', isSync: 0.5, errors: [[3, 422, JSON_TYPE, problem('text: field required')]] },
    embed: { weight: 22, ms: 9, path: '/v1/embeddings', isSync: 0.7, errors: [[4, 429, JSON_TYPE, '{"error":{"message":"Rate limit reached for model text-small"}}']] },
    pictures: {
        weight: 14, ms: 40, path: '/run',
        errors: [
            [25, 500, JSON_TYPE, '{"error":"CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.65 GiB total capacity)"}'],
            [6, 400, JSON_TYPE, problem('prompt is longer than 77 tokens')],
            [2, null],
        ],
    },
    checkout: {
        weight: 10, ms: 14, path: '/orders/confirm', isWebhook: 0.9,
        errors: [
            [8, 502, 'text/plain', 'payments.internal: 502 Bad Gateway\n  at charge (/app/charge.js:88:11)'],
            [5, 409, JSON_TYPE, '{"title":"Order is paid already","status":409}'],
        ],
    },
    reports: { weight: 6, ms: 90, path: '/monthly/render', errors: [[12, 500, 'text/plain', 'Traceback (most recent call last):\nKeyError: \'total\'']] },
    mail: { weight: 6, ms: 20, path: '/send', isWebhook: 0.5, errors: [[9, 503, JSON_TYPE, '{"message":"451 4.7.1 Greylisted, try again in 300 seconds"}']] },
    speech: { weight: 4, ms: 70, path: '/transcribe', errors: [[15, 500, JSON_TYPE, '{"error":"ffmpeg exited with 1: Invalid data found when processing input"}']] },
    search: { weight: 3, ms: 3, path: '/query', isSync: 0.9, errors: [] },
    thumbnails: { weight: 2, ms: 12, path: '/run', errors: [[4, 500, 'text/html', '<html><body><h1>Internal Server Error</h1></body></html>']] },
    'invoice-pdf': { weight: 1.5, ms: 30, path: '/run', isWebhook: 1, errors: [[20, 500, JSON_TYPE, problem('template invoice_de.html not found')]] },
    'nightly-import': { weight: 1, ms: 110, path: '/run', errors: [[40, 500, 'text/plain', 'psycopg.errors.DeadlockDetected: deadlock detected']] },
};
const NAMES = Object.keys(APPS);

/** More go wrong in a part of the week: `from` and `to` are hours before its end. */
const INCIDENTS = [
    { app: 'pictures', from: 27, to: 25.5, factor: 18 },
    { app: 'checkout', from: 0.35, to: 0, factor: 40 },
    { app: 'nightly-import', from: 100, to: 96, factor: 12 },
];

const TIERS = ['gold', 'silver', 'free', 'free'];
const REGIONS = ['eu-1', 'eu-2', 'us-1'];

/** The run after the last: `hours` before the end of the week. */
export function makeRun(next, number, hours) {
    const name = pick(next, NAMES, (one) => APPS[one].weight);
    const app = APPS[name];
    const factor = INCIDENTS.find((i) => i.app === name && hours <= i.from && hours >= i.to)?.factor ?? 1;
    const end = draw(next, app.errors, factor);
    const ms = Math.round(app.ms * Math.exp(1.1 * (next() + next() + next() - 1.5)) * (factor > 1 ? 2 : 1));
    const isSync = next() < (app.isSync ?? 0.1);
    const order = 10_000 + number;
    return {
        app: name,
        path: app.path,
        isSync,
        body: { order, ms, end, text: `order ${order}` },
        tags: `tier=${pick(next, TIERS)}, region=${pick(next, REGIONS)}, order=${order}`,
        receiver: next() < (app.isWebhook ?? 0.15) ? pick(next, RECEIVERS, (one) => one.weight).name : null,
        isCancelled: !isSync && next() < 0.004,
        timeout: next() < 0.002 ? '20ms' : null,
    };
}

/** As what the run ends, by the number that the app is told: an error of its app's; -1: well. */
function draw(next, errors, factor) {
    let at = next() * 1000;
    return errors.findIndex(([parts]) => (at -= parts * factor) < 0);
}

function pick(next, list, weigh = () => 1) {
    let at = next() * list.reduce((sum, one) => sum + weigh(one), 0);
    return list.find((one) => (at -= weigh(one)) < 0) ?? list.at(-1);
}

/** What the app answers, or null: it hangs up. */
export function answerOf(name, { end, order }) {
    if (end < 0) return { status: 200, type: JSON_TYPE, body: JSON.stringify({ order, done: true }) };
    const [, status, type, body] = APPS[name].errors[end];
    return status && { status, type, body };
}

/** They are told apart by their paths: two have one host. `downFrom`: so many hours before the end it is down, and stays so. */
export const RECEIVERS = [
    { name: 'orders', weight: 6, path: '/hooks/orders', host: 0 },
    { name: 'billing', weight: 3, path: '/hooks/billing', host: 0 },
    { name: 'crm', weight: 3, path: '/in/events', host: 1, fails: 0.05 },
    { name: 'warehouse', weight: 1, path: '/notify', host: 2, downFrom: 3 },
    { name: 'old-partner', weight: 0.3, path: '/gone', host: 3, status: 410 },
];

/**
 * When the calls come: `[hours before the end, how many runs there are then]`, the oldest first. The last hour is told by
 * the minute; each day has a night.
 */
export function makeSteps(runs, days) {
    const steps = [];
    const add = (from, to, hours, weight) => {
        for (let at = from; at > to + 1e-9; at -= hours) steps.push([at, hours * weight * (1 + 0.7 * Math.sin((at / 24) * 2 * Math.PI))]);
    };
    add(24 * days, 24, 0.5, 1);
    add(24, 1, 1 / 12, 1.4);
    add(1, 0, 1 / 60, 2.5);
    const all = steps.reduce((sum, [, weight]) => sum + weight, 0);
    let sum = 0;
    return steps.map(([at, weight]) => [at, Math.round((runs * (sum += weight)) / all)]);
}
