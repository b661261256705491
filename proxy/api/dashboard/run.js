// run.js - one run: what became of it, when, what it answered, where that went.
import * as api from './api.js';
import { now } from './clock.js';
import { announce, ask, badge, button, copy, fill, h, note, refill, renew } from './dom.js';
import { bytes, duration, plural, tail, time, visible } from './format.js';
import { lastRuns } from './place.js';
import { REASONS, SLEEP, deliveryBadge, isOpen, modeChip, ranFor } from './state.js';
import { drawTimeline, lanesOf } from './timeline.js';
import { attemptTable, nextAttempt, redeliverButton } from './attempts.js';
import { eventPanel } from './events.js';
import { runLog } from './log.js';
import { progressRow } from './progress.js';
import { showRequest } from './request.js';
import { showResult } from './result.js';
import { showRunAttempts } from './run_attempts.js';
import { showStale } from './stale.js';

await addStyle('run.css');

const EVERY = 1500;
const SOON = 500;
const DRAWN_MAX = 4; /* of its rounds of attempts: the first and the last ones */

export function show(main, route) {
    const runId = route.path[1];
    const path = `/runs/${encodeURIComponent(runId)}`;
    const back = h('a', { href: lastRuns() }, lastRuns().includes('?') ? 'Back to the list' : 'All runs');
    const problem = h('div');
    const head = h('div');
    let times = h('section', { 'aria-labelledby': 'times' });
    const list = h('dl.facts');
    const facts = h(
        'section',
        { 'aria-labelledby': 'facts', hidden: true },
        h('h2', { id: 'facts' }, 'Facts'),
        list,
    );
    const result = h('section', { 'aria-labelledby': 'result', hidden: true });
    const progress = progressRow();
    let isToldLive = false; // by the events: they are sooner than the next look
    const events = eventPanel(path, {
        progress(value) {
            isToldLive = true;
            progress.show(value);
        },
        lost: () => (isToldLive = false),
        end: () => polling.now(),
    });
    const log = runLog(path);
    const attempts = h('section', { 'aria-labelledby': 'attempts', hidden: true });
    const webhooks = h('section', { 'aria-labelledby': 'webhooks', hidden: true });
    const request = h('section', { 'aria-labelledby': 'request', hidden: true });
    fill(
        main,
        h('p.crumb', {}, back),
        h('h1.run-id', {}, visible(runId), copy(runId, 'Copy id')),
        problem,
        head,
        progress.row,
        times,
        facts,
        attempts,
        events.section,
        result,
        log.section,
        webhooks,
        request,
    );
    document.title = `Run ${tail(runId)} · hookline`;

    const opened = new Set(); // attempts of which is seen what came back
    let last = '',
        wasQueued = false, // since the page has seen it
        hasResult = false;

    async function turn(signal) {
        const run = await api.get(path, { signal });
        const answers = run.deliveries.length ? await import('./answers.js') : null;
        const logged = api.seesAll() || run.subject ? log.renew(signal, run.finished_at !== null) : null;
        // What is below the log is shown when it is there, and what is above it at once, so that nothing moves.
        if (!last) await logged;
        wasQueued ||= run.state === 'queued';
        const text = JSON.stringify(run);
        if (text !== last) {
            if (last && run.state !== JSON.parse(last).state) announce(`The run is ${run.state}`);
            last = text;
            refill(
                head,
                showHead(run, () => polling.now(), path),
            );
            webhooks.hidden = !run.deliveries.length;
            refill(
                webhooks,
                h('h2', { id: 'webhooks', tabindex: -1 }, 'Webhook'),
                run.deliveries.map((d) => showDelivery(d, answers.answerList(d, opened), () => polling.now())),
            );
            showRunAttempts(attempts, run);
            if (!hasResult) showResult(result, run, path, signal).hidden = false;
            hasResult = run.finished_at !== null;
            if (request.hidden) showRequest(request, run, path, signal).hidden = false;
        }
        if (!run.finished_at) progress.reserve();
        if (run.progress !== null && (run.finished_at || !isToldLive)) progress.show(run.progress);
        renew(list, listFacts(run, wasQueued));
        facts.hidden = false;
        const drawn = showTimes(run, Math.max(280, times.clientWidth - 34));
        // What is read or selected there stays, as long as nothing has changed.
        if (!times.isEqualNode(drawn)) {
            times.replaceWith(drawn);
            times = drawn;
        }
        fill(problem);
        if (events.update(run)) return SOON;
        // What has ended changes when someone redelivers it, and seldom else.
        return isOpen(run) ? EVERY : 8 * EVERY;
    }

    function onError(error, at) {
        if (error?.status === 404) fill(problem, note('error', 'This run is not here', h('p', {}, error.message)));
        else showStale(problem, 'The run is', error, at);
        if (error?.status === 404 || error?.status === 400) polling.stop();
    }

    const polling = api.poll(EVERY, turn, onError);
    return () => {
        polling.stop();
        events.stop();
    };
}

/** What this page alone looks like. Without it there is no page. */
function addStyle(name) {
    return new Promise((onload, onerror) => {
        document.head.append(h('link', { rel: 'stylesheet', href: new URL(name, import.meta.url), onload, onerror }));
    });
}

function showTimes(run, width) {
    const [first, ...later] = lanesOf(run, run.deliveries, now());
    const last = later.slice(1 - DRAWN_MAX);
    const left = later.length - last.length;
    const draw = (rounds) =>
        rounds.map(({ round, lanes }) => [
            round > 1 ? h('h3', {}, `Redelivery, round ${round}`) : null,
            drawTimeline({ round, lanes }, width),
        ]);
    return h(
        'section',
        { 'aria-labelledby': 'times' },
        h('h2', { id: 'times' }, 'Timeline'),
        draw([first]),
        left ? h('p.hint', {}, `${plural(left, 'redelivery', 'redeliveries')}: see the attempts below`) : null,
        draw(last),
    );
}

function showHead(run, again, path) {
    const canCancel = api.mayRun() && (api.isAdmin() || run.subject) && (run.state === 'queued' || run.state === 'running');
    const reason =
        run.reason &&
        h('span', {}, h('code', {}, run.reason), REASONS[run.reason] ? `: ${REASONS[run.reason]}` : '');
    return h(
        'div.run-head',
        {},
        badge(run.state, run.state),
        modeChip(run),
        reason,
        run.next_attempt_at ? h('span.when', {}, 'next attempt: ', time(run.next_attempt_at)) : null,
        run.deliveries.map((delivery) =>
            h('button.jump', { type: 'button', onclick: goToWebhook }, 'Webhook', deliveryBadge(delivery)),
        ),
        h('span.gap'),
        canCancel ? button('Cancel run…', () => cancel(run, again, path), 'danger') : null,
        api.mayRun() && run.finished_at && run.request_fields ? button('Run again…', () => rerun(path)) : null,
    );
}

/** It is below all that the app and hookline said, which may be long. */
function goToWebhook() {
    const heading = document.getElementById('webhooks');
    heading.scrollIntoView({ block: 'start' });
    heading.focus({ preventScroll: true });
}

function rerun(path) {
    let made;
    return ask({
        title: 'Run this again?',
        text: 'A new run begins with the same request, in your name. Its webhook, if it has one, goes to the same place.',
        yes: 'Run again',
        kind: '',
        act: async () => (made = await api.send('POST', `${path}/rerun`)),
    }).then((isDone) => isDone && (location.hash = `#/runs/${made.run_id}`));
}

function cancel(run, again, path) {
    return ask({
        title: 'Cancel this run?',
        text:
            run.state === 'queued'
                ? 'It will never start.'
                : 'The app’s work on it is cut off. A webhook, if it has one, says that it was cancelled.',
        yes: 'Cancel the run',
        act: () => api.send('POST', `${path}/cancel`),
    }).then((isDone) => isDone && again());
}

/** As many for each moment of a run that a page sees, unless it goes back to the queue. */
function listFacts(run, wasQueued) {
    const fact = (name, ...value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
    const isInterrupted = run.reason === 'interrupted' && run.started_at;
    const facts = [
        fact('Call', h('code', {}, `${run.method} ${visible(run.path)}`)),
        fact('App', run.app_name, run.app_state ? h('span.sub', {}, `${SLEEP[run.app_state]} since `, time(run.app_since)) : null),
        run.rerun_of && fact('Again the run', h('a', { href: `#/runs/${run.rerun_of}` }, visible(run.rerun_of))),
        fact('Accepted', time(run.created_at, { style: 'full' })),
        wasQueued && fact('Place in the queue', run.queue_position ?? 'none'),
        fact('Waited', run.queued_ms === null ? '–' : duration(run.queued_ms)),
        fact('Started', time(run.started_at, { style: 'full', empty: run.finished_at ? 'never' : 'not yet' })),
        fact('Finished', time(run.finished_at, { style: 'full', empty: 'not yet' })),
        fact('Ran for', ranFor(run), isInterrupted ? h('span.sub', {}, 'hookline stopped meanwhile') : null),
        fact('Status of the app', run.status_code ?? '–'),
        run.async && fact('Times started', run.attempts),
        fact('Request', bytes(run.request_bytes)),
        fact(
            'Response',
            run.finished_at && !run.status_code && !run.response_bytes ? 'none' : bytes(run.response_bytes),
            // Its line is there before it is, so that nothing moves when the run ends.
            run.content_type || !run.finished_at ? h('span.sub', {}, visible(run.content_type || '\u00a0')) : null,
            run.content_encoding ? h('span.sub', {}, `encoded: ${visible(run.content_encoding)}`) : null,
        ),
        'replica' in run && fact('Replica', run.replica ? visible(run.replica) : '–'),
    ];
    return facts.filter(Boolean);
}

/* ---- its webhooks ---- */

function showDelivery(delivery, answers, again) {
    return h(
        'article.delivery',
        {},
        h(
            'div.delivery-head',
            {},
            deliveryBadge(delivery),
            h('span.destination', {}, visible(delivery.destination)),
            nextAttempt(delivery),
            h('span.gap'),
            redeliverButton(delivery, again),
        ),
        attemptTable(delivery),
        answers,
    );
}
