// overview.js - how runs ended and how long they took, over a span that is chosen: from the store, so it is true after
// a restart. Below it the destinations that fail.
import * as api from './api.js';
import { fill, h, renew } from './dom.js';
import { takeCounts } from './counts.js';
import { duration, number, plural, time, visible } from './format.js';
import { Series } from './series.js';
import { showStale } from './stale.js';
import { REASONS } from './state.js';
import { addStyle } from './stylesheet.js';

await addStyle('overview.css');

const EVERY = 10_000;
const SLOW = 60_000; /* a long span changes little from look to look */
const PERIODS = { hour: 'Last hour', day: 'Last day', retention: 'All that is kept' };

const CHARTS = [
    {
        title: 'Runs ended',
        columns: [
            { name: 'success', kind: 'success', of: 'success' },
            { name: 'failure', kind: 'failure', of: 'failure' },
            { name: 'cancelled', kind: 'three', of: 'cancelled' },
        ],
        format: number,
        least: 4,
        isBars: true,
    },
    {
        title: 'Run time',
        columns: [
            { name: 'p50', kind: 'one', of: 'run_p50_ms' },
            { name: 'p99', kind: 'two', of: 'run_p99_ms' },
        ],
        format: duration,
        least: 1,
    },
    {
        title: 'Queue wait',
        columns: [
            { name: 'p50', kind: 'one', of: 'queued_p50_ms' },
            { name: 'p99', kind: 'two', of: 'queued_p99_ms' },
        ],
        format: duration,
        least: 1,
    },
];

/** Fills `section`; `onOverview` gets each answer. Answers `{ stop }`. */
export function showOverview(section, route, onOverview) {
    const period = Object.hasOwn(PERIODS, route.query.period) ? route.query.period : 'hour';
    const problem = h('div');
    const since = h('p.hint');
    const tiles = h('dl.tiles');
    const reasons = h('div');
    const apps = h('div.scroll', { tabindex: 0, role: 'region', 'aria-label': 'Runs by app' });
    const failing = h('section', { 'aria-labelledby': 'failing', hidden: true });
    const charts = CHARTS.map((options) => new Series(options));
    fill(
        section,
        h('div.title-row', {}, h('h2', { id: 'ended' }, 'How runs ended'), showPeriods(period)),
        problem,
        since,
        tiles,
        h('div.charts', {}, charts.map(({ figure }) => figure)),
        reasons,
        apps,
        failing,
    );

    async function turn(signal) {
        const overview = await api.get('/overview', { query: { period }, signal });
        takeCounts(overview);
        onOverview(overview);
        fill(since, showSince(overview));
        renew(tiles, showTiles(overview.total, period));
        charts.forEach((chart) => chart.draw(overview.series));
        renew(reasons, showReasons(overview.total, period));
        renewTable(apps, showApps(overview, period));
        showFailing(failing, overview.destinations);
        return period === 'hour' ? EVERY : SLOW;
    }

    return api.poll(EVERY, turn, (error, at) => showStale(problem, 'These figures are', error, at));
}

function showPeriods(chosen) {
    const go = (period) => (location.hash = period === 'hour' ? '#/now' : `#/now?period=${period}`);
    const tabs = Object.entries(PERIODS).map(([period, text]) =>
        h(
            'button.tab',
            { type: 'button', id: `period-${period}`, 'aria-pressed': String(period === chosen), onclick: () => go(period) },
            text,
        ),
    );
    return h('div.tabs', { role: 'group', 'aria-label': 'Time' }, tabs);
}

/** The focus, and how far it was scrolled, stay. */
function renewTable(place, table) {
    renew(place, table ? [table] : []);
    place.hidden = !table;
}

/** Since when there is something to count: later than asked for after an upgrade, or on a new store. */
function showSince({ since, counted_since: counted }) {
    const isLate = Date.parse(counted) - Date.parse(since) > 60_000;
    return [isLate ? 'Counted since ' : 'Since ', time(isLate ? counted : since), ', synchronous calls included. Times to within 3 %.'];
}

function tile(name, value, more) {
    return h('div', {}, h('dt', {}, name), h('dd', {}, value, more && h('span.sub', {}, more)));
}

function share(n, of) {
    const percent = (100 * n) / of;
    return percent > 0 && percent < 0.1 ? '< 0.1 %' : `${Number(percent.toFixed(1))} %`;
}

function showTiles({ runs, sync, async: asynchronous, states, run_ms: run, queued_ms: queued }, period) {
    const failed = states.failure ? h('a', { href: runsOf({ state: 'failure' }, period) }, number(states.failure)) : '0';
    const tail = ({ p90, p99 }) => `p90 ${duration(p90)}, p99 ${duration(p99)}`;
    return [
        tile('Runs ended', number(runs), runs ? `${number(sync)} synchronous, ${number(asynchronous)} asynchronous` : null),
        tile('Failed', failed, runs ? share(states.failure, runs) : null),
        tile('Cancelled', number(states.cancelled)),
        tile('Run time, p50', duration(run.p50), run.count ? tail(run) : null),
        tile('Queue wait, p50', duration(queued.p50), queued.count ? tail(queued) : null),
    ];
}

const TIMES = { hour: '3600', day: '86400' };

/** The list of those that are counted here. */
function runsOf(filter, period) {
    return `#/runs?${new URLSearchParams({ ...filter, ...(TIMES[period] && { time: TIMES[period] }) })}`;
}

function showReasons({ states, reasons }, period) {
    const most = Object.entries(reasons)
        .filter(([, n]) => n)
        .sort(([, a], [, b]) => b - a);
    if (!most.length) return [];
    return [
        h('h3', { id: 'reasons' }, 'Failures by reason'),
        h(
            'ul.reasons',
            { 'aria-labelledby': 'reasons' },
            most.map(([reason, n]) =>
                h(
                    'li',
                    { title: REASONS[reason] },
                    h('a', { href: runsOf({ state: 'failure', reason }, period) }, reason),
                    h('span', { 'aria-hidden': 'true' }, meter(n / states.failure)),
                    h('b.num', {}, number(n)),
                ),
            ),
        ),
    ];
}

/** A share of a width; the page's rules allow no style of an element's own, a length of a progress is none. */
function meter(part) {
    return h('progress', { value: part.toFixed(3), max: 1, tabindex: -1, 'aria-hidden': 'true' });
}

const HEADS = ['App', 'Runs', 'Failed', 'Run time p50', 'p90', 'p99', 'Queue wait p50', 'p90', 'p99'];

function showApps({ apps, is_more_apps: isMore }, period) {
    if (!apps.length) return null;
    const cell = (text) => h('td.num', {}, text);
    const times = ({ p50, p90, p99 }) => [p50, p90, p99].map((ms) => cell(duration(ms)));
    const rows = apps
        .sort((a, b) => b.runs - a.runs)
        .map((app) =>
            h(
                'tr',
                {},
                h('th', { scope: 'row' }, h('a', { href: runsOf({ app: app.app_name }, period) }, visible(app.app_name))),
                cell(number(app.runs)),
                cell(app.states.failure ? `${number(app.states.failure)} (${share(app.states.failure, app.runs)})` : '0'),
                times(app.run_ms),
                times(app.queued_ms),
            ),
        );
    return h(
        'table.apps',
        {},
        h('caption.hidden', {}, `Runs by app${isMore ? '; some are left out' : ''}`),
        h('thead', {}, h('tr', {}, HEADS.map((text, i) => h(i ? 'th.num' : 'th', { scope: 'col' }, text)))),
        h('tbody', {}, rows),
    );
}

function showFailing(section, destinations) {
    section.hidden = !destinations?.failing;
    if (section.hidden) return;
    const { failing, worst } = destinations;
    const made = [
        h('h2', { id: 'failing' }, plural(failing, 'failing destination')),
        h(
            'ul.failing',
            {},
            worst.map((row) =>
                h(
                    'li',
                    {},
                    h('a', { href: listOf(row) }, visible(row.destination)),
                    h('span', {}, ' since ', time(row.failing_since), `: ${plural(row.pending, 'webhook')} pending, ${plural(row.dead, 'dead letter')}`),
                    row.last_error ? h('span.sub.error', {}, `Last error: ${visible(row.last_error)}`) : null,
                ),
            ),
        ),
        failing > worst.length ? h('p', {}, h('a', { href: '#/destinations' }, 'All destinations')) : null,
    ].filter(Boolean);
    renew(section, made);
}

/** Where what waits for it is listed, or else what was given up. */
function listOf({ destination, pending }) {
    return `#/deliveries?${new URLSearchParams({ state: pending ? 'pending' : 'dead', to: destination })}`;
}

/** What of it wants somebody's attention, in lines with the way to what they speak of. */
export function warningsOf({ deliveries, destinations, replicas }) {
    const warnings = [];
    const link = (href, text) => h('a', { href }, text);
    if (deliveries?.dead)
        warnings.push(
            h(
                'span',
                {},
                link('#/deliveries?state=dead', `${deliveries.is_more_dead ? 'More than ' : ''}${plural(deliveries.dead, 'dead letter')}`),
                ': webhooks that were given up and nobody has sent again.',
            ),
        );
    if (destinations?.failing)
        warnings.push(
            h(
                'span',
                {},
                link('#/destinations', plural(destinations.failing, 'destination')),
                ` of webhooks ${destinations.failing === 1 ? 'does' : 'do'} not answer.`,
            ),
        );
    const silent = (replicas ?? []).filter(({ state }) => state === 'silent');
    if (silent.length)
        warnings.push(`${plural(silent.length, 'replica')} ${silent.length === 1 ? 'is' : 'are'} silent: ${silent.map(({ name }) => visible(name)).join(', ')}.`);
    return warnings;
}
