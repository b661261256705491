// run.js - one run: what became of it, when, what it answered, where that went.
import * as api from './api.js';
import { now } from './clock.js';
import { announce, ask, badge, button, copy, fill, h, note, refill, renew } from './dom.js';
import { between, bytes, duration, plural, time, visible } from './format.js';
import { REASONS, deliveryBadge, isOpen, modeChip } from './state.js';
import { drawTimeline, lanesOf } from './timeline.js';
import { attemptTable, nextAttempt, redeliverButton } from './attempts.js';
import { eventPanel, isKept } from './events.js';
import { runLog } from './log.js';
import { progressRow } from './progress.js';

await addStyle('run.css');

const EVERY = 1500;
const SOON = 500;
const SHOWN_MAX = 64 * 1024; /* of a result; the rest is to be downloaded */
const DRAWN_MAX = 4; /* of its rounds of attempts: the first and the last ones */

export function show(main, route) {
    const runId = route.path[1];
    const path = `/runs/${encodeURIComponent(runId)}`;
    const back = h('a', { href: '#/runs' }, 'All runs');
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
    const webhooks = h('section', { 'aria-labelledby': 'webhooks', hidden: true });
    fill(
        main,
        h('p.crumb', {}, back),
        h('h1.run-id', {}, visible(runId), copy(runId, 'Copy id')),
        problem,
        head,
        progress.row,
        times,
        facts,
        events.section,
        result,
        log.section,
        webhooks,
    );
    document.title = `Run ${runId.slice(-12)} · hookline`;

    const opened = new Set(); // attempts of which is seen what came back
    let last = '',
        hasResult = false;

    async function turn(signal) {
        const run = await api.get(path, { signal });
        const text = JSON.stringify(run);
        if (text !== last) {
            if (last && run.state !== JSON.parse(last).state) announce(`The run is ${run.state}`);
            last = text;
            refill(
                head,
                showHead(run, () => polling.now(), path),
            );
            webhooks.hidden = !run.deliveries.length;
            const answers = run.deliveries.length ? await import('./answers.js') : null;
            refill(
                webhooks,
                h('h2', { id: 'webhooks' }, 'Webhook'),
                run.deliveries.map((d) => showDelivery(d, answers.answerList(d, opened), () => polling.now())),
            );
            if (run.finished_at && !hasResult) {
                hasResult = true;
                result.hidden = false;
                showResult(result, run, path, signal);
            }
        }
        if (!run.finished_at) progress.reserve();
        if (run.progress !== null && (run.finished_at || !isToldLive)) progress.show(run.progress);
        if (api.isAdmin() || run.subject) log.renew(signal);
        if (facts.hidden) fill(list, listFacts(run));
        else renew(list, listFacts(run));
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

    function onError(error) {
        if (!error) return fill(problem);
        const titles = { 404: 'This run is not here' };
        fill(
            problem,
            note('error', titles[error.status] ?? 'The run is not up to date', h('p', {}, error.message)),
        );
        if (error.status === 404 || error.status === 400) polling.stop();
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
    const canCancel = (api.isAdmin() || run.subject) && (run.state === 'queued' || run.state === 'running');
    const reason =
        run.reason &&
        h('span', {}, h('code', {}, run.reason), REASONS[run.reason] ? `: ${REASONS[run.reason]}` : '');
    return h(
        'div.run-head',
        {},
        badge(run.state, run.state),
        modeChip(run),
        reason,
        h('span.gap'),
        canCancel ? button('Cancel run…', () => cancel(run, again, path), 'danger') : null,
        run.finished_at && run.request_fields ? button('Run again…', () => rerun(path)) : null,
    );
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

/** As many for each moment of a run. */
function listFacts(run) {
    const fact = (name, ...value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
    const kept = { kept: 'kept', none: 'none', dropped: 'not kept: too large, or dropped for want of space' };
    const facts = [
        fact('Call', h('code', {}, `${run.method} ${visible(run.path)}`)),
        fact('App', run.app_name),
        run.rerun_of && fact('Again the run', h('a', { href: `#/runs/${run.rerun_of}` }, visible(run.rerun_of))),
        fact('Accepted', time(run.created_at, { style: 'full' })),
        run.async && fact('Place in the queue', run.queue_position ?? '–'),
        fact('Waited', run.queued_ms === null ? '–' : duration(run.queued_ms)),
        fact('Started', time(run.started_at, { style: 'full', empty: 'not yet' })),
        fact('Finished', time(run.finished_at, { style: 'full', empty: 'not yet' })),
        fact('Ran for', run.started_at ? duration(between(run.started_at, run.finished_at)) : '–'),
        fact('Status of the app', run.status_code ?? '–'),
        run.async && fact('Times started', run.attempts),
        fact('Request', bytes(run.request_bytes)),
        fact(
            'Response',
            bytes(run.response_bytes),
            // Its line is there before it is, so that nothing moves when the run ends.
            run.content_type || !run.finished_at ? h('span.sub', {}, visible(run.content_type || '\u00a0')) : null,
            run.content_encoding ? h('span.sub', {}, `encoded: ${visible(run.content_encoding)}`) : null,
        ),
        fact('Result', kept[run.result] ?? run.result),
        'replica' in run && fact('Replica', run.replica ? visible(run.replica) : '–'),
    ];
    return facts.filter(Boolean);
}

/* ---- the kept response ---- */

/** Shows text, whatever it is, as text; what is not text can be downloaded. */
async function showResult(section, run, path, signal) {
    const title = h('h2', { id: 'result' }, 'Result');
    if (run.result !== 'kept') {
        const why =
            run.result === 'dropped'
                ? 'The response is not kept any more.'
                : 'No response was kept: that is done for asynchronous runs and for those with a webhook.';
        return fill(section, title, h('p.hint', {}, why));
    }
    const problem = h('div');
    const view = h('div');
    const download = button(`Download (${bytes(run.response_bytes)})`, () =>
        save(run, path).catch((error) =>
            fill(problem, note('error', 'The download failed', h('p', {}, explain(error, run)))),
        ),
    );
    fill(section, h('div.title-row', {}, title, download), problem, view);
    if (isKept(run)) return fill(view, h('p.hint', {}, 'Its events are above; download it for the bytes that the app sent.'));
    if (!isText(run)) return fill(view, h('p.hint', {}, 'This is not text: download it to look at it.'));
    try {
        const response = await api.request('GET', `${path}/result`, { signal });
        const { text, isWhole } = await readStart(response);
        if (!text) return fill(view, h('p.hint', {}, 'The response was empty.'));
        fill(
            view,
            h(
                'pre.result',
                { tabindex: 0, 'aria-labelledby': 'result' },
                visible(pretty(text, run, isWhole)),
            ),
            isWhole
                ? null
                : h('p.hint', {}, `These are the first ${bytes(SHOWN_MAX)}; download it for all of it.`),
        );
    } catch (error) {
        if (error.name !== 'AbortError')
            fill(problem, note('error', 'The result could not be read', h('p', {}, explain(error, run))));
    }
}

/** Browsers undo a Content-Encoding, and give nothing of what does not keep to it. */
function explain(error, run) {
    const isBroken = run.content_encoding && !(error instanceof api.ApiError);
    return isBroken
        ? `It says that its Content-Encoding is ${visible(run.content_encoding)}, and this browser cannot decode it.`
        : error.message;
}

function isText(run) {
    return (
        run.encoding === 'json' ||
        run.encoding === 'text' ||
        /^(text\/|application\/(\S+\+)?json)/.test(run.content_type ?? '')
    );
}

/** At most SHOWN_MAX bytes: what follows stays where it is. */
async function readStart(response) {
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let text = '',
        left = SHOWN_MAX;
    for (;;) {
        const { done, value } = await reader.read();
        if (done) return { text: text + decoder.decode(), isWhole: true };
        text += decoder.decode(value.subarray(0, left), { stream: true });
        left -= value.length;
        if (left < 0) {
            reader.cancel();
            return { text, isWhole: false };
        }
    }
}

/** JSON with line breaks; each number and string stays as it was written. */
function pretty(text, run, isWhole) {
    if (!isWhole || run.encoding !== 'json') return text;
    let out = '',
        depth = 0,
        before = '';
    for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
        const isOpening = before === '{' || before === '[',
            isClosing = token === '}' || token === ']';
        if (isClosing) depth--;
        if (before === ',' || (isOpening !== isClosing && (isOpening || isClosing)))
            out += `\n${'  '.repeat(Math.min(depth, 40))}`;
        out += token === ':' ? ': ' : token;
        if (token === '{' || token === '[') depth++;
        before = token;
    }
    return out;
}

async function save(run, path) {
    const response = await api.request('GET', `${path}/result`);
    const blob = new Blob([await response.arrayBuffer()], { type: 'application/octet-stream' });
    const end = run.encoding === 'json' ? 'json' : isText(run) ? 'txt' : 'bin';
    const url = URL.createObjectURL(blob);
    h('a', { href: url, download: `${run.run_id}.${end}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
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
