// now.js - the overview: what wants somebody, figures of the moment, and over a span that is chosen how runs ended
// (overview.js). Charts of the process itself (live.js) are there where the span lies in its last hour.
import * as api from './api.js';
import { fill, h, icon, renew } from './dom.js';
import { between, bytes, duration, number, plural, time } from './format.js';
import { drawCharts, history, makeCharts, RECENT, spark, windowOf } from './live.js';
import { showOverview, warningsOf } from './overview.js';
import { addressOf, around, PERIODS, readSpan, runsOf } from './span.js';
import { showStale } from './stale.js';
import { SLEEP } from './state.js';

const EVERY = 3000;
const UNKNOWN = 'not known: the database is not reached';
const RATE_MIN = 20; /* calls: a share of fewer says little */
const EXPIRES_SOON = 14 * 86_400_000;
const FULL = 0.9;

export function show(main, route) {
    const span = readSpan(route.query);
    const problem = h('div');
    const state = h('div');
    const tiles = h('dl.tiles', { 'aria-label': 'Now' });
    const ended = h('section', { 'aria-labelledby': 'ended' });
    const lists = h('div.lists');
    const live = h('section', { 'aria-labelledby': 'live', hidden: true });
    const replicas = h('section', { 'aria-labelledby': 'replicas', hidden: true });
    const acts = {
        onOpen: (since, until) => (location.hash = runsOf({}, { since, until })),
        onChoose: (since, until) => (location.hash = addressOf({ since, until, isByApp: span.isByApp })),
    };
    const charts = makeCharts(acts);
    fill(live, h('h2', { id: 'live' }, 'The last hour, live'), h('div.charts.is-live', {}, charts.map(({ figure }) => figure)));
    fill(
        main,
        h(
            'div.overview',
            {},
            h('div.title-row', {}, h('h1', {}, 'Overview'), showSpans(span)),
            span.ignored && h('p.hint', { role: 'note' }, `Not understood in the address, and left out: ${span.ignored}`),
            problem,
            state,
            tiles,
            ended,
            live,
            lists,
            replicas,
            h('p.hidden', { id: 'chart-keys' }, 'Arrow keys move. Enter opens the runs of a point. With Shift, arrow keys mark a span, which Enter shows.'),
        ),
    );

    let others = null,
        drawn = null,
        overview = null, // nothing is known of what wants somebody before it has been asked for
        looks = 0,
        shown = null;

    async function turn(signal) {
        const now = await api.get('/v2/now', { query: history.query(), signal });
        if (!history.take(now)) return turn(signal);
        shown = now;
        if (overview || looks++ > 0) showState(state, now, history.samples, overview ?? {});
        renew(tiles, showTiles(now));
        if (now.store === 'postgres' && api.seesAll()) await showOthers(signal);
        drawLive(now);
    }

    function drawLive(now) {
        const mark = `${now.started_at} ${now.last} ${history.isWhole}`;
        const window = windowOf(span, Date.parse(now.now));
        live.hidden = !window;
        if (window && drawn !== mark) drawCharts(charts, window, now.interval_ms);
        drawn = mark;
    }

    async function showOthers(signal) {
        const { showReplicas } = await api.part(() => import('./replicas.js'));
        if (others || signal.aborted) return;
        replicas.hidden = false;
        others = showReplicas(replicas);
    }

    function onError(error, at) {
        showStale(problem, 'These figures are', error, at);
    }

    function onOverview(answer) {
        overview = answer;
        if (shown) showState(state, shown, history.samples, overview ?? {});
    }

    const polling = api.poll(EVERY, turn, onError);
    const counting = showOverview(ended, lists, span, acts, onOverview);
    return () => {
        polling.stop();
        counting.stop();
        others?.stop();
    };
}

/** The spans there are, one that was chosen with the way back from it, and whether apps are told apart. */
function showSpans(span) {
    const { period: chosen, isByApp, since, until } = span;
    const tab = (id, isOn, change, ...text) =>
        h('button.tab', { type: 'button', id, 'aria-pressed': String(isOn), onclick: () => (location.hash = addressOf({ ...span, ...change })) }, text);
    const periods = Object.entries(PERIODS).map(([period, { text }]) => tab(`period-${period}`, period === chosen, { period }, text));
    const at = (ms) => time(new Date(ms).toISOString());
    const own = chosen ? null : tab('period-own', true, { period: around(span) }, at(since), ' – ', at(until), h('span', { 'aria-hidden': 'true' }, ' ×'), h('span.hidden', {}, ': back'));
    return h(
        'div.spans',
        {},
        h('div.tabs', { role: 'group', 'aria-label': 'Time' }, periods, own),
        tab('by-app', isByApp, { isByApp: !isByApp }, 'By app'),
    );
}

/** What needs a look, in words: beside what makes /readyz fail. */
function findWarnings(now, samples, overview) {
    const { current, interval_ms: interval } = now;
    const sum = (name, count) => samples[name].slice(-count).reduce((a, b) => a + b, 0);
    const link = (href, ...text) => h('a', { href }, text);
    const line = (...parts) => h('span', {}, parts);
    const warnings = warningsOf(overview);
    const calls = sum('calls_per_s', RECENT),
        errors = sum('errors_per_s', RECENT);
    if (calls * interval >= RATE_MIN * 1000 && errors / calls >= 0.05)
        warnings.push(
            line(
                link('#/runs?state=failure&time=3600', `${Math.round((100 * errors) / calls)} % of the calls`),
                ' in the last five minutes were answered with a 5xx status.',
            ),
        );
    if (current.queue_age_ms > 60_000)
        warnings.push(
            line(
                link('#/runs?state=queued', 'The oldest queued run'),
                ` has waited for ${duration(current.queue_age_ms)}: runs come in faster than the app works.`,
            ),
        );
    if (current.store_max_bytes && current.store_bytes >= FULL * current.store_max_bytes)
        warnings.push(`The store has ${bytes(current.store_bytes)} of the ${bytes(current.store_max_bytes)} that HOOKLINE_STORE_MAX_BYTES allows.`);
    if (now.certificate_expires_at && Date.parse(now.certificate_expires_at) - Date.parse(now.now) < EXPIRES_SOON)
        warnings.push(line('The certificate that callers see expires ', time(now.certificate_expires_at), '.'));
    if (current.log_lines_dropped)
        warnings.push(
            `${plural(current.log_lines_dropped, 'line')} of the log dropped since the start: nobody reads it, or it cannot be written.`,
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

/** What wants somebody, a line each; one line in all while nothing does. */
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
    const tile = (name, value, more, of) => h('div', {}, h('dt', {}, name), h('dd', {}, h('span', {}, value), of && spark(of), h('span.sub', {}, more)));
    const known = (n, age) => (n === null ? UNKNOWN : n ? `oldest: ${duration(age)}` : '');
    return [
        tile('Calls in flight', number(current.calls_in_flight), `${plural(current.connections_open, 'connection')} open`, 'calls_in_flight'),
        tile(
            'Async runs in the app',
            number(current.runs_in_flight),
            current.calls_waiting ? `${current.calls_waiting} calls wait for it` : '',
            'runs_in_flight',
        ),
        tile('Queued runs', number(current.runs_queued), known(current.runs_queued, current.queue_age_ms), 'runs_queued'),
        tile('Pending webhooks', number(current.deliveries_pending), known(current.deliveries_pending, current.delivery_age_ms), 'deliveries_pending'),
        tile(
            'Store',
            store === 'sqlite' ? bytes(current.store_bytes) : store,
            store === 'memory' ? 'gone with the process' : current.store_max_bytes ? `of ${bytes(current.store_max_bytes)}` : '',
        ),
        tile('Memory', bytes(current.resident_bytes)),
    ];
}
