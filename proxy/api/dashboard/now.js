// now.js - how hookline does: ready or what wants a look, figures of the moment, how runs ended (overview.js), charts of
// the last hour.
import * as api from './api.js';
import { Chart } from './chart.js';
import { fill, h, icon, renew } from './dom.js';
import { between, bytes, duration, number, plural, time } from './format.js';
import { showOverview, warningsOf } from './overview.js';
import { showStale } from './stale.js';
import { SLEEP } from './state.js';

const EVERY = 2000;
const KEPT = 360; /* samples: an hour */
const UNKNOWN = 'not known: the database is not reached';
const RATE_MIN = 20; /* calls: a share of fewer says little */

const CHARTS = [
    {
        title: 'Calls per second',
        columns: ['calls_per_s', 'errors_per_s'],
        names: ['calls', '5xx'],
        kinds: ['one', 'failure'],
        format: number,
        least: 1,
    },
    {
        title: 'Latency of synchronous calls',
        columns: ['latency_p50_ms', 'latency_p99_ms'],
        names: ['p50', 'p99'],
        kinds: ['one', 'two'],
        format: duration,
        least: 1,
    },
    {
        title: 'In flight',
        columns: ['calls_in_flight', 'runs_in_flight', 'calls_waiting'],
        names: ['calls', 'async runs', 'waiting'],
        kinds: ['one', 'two', 'three'],
        format: number,
        least: 4,
    },
    {
        title: 'Queued runs',
        columns: ['runs_queued'],
        names: ['queued'],
        kinds: ['one'],
        format: number,
        least: 4,
    },
    {
        title: 'Longest wait in the queue',
        columns: ['queue_age_ms'],
        names: ['oldest'],
        kinds: ['two'],
        format: duration,
        least: 1000,
    },
    {
        title: 'Webhook attempts per minute',
        columns: ['attempts_delivered', 'attempts_retried', 'attempts_dead'],
        names: ['delivered', 'to retry', 'given up'],
        kinds: ['success', 'three', 'failure'],
        format: number,
        least: 4,
        isBars: true,
    },
    {
        title: 'Pending webhooks',
        columns: ['deliveries_pending'],
        names: ['pending'],
        kinds: ['one'],
        format: number,
        least: 4,
    },
    {
        title: 'Commits of the store',
        columns: ['commit_p50_ms', 'commit_p99_ms'],
        names: ['p50', 'p99'],
        kinds: ['one', 'two'],
        format: duration,
        least: 1,
    },
];

export function show(main, route) {
    const problem = h('div');
    const state = h('div');
    const tiles = h('dl.tiles');
    const ended = h('section', { 'aria-labelledby': 'ended' });
    const replicas = h('section', { 'aria-labelledby': 'replicas', hidden: true });
    const charts = CHARTS.map(
        (c) => new Chart({ ...c, series: c.names.map((name, i) => ({ name, kind: c.kinds[i] })) }),
    );
    fill(
        main,
        h('h1', {}, 'Overview'),
        problem,
        state,
        tiles,
        ended,
        replicas,
        h('h2', {}, 'The last hour, live'),
        h(
            'div.charts',
            {},
            charts.map(({ figure }) => figure),
        ),
    );

    let samples = null,
        last = 0,
        started = null,
        drawnAt = null,
        others = null,
        overview = null, // nothing is known of what wants somebody before it has been asked for
        looks = 0,
        shown = null;

    async function turn(signal) {
        const now = await api.get('/v2/now', { query: { after: last }, signal });
        if (now.started_at !== started) {
            // Another process than before: its samples are numbered anew.
            const isOther = started !== null && last > 0;
            started = now.started_at;
            samples = drawnAt = null;
            last = 0;
            if (isOther) return turn(signal);
        }
        keep(now);
        shown = now;
        if (overview || looks++ > 0) showState(state, now, samples, overview ?? {});
        fill(tiles, showTiles(now));
        if (now.store === 'postgres' && api.seesAll()) await showOthers(signal);
        if (drawnAt !== now.last)
            charts.forEach((chart, i) =>
                chart.draw({
                    at: samples.at,
                    now: Date.parse(now.now),
                    values: CHARTS[i].columns.map((name) => samples[name]),
                }),
            );
        drawnAt = now.last;
    }

    async function showOthers(signal) {
        const { showReplicas } = await import('./replicas.js');
        if (others || signal.aborted) return;
        replicas.hidden = false;
        others = showReplicas(replicas);
    }

    function keep(now) {
        last = now.last;
        samples ??= Object.fromEntries(Object.keys(now.samples).map((name) => [name, []]));
        for (const [name, values] of Object.entries(now.samples))
            samples[name] = [...samples[name], ...values].slice(-KEPT);
    }

    function onError(error, at) {
        showStale(problem, 'These figures are', error, at);
    }

    function onOverview(answer) {
        overview = answer;
        if (shown) showState(state, shown, samples, overview ?? {});
    }

    const polling = api.poll(EVERY, turn, onError);
    const counting = showOverview(ended, route, onOverview);
    return () => {
        polling.stop();
        counting.stop();
        others?.stop();
    };
}

/** What needs a look, in words: beside what makes /readyz fail. */
function findWarnings({ current, interval_ms: interval }, samples, overview) {
    const sum = (name, count) => samples[name].slice(-count).reduce((a, b) => a + b, 0);
    const warnings = warningsOf(overview);
    const recent = 30; /* five minutes */
    const calls = sum('calls_per_s', recent),
        errors = sum('errors_per_s', recent);
    if (calls * interval >= RATE_MIN * 1000 && errors / calls >= 0.05)
        warnings.push(
            h(
                'span',
                {},
                h('a', { href: '#/runs?state=failure&time=3600' }, `${Math.round((100 * errors) / calls)} % of the calls`),
                ' in the last five minutes were answered with a 5xx status.',
            ),
        );
    if (current.log_lines_dropped)
        warnings.push(
            `${plural(current.log_lines_dropped, 'line')} of the log dropped since the start: nobody reads it, or it cannot be written.`,
        );
    if (current.queue_age_ms > 60_000)
        warnings.push(
            `The oldest queued run has waited for ${duration(current.queue_age_ms)}: runs come in faster than the app works.`,
        );
    if (current.webhooks_lost)
        warnings.push(
            `${plural(current.webhooks_lost, 'webhook')} of synchronous calls could not be stored since the start: see the log.`,
        );
    if (current.async_refused)
        warnings.push(
            `${plural(current.async_refused, 'asynchronous call')} refused since the start: a queue or the disk was full, or the store failed.`,
        );
    return warnings;
}

function showState(element, now, samples, overview) {
    const warnings = findWarnings(now, samples, overview);
    const kind = now.ready ? (warnings.length ? 'warning' : 'success') : 'failure';
    const title = now.ready
        ? warnings.length
            ? 'Ready, with something to look at'
            : 'Ready: calls are accepted'
        : 'Not ready';
    const lines = [...now.problems.map((text) => `${text[0].toUpperCase()}${text.slice(1)}.`), ...warnings];
    const made = h(
        `section.state.is-${kind}`,
        { 'aria-label': 'Readiness' },
        h('p.state-title', {}, icon(kind), title),
        lines.length
            ? h(
                  'ul',
                  {},
                  lines.map((line) => h('li', {}, line)),
              )
            : null,
        now.app_state ? h('p', {}, `${SLEEP[now.app_state]} since `, time(now.app_since), '.') : null,
        now.left ? h('p', {}, `What is left: ${now.left}.`) : null,
        h(
            'p.sub',
            {},
            `hookline ${now.version}, up for ${duration(between(now.started_at, now.now))}, since `,
            time(now.started_at, { style: 'short' }),
        ),
    );
    const known = element.firstChild;
    if (!known) return fill(element, made);
    known.className = made.className;
    renew(known, [...made.children]);
}

function showTiles({ current, store }) {
    const tile = (name, value, more) =>
        h('div', {}, h('dt', {}, name), h('dd', {}, value, more && h('span.sub', {}, more)));
    return [
        tile(
            'Calls in flight',
            number(current.calls_in_flight),
            `${plural(current.connections_open, 'connection')} open`,
        ),
        tile(
            'Async runs in the app',
            number(current.runs_in_flight),
            current.calls_waiting ? `${current.calls_waiting} calls wait for it` : null,
        ),
        tile(
            'Queued runs',
            number(current.runs_queued),
            current.runs_queued === null ? UNKNOWN : current.runs_queued ? `oldest: ${duration(current.queue_age_ms)}` : null,
        ),
        tile(
            'Pending webhooks',
            number(current.deliveries_pending),
            current.deliveries_pending === null ? UNKNOWN : current.deliveries_pending ? `oldest: ${duration(current.delivery_age_ms)}` : null,
        ),
        tile(
            'Store',
            store === 'sqlite' ? bytes(current.store_bytes) : store,
            store === 'memory' ? 'gone with the process' : null,
        ),
        tile('Memory', bytes(current.resident_bytes)),
    ];
}
