// bulk.js - sending many webhooks again: how many first, then by their ids in pieces, until it is done or stopped. The
// command line does the same (cli/redelivery.c).
import * as api from './api.js';
import { announce, button, dialog, fill, h, note } from './dom.js';
import { plural } from './format.js';

const PIECE = 500;
const PAGE = 200;
const PATIENCE = 60_000; /* ms without room for a single one */
const PAUSE = 1000;

const deliveries = (n) => plural(n, 'delivery', 'deliveries');

/**
 * Asks, and does it. `plan.which` says which they are, in words; `plan.ids` has them, or else `plan.filter` is that of
 * the list in which they are. Resolves when it is over, with whether anything was sent.
 */
export function redeliverMany(plan) {
    const job = { isStopped: false, sent: 0, gone: 0, pending: 0, unknown: 0, error: null };
    return dialog('Redeliver many', (close) => {
        const place = h('div.plan');
        showQuestion(place, plan, job, close).catch((error) => showProblem(place, error, close));
        return place;
    }, () => (job.isStopped = true)).then(() => job.sent > 0);
}

async function showQuestion(place, plan, job, close) {
    fill(place, h('p', {}, 'Counting …'));
    const count = plan.ids ? { count: plan.ids.length } : await api.get('/deliveries/count', { query: plan.filter });
    const shut = (text) => button(text, () => close(), '', { autofocus: true });
    if (!count.count) return fill(place, h('p', {}, `There is nothing to send: no ${plan.which}.`), h('div.actions', {}, shut('Close')));
    const many = `${count.has_more ? 'at least ' : ''}${deliveries(count.count)}`;
    const start = () => carryOut(place, plan, job, count.count, close).catch((error) => showProblem(place, error, close));
    fill(
        place,
        h('p.prose', {}, `${many}: ${plan.which}. Each is sent again with the same body and the same ids, in a new round of attempts. The receivers may have had them already.`),
        h('div.actions', {}, shut('Keep as they are'), button(`Redeliver ${many}`, start, 'main')),
    );
    place.querySelector('button').focus();
}

function showProblem(place, error, close) {
    fill(place, note('error', 'That did not work', h('p', {}, error.message)), h('div.actions', {}, button('Close', () => close())));
}

async function carryOut(place, plan, job, count, close) {
    const bar = h('progress', { max: count, value: 0, 'aria-label': 'How far it is' });
    const words = h('p', {});
    const stop = button('Stop', () => (job.isStopped = true));
    fill(place, words, bar, h('div.actions', {}, stop));
    stop.focus();
    const show = (more) => {
        bar.value = done(job);
        words.textContent = `${done(job).toLocaleString()} of ${count.toLocaleString()}${more}`;
    };
    show('');
    const ids = plan.ids ? plan.ids[Symbol.iterator]() : listed(plan.filter, job);
    await sendAll(ids, job, show).catch((error) => fail(job, error.message));
    fill(place, h('p', {}, sum(job, count)), job.error && note('error', 'Not all of it worked', h('p', {}, job.error)), h('div.actions', {}, button('Close', () => close(), 'main')));
    place.querySelector('button').focus();
    announce(sum(job, count));
}

/** The ids of a list, page by page: what is sent again leaves it, and the rest keeps its order. */
async function* listed(filter, job) {
    for (let cursor; cursor !== null && !job.isStopped; ) {
        const answer = await api.get('/deliveries', { query: { ...filter, limit: PAGE, cursor } });
        cursor = answer.next_cursor;
        yield* answer.deliveries.map((delivery) => delivery.delivery_id);
    }
}

async function sendAll(ids, job, show) {
    let piece = [];
    let isListed = false;
    let movedAt = performance.now();
    while (!job.isStopped) {
        while (!isListed && piece.length < PIECE) {
            const { value, done: isDone } = await ids.next();
            if (isDone) isListed = true;
            else piece.push(value);
        }
        if (!piece.length || job.isStopped) return;
        const { left, full } = await sendPiece(piece, job);
        if (left.length < piece.length) movedAt = performance.now();
        else if (performance.now() - movedAt >= PATIENCE) fail(job, full);
        piece = left;
        show(full ? ', waiting for room' : '');
        if (left.length && !job.isStopped) await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
}

/** Answers what is left of the piece, and with what words it was refused for want of room, if it was. */
async function sendPiece(piece, job) {
    try {
        const { redelivered, refused, left } = await api.send('POST', '/deliveries/redeliver', { delivery_ids: piece });
        job.sent += redelivered;
        job.pending += refused.filter(({ reason }) => reason === 'pending').length;
        job.gone += refused.filter(({ reason }) => reason !== 'pending').length;
        return { left };
    } catch (error) {
        if (error.status === 429 || error.status === 503) return { left: piece, full: error.message };
        if (!error.status || error.status >= 500) job.unknown += piece.length;
        fail(job, error.message);
        return { left: piece };
    }
}

function fail(job, message) {
    job.error = message;
    job.isStopped = true;
}

const done = (job) => job.sent + job.gone + job.pending;

/** What was done, and what was not. */
function sum(job, count) {
    const left = Math.max(0, count - done(job) - job.unknown);
    const parts = [
        `${deliveries(job.sent)} queued to be sent again`,
        job.pending && `${job.pending.toLocaleString()} on their way already`,
        job.gone && `${job.gone.toLocaleString()} no longer kept`,
        job.unknown && `${job.unknown.toLocaleString()} that may or may not have been`,
        job.isStopped && left && `${left.toLocaleString()} left as they were`,
    ];
    return `${job.isStopped ? 'Stopped' : 'Done'}: ${parts.filter(Boolean).join(', ')}.`;
}
