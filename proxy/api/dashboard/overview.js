// overview.js - how runs ended and how long they took, over the span that is chosen: from the store, so it is true after
// a restart. Below it why they failed, the apps, and the destinations that fail.
import * as api from './api.js';
import { Chart, Group } from './chart.js';
import { takeCounts } from './counts.js';
import { addStyle, fill, h, note, renew } from './dom.js';
import { duration, number, plural, time, visible } from './format.js';
import { askFor, runsOf } from './span.js';
import { showStale } from './stale.js';
import { REASONS } from './state.js';

await addStyle('overview.css');

const EVERY = 10_000;
const LARGE = 30_000; /* an answer of six series for one, or of many apps */
const MANY = 50; /* apps */
const SLOW = 60_000; /* a long span changes little from look to look */
const SLOWER = 300_000; /* and each failure in it is looked at */
const ROWS = 10;
const ERRORS = 5;
const REST = 'rest';

const COUNTS = { format: number, least: 4, isBars: true };
const TIMES = { format: duration, least: 1, isLog: true };
const STATES = ['success', 'failure', 'cancelled'];

/** `of`: of which members of the series. */
const CHARTS = [
    {
        ...COUNTS,
        id: 'chart-ended',
        title: 'Runs ended',
        height: 222,
        size: 'is-wide',
        columns: [
            { name: 'success', kind: 'success', of: ['success'] },
            { name: 'failure', kind: 'failure', of: ['failure'] },
            { name: 'cancelled', kind: 'three', of: ['cancelled'] },
        ],
    },
    {
        ...TIMES,
        id: 'chart-run',
        title: 'Run time',
        columns: [
            { name: 'p50', kind: 'one', of: ['run_p50_ms'] },
            { name: 'p99', kind: 'two', of: ['run_p99_ms'] },
        ],
    },
    {
        ...TIMES,
        id: 'chart-wait',
        title: 'Queue wait',
        columns: [
            { name: 'p50', kind: 'one', of: ['queued_p50_ms'] },
            { name: 'p99', kind: 'two', of: ['queued_p99_ms'] },
        ],
    },
];

/** The same and more, with a series an app. */
const APP_CHARTS = [
    { ...COUNTS, id: 'chart-ended', title: 'Runs ended', height: 222, size: 'is-wide', of: STATES },
    { ...TIMES, id: 'chart-run', title: 'Run time, p50', of: ['run_p50_ms'] },
    { ...TIMES, id: 'chart-wait', title: 'Queue wait, p50', of: ['queued_p50_ms'] },
    { ...COUNTS, id: 'chart-failed', title: 'Runs failed', size: 'is-broad', of: ['failure'] },
    { ...TIMES, id: 'chart-run-tail', title: 'Run time, p99', of: ['run_p99_ms'] },
    { ...TIMES, id: 'chart-wait-tail', title: 'Queue wait, p99', of: ['queued_p99_ms'] },
];

/** Fills `section` with charts and `lists` with the apps and what fails; `acts`: what charts do; `onOverview` gets each answer. Answers `{ stop }`. */
export function showOverview(section, lists, span, acts, onOverview) {
    const problem = h('div');
    const since = h('p.hint');
    const tiles = h('dl.tiles', { 'aria-label': 'Of the span' });
    const charts = h('div.charts');
    const errors = h('section.card.errors', { 'aria-labelledby': 'errors' });
    const reasons = h('section.card', { 'aria-labelledby': 'reasons' });
    const apps = h('section', { hidden: true });
    const failing = h('section', { 'aria-labelledby': 'failing', hidden: true });
    fill(section, h('div.title-row', {}, h('h2', { id: 'ended' }, 'How runs ended'), since), problem, tiles, charts);
    fill(lists, apps, failing);
    const drawings = new Drawings(charts, [errors, reasons], acts);

    async function turn(signal) {
        const query = { ...askFor(span), ...(span.isByApp && { by: 'app' }) };
        const overview = await api.get('/overview', { query, signal }).catch((error) => {
            if (error.status !== 400) throw error;
            return null;
        });
        for (const element of [since, tiles, charts, lists]) element.hidden = !overview;
        if (!overview) return showGone(problem);
        takeCounts(overview);
        onOverview(overview);
        fill(since, showSince(overview));
        renew(tiles, showTiles(overview.total, span));
        drawings.draw(overview);
        renew(reasons, showReasons(overview.total, span));
        showApps(apps, overview, span);
        showFailing(failing, overview.destinations);
        if (span.period !== 'hour') return SLOW;
        return span.isByApp || overview.apps.length > MANY ? LARGE : EVERY;
    }

    async function turnErrors(signal) {
        const top = await api.get('/errors', { query: askFor(span), signal });
        showErrors(errors, top, span);
        return span.period === 'hour' ? SLOW : SLOWER;
    }

    const polling = api.poll(EVERY, turn, (error, at) => showStale(problem, 'These figures are', error, at));
    const erring = api.poll(SLOW, turnErrors, () => {}); // the figures beside it say that there is no answer
    return {
        stop() {
            polling.stop();
            erring.stop();
        },
    };
}

/** A link may be older than what it is of. */
function showGone(place) {
    const back = h('a', { href: '#/overview?period=retention' }, 'All that is kept');
    fill(place, note('empty', 'Nothing is kept of this span', h('p', {}, 'It ended before the oldest run that is kept, or it has not begun.'), back));
    return SLOW;
}

/** The charts, which are others once apps are told apart, in one grid with `beside`. */
class Drawings {
    #place;
    #beside;
    #acts;
    #charts = [];
    #names = null; // what they are drawn for

    constructor(place, beside, acts) {
        this.#place = place;
        this.#beside = beside;
        this.#acts = acts;
    }

    draw({ series, series_by_app: apps }) {
        const at = series.at.map((text) => Date.parse(text));
        const step = series.step_seconds * 1000;
        this.#make(apps);
        for (const { chart, options } of this.#charts) {
            const values = apps ? apps.map((app) => sum(app, options.of)) : options.columns.map(({ of }) => sum(series, of));
            chart.draw({ at, step, from: at[0], to: at.at(-1) + step, values });
        }
    }

    #make(apps) {
        const names = JSON.stringify(apps?.map((app) => [app.project_id, app.app_name]) ?? null);
        if (names === this.#names) return;
        this.#names = names;
        const columns = apps?.map(({ app_name: app }, i) => ({ name: app === null ? 'others' : visible(app), kind: `app-${app === null ? REST : i}` }));
        const group = new Group();
        this.#charts = (apps ? APP_CHARTS : CHARTS).map((options) => ({
            options,
            chart: new Chart({ columns, ...options, of: apps && ' by app', tells: 'highest', ...this.#acts }, group),
        }));
        for (const { chart, options } of this.#charts) if (options.size) chart.figure.classList.add(options.size);
        const [ended, ...others] = this.#charts.map(({ chart }) => chart.figure);
        fill(this.#place, ended, this.#beside, others);
    }
}

/** Of members of a series, point by point. */
function sum(series, members) {
    const [first, ...others] = members.map((name) => series[name]);
    return others.length ? first.map((value, i) => others.reduce((all, list) => all + list[i], value)) : first;
}

/** Since when there is something to count: later than asked for after an upgrade, or on a new store. */
function showSince({ since, counted_since: counted }) {
    const isLate = Date.parse(counted) - Date.parse(since) > 60_000;
    return [isLate ? 'Counted since ' : 'Since ', time(isLate ? counted : since), ', synchronous calls included. Times to within 3 %.'];
}

function tile(name, value, more = '') {
    return h('div', {}, h('dt', {}, name), h('dd', {}, h('span', {}, value), h('span.sub', {}, more)));
}

function share(n, of) {
    const percent = (100 * n) / of;
    return percent > 0 && percent < 0.1 ? '< 0.1 %' : `${Number(percent.toFixed(1))} %`;
}

function showTiles({ runs, async: asynchronous, states, run_ms: run, queued_ms: queued }, span) {
    const of = (state) => (states[state] ? h('a', { href: runsOf({ state }, span) }, number(states[state])) : '0');
    return [
        tile('Runs ended', number(runs), runs ? `${number(asynchronous)} asynchronous` : ''),
        tile('Failed', of('failure'), runs ? share(states.failure, runs) : ''),
        tile('Cancelled', of('cancelled'), states.cancelled ? share(states.cancelled, runs) : ''),
        tile('Run time, p50', duration(run.p50), run.count ? `p90 ${duration(run.p90)}` : ''),
        tile('Run time, p99', duration(run.p99)),
        tile('Queue wait, p50', duration(queued.p50), queued.count ? `p99 ${duration(queued.p99)}` : ''),
    ];
}

/* ---- why they failed ---- */

let isEveryError = false; // all of them are shown, not the first alone

function showErrors(place, top, span) {
    const { errors, more, failures, counted_since: counted } = top;
    const shown = isEveryError ? errors : errors.slice(0, ERRORS);
    const toggle = () => {
        isEveryError = !isEveryError;
        showErrors(place, top, span);
    };
    const isCut = Date.parse(counted) > Date.parse(top.since);
    const said = [isCut && ['Counted since ', time(counted)], more && [`${plural(more, 'more kind')}`]].filter(Boolean);
    renew(
        place,
        [
            h('div.title-row', {}, h('h3', { id: 'errors' }, 'Top errors'), failures ? h('span.sub', {}, `of ${plural(failures, 'run')} that failed and ${failures === 1 ? 'is' : 'are'} kept`) : null),
            errors.length ? h('ul', {}, shown.map((row) => showError(row, span))) : h('p.soft', {}, 'No run that is kept failed in this span.'),
            h(
                'div.title-row',
                {},
                errors.length > ERRORS
                    ? h('button.button.small', { type: 'button', id: 'errors-all', 'aria-expanded': String(isEveryError), onclick: toggle }, isEveryError ? `The first ${ERRORS}` : `All ${errors.length}`)
                    : null,
                said.length ? h('p.sub', {}, said.flatMap((part, i) => [i ? '; ' : '', part])) : null,
            ),
        ].filter(Boolean),
    );
}

/** What the app said, or why there is nothing that it said. */
function showError({ error, reason, count, app_name: app, first_at: first, last_at: last }, span) {
    const text = visible(error ?? reason);
    const filter = { state: 'failure', app, ...(error === null ? { reason } : { error }) };
    return h(
        'li',
        {},
        h('b.num', {}, number(count)),
        h('a', { href: runsOf(filter, span), title: text }, text),
        h('span.sub', {}, visible(app), ' · ', time(first), ' – ', time(last)),
    );
}

function showReasons({ states, reasons }, span) {
    const most = Object.entries(reasons)
        .filter(([, n]) => n)
        .sort(([, a], [, b]) => b - a);
    const head = h('h3', { id: 'reasons' }, 'Failures by reason');
    if (!most.length) return [head, h('p.soft', {}, 'Nothing failed in this span.')];
    const row = ([reason, n]) =>
        h(
            'li',
            { title: REASONS[reason] },
            h('a', { href: runsOf({ state: 'failure', reason }, span) }, reason),
            h('span', { 'aria-hidden': 'true' }, meter(n / states.failure)),
            h('b.num', {}, number(n)),
        );
    return [head, h('ul.reasons', { 'aria-labelledby': 'reasons' }, most.map(row))];
}

/** A share of a width; the page's rules allow no style of an element's own, a length of a progress is none. */
function meter(part) {
    return h('progress', { value: part.toFixed(3), max: 1, tabindex: -1, 'aria-hidden': 'true' });
}

/* ---- the apps ---- */

const HEADS = ['App', 'Runs', 'Failed', 'Run time p50', 'p90', 'p99', 'Queue wait p50', 'p90', 'p99'];
let isWhole = false; // all apps are shown, not the first alone

function showApps(section, overview, span) {
    const { apps, is_more_apps: isMore } = overview;
    section.hidden = !apps.length;
    if (section.hidden) return;
    const sorted = [...apps].sort((a, b) => b.runs - a.runs);
    const shown = isWhole ? sorted : sorted.slice(0, ROWS);
    const toggle = () => {
        isWhole = !isWhole;
        showApps(section, overview, span);
    };
    const text = isWhole ? `The first ${ROWS}` : `All ${apps.length} apps`;
    // The focus, and how far it was scrolled, stay.
    const place = section.querySelector('.scroll') ?? h('div.scroll', { tabindex: 0, role: 'region', 'aria-label': 'Runs by app' });
    renew(place, [makeTable(shown, isMore || shown.length < apps.length, span)]);
    renew(section, [
        place,
        apps.length > ROWS || isMore
            ? h(
                  'div.rest',
                  {},
                  apps.length > ROWS ? h('button.button.small', { type: 'button', id: 'apps-all', 'aria-expanded': String(isWhole), onclick: toggle }, text) : null,
                  isMore ? h('span.sub', {}, `There are more than ${apps.length} apps: those beyond are in the figures of all.`) : null,
              )
            : null,
    ].filter(Boolean));
}

function makeTable(apps, isCut, span) {
    const cell = (text) => h('td.num', {}, text);
    const times = ({ p50, p90, p99 }) => [p50, p90, p99].map((ms) => cell(duration(ms)));
    const row = (app) =>
        h(
            'tr',
            {},
            h('th', { scope: 'row' }, h('a', { href: runsOf({ app: app.app_name }, span) }, visible(app.app_name))),
            cell(number(app.runs)),
            cell(app.states.failure ? `${number(app.states.failure)} (${share(app.states.failure, app.runs)})` : '0'),
            times(app.run_ms),
            times(app.queued_ms),
        );
    return h(
        'table.apps',
        {},
        h('caption.hidden', {}, `Runs by app${isCut ? '; some are left out' : ''}`),
        h('thead', {}, h('tr', {}, HEADS.map((text, i) => h(i ? 'th.num' : 'th', { scope: 'col' }, text)))),
        h('tbody', {}, apps.map(row)),
    );
}

/* ---- destinations ---- */

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
                    h('span', {}, 'since ', time(row.failing_since), `: ${plural(row.pending, 'webhook')} pending, ${plural(row.dead, 'dead letter')}`),
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

/* ---- what wants somebody ---- */

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
