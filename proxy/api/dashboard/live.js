// live.js - charts and sparklines of what the process itself remembers: its last hour, a sample each ten seconds. They are
// of the span that is looked at as long as it lies in that hour.
import { s } from './dom.js';
import { duration, number } from './format.js';
import { Chart, Group } from './chart.js';

const SPAN = 3_600_000;
const MINUTE = 60_000;
const KEPT = 360; /* samples: an hour */
export const RECENT = 30; /* samples: five minutes */
const SPARK = { width: 96, height: 22 };

const CHARTS = [
    { title: 'Calls per second', columns: ['calls_per_s', 'errors_per_s'], names: ['calls', '5xx'], kinds: ['one', 'failure'], format: number, least: 1 },
    {
        title: 'Latency of synchronous calls',
        columns: ['latency_p50_ms', 'latency_p99_ms'],
        names: ['p50', 'p99'],
        kinds: ['one', 'two'],
        format: duration,
        least: 1,
        isLog: true,
    },
    {
        title: 'In flight',
        columns: ['calls_in_flight', 'runs_in_flight', 'calls_waiting'],
        names: ['calls', 'async runs', 'waiting'],
        kinds: ['one', 'two', 'three'],
        format: number,
        least: 4,
    },
    { title: 'Queued runs', columns: ['runs_queued'], names: ['queued'], kinds: ['one'], format: number, least: 4 },
    { title: 'Longest wait in the queue', columns: ['queue_age_ms'], names: ['oldest'], kinds: ['two'], format: duration, least: 1000, isLog: true },
    {
        title: 'Webhook attempts per minute',
        columns: ['attempts_delivered', 'attempts_retried', 'attempts_dead'],
        names: ['delivered', 'to retry', 'given up'],
        kinds: ['success', 'three', 'failure'],
        format: number,
        least: 4,
        isBars: true,
    },
    { title: 'Pending webhooks', columns: ['deliveries_pending'], names: ['pending'], kinds: ['one'], format: number, least: 4 },
    { title: 'Commits of the store', columns: ['commit_p50_ms', 'commit_p99_ms'], names: ['p50', 'p99'], kinds: ['one', 'two'], format: duration, least: 1, isLog: true },
];

/** The samples that are known, whichever span is looked at. The page is shown with the last minutes, and the rest comes then. */
export const history = {
    samples: null,
    last: 0,
    started: null,
    isWhole: false,

    /** What is to be asked for next. */
    query() {
        return this.samples ? { after: this.isWhole ? this.last : 0 } : { newest: RECENT };
    },

    /** Takes an answer of /v2/now. False: another process has answered than before, and it is to be asked once more. */
    take(now) {
        if (this.started !== now.started_at && this.samples) {
            this.samples = null;
            return false;
        }
        this.started = now.started_at;
        const isNew = !this.isWhole || !this.samples;
        this.isWhole = this.samples !== null;
        this.last = now.last;
        const known = isNew ? null : this.samples;
        this.samples = Object.fromEntries(
            Object.entries(now.samples).map(([name, values]) => [name, [...(known?.[name] ?? []), ...values].slice(-KEPT)]),
        );
        return true;
    },
};

/** The window of that hour that a span shows, or null: it is longer, or earlier. */
export function windowOf({ period, since, until }, nowMs) {
    if (period === 'hour') return { from: nowMs - SPAN, to: nowMs };
    return !period && since >= nowMs - SPAN - MINUTE ? { from: since, to: Math.min(until, nowMs) } : null;
}

export function makeCharts(acts) {
    const group = new Group();
    return CHARTS.map(
        ({ names, kinds, ...options }, i) =>
            new Chart(
                {
                    ...options,
                    id: `live-${i}`,
                    columns: names.map((name, at) => ({ name, kind: kinds[at] })),
                    height: 96,
                    of: ', last hour',
                    tells: 'last',
                    ...acts,
                },
                options.isBars ? new Group() : group,
            ),
    );
}

export function drawCharts(charts, { from, to }, interval) {
    const { samples } = history;
    const first = samples.at.findIndex((ms) => ms > from);
    const of = (name) => (first < 0 ? [] : samples[name].slice(first));
    const at = of('at');
    CHARTS.forEach(({ columns, isBars }, i) => {
        const values = columns.map(of);
        if (isBars) charts[i].draw({ from, to, ...sumMinutes(at, values, from) });
        else charts[i].draw({ from, to, at: at.map((ms) => ms - interval), step: interval, values });
    });
}

/** Whole minutes, with the sums of what is in them. */
function sumMinutes(at, values, from) {
    const minutes = [...new Set(at.map((ms) => Math.floor(ms / MINUTE) * MINUTE))].filter((minute) => minute >= from);
    const sums = values.map((list) =>
        minutes.map((minute) => list.reduce((sum, value, i) => sum + (at[i] >= minute && at[i] < minute + MINUTE ? value : 0), 0)),
    );
    return { at: minutes, step: MINUTE, values: sums };
}

/** The last hour of a figure, small, beside what it is now. */
export function spark(name) {
    const list = history.samples?.[name] ?? [];
    const top = Math.max(1, ...list.map((value) => value ?? 0));
    const { width, height } = SPARK;
    let path = '';
    list.forEach((value, i) => {
        const x = width * (1 - (list.length - 1 - i) / (KEPT - 1));
        if (value !== null) path += `${path && list[i - 1] !== null ? 'L' : 'M'}${x.toFixed(1)} ${(1 + (height - 2) * (1 - value / top)).toFixed(1)}`;
    });
    return s('svg.spark', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' }, s('path.line', { d: path }));
}
