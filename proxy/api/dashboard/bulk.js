// bulk.js - many at once. What a filter names the server does, as a job that goes on when this page is closed (jobs.js);
// webhooks that were chosen one by one are named in pieces.
import * as api from './api.js';
import { announce, busy, button, dialog, fill, h, note } from './dom.js';
import { plural } from './format.js';

const PIECE = 500;
const PATIENCE = 60_000; /* ms without room for a single one */
const PAUSE = 1000;
const LOOK = 500;

const deliveries = (n) => plural(n, 'delivery', 'deliveries');
const runs = (n) => plural(n, 'run');

/** What a job does to each: title, how many are asked about, the button, what is said before, and what was done. */
const KINDS = {
    cancel: {
        title: 'Cancel many',
        many: runs,
        yes: 'Cancel',
        about: 'Those that wait never start; those that run are cut off.',
        done: (n) => `${runs(n)} cancelled`,
        skipped: 'ended meanwhile',
    },
    rerun: {
        title: 'Run many again',
        many: runs,
        yes: 'Run again',
        about: 'Each becomes a new run with the request that was kept of it.',
        done: (n) => `${runs(n)} queued again`,
        skipped: 'synchronous, not ended, or without a request that was kept',
    },
    redeliver: {
        title: 'Redeliver many',
        many: deliveries,
        yes: 'Redeliver',
        about: 'Each is sent again with the same body and the same ids, in a new round of attempts. The receivers may have had them already.',
        done: (n) => `${deliveries(n)} queued to be sent again`,
        skipped: 'on their way already, or no longer kept',
    },
    unreadable: { done: (n) => `${n.toLocaleString()} done`, skipped: 'skipped' },
};

/**
 * Asks, and does it. `plan.which` says which they are, in words; `plan.ids` has them, or else `plan.filter` is that of
 * the list in which they are. Resolves when it is over or left to go on, with whether anything was begun.
 */
export function redeliverMany(plan) {
    return plan.ids ? sendChosen(plan) : runJob({ what: 'redeliver', ...plan });
}

/** The same for all that a filter of a list names: `plan.what` is "cancel" or "rerun" of runs, or "redeliver". */
export function runJob(plan) {
    const state = { isClosed: false, hasBegun: false };
    return dialog(KINDS[plan.what].title, (close) => {
        const place = h('div.plan');
        askFirst(place, plan, state, close).catch((error) => showProblem(place, error, close));
        return place;
    }, () => {
        state.isClosed = true;
        state.polling?.stop();
    }).then(() => state.hasBegun);
}

async function askFirst(place, plan, state, close) {
    const kind = KINDS[plan.what];
    fill(place, h('p', {}, 'Counting …'));
    const asked = Object.fromEntries(Object.entries(plan.filter).filter(([, value]) => value != null && value.length !== 0)); // no list of no tags
    const { count, has_more: hasMore, until } = await api.send('POST', '/jobs', { what: plan.what, filter: asked, dry_run: true });
    const shut = (text) => button(text, () => close(), '', { autofocus: true });
    if (!count) return fill(place, h('p', {}, `There is nothing to ${plan.what === 'redeliver' ? 'send' : 'do'}: no ${plan.which}.`), h('div.actions', {}, shut('Close')));
    const many = `${hasMore ? 'at least ' : ''}${kind.many(count)}`;
    const job = { what: plan.what, filter: { ...asked, until: asked.until ?? until }, ...(!hasMore && { expected: count }) };
    const start = async () => {
        state.hasBegun = true;
        follow(place, await api.send('POST', '/jobs', job), state, close);
    };
    fill(
        place,
        h('p.prose', {}, `${many}: ${plan.which}. ${kind.about}`),
        h('div.actions', {}, shut('Keep as they are'), button(`${kind.yes} ${many}`, () => start().catch((error) => showProblem(place, error, close)), 'main')),
    );
    place.querySelector('button').focus();
}

/** Until it has ended, or the dialog is closed: then it goes on without. */
function follow(place, begun, state, close) {
    const bar = h('progress', { max: 1, value: 0, 'aria-label': 'How far it is' });
    const words = h('p', {});
    const problem = h('div');
    const path = `/jobs/${begun.job_id}`;
    const stop = button('Stop', () => busy(stop, () => api.send('POST', `${path}/stop`).catch((error) => fill(problem, h('p', {}, error.message)))));
    const link = h('a', { href: `#${path}` }, 'See the job');
    fill(place, words, bar, problem, h('p.hint', {}, 'It goes on when this is closed. ', link), h('div.actions', {}, stop, button('Close', () => close())));
    stop.focus();
    const show = (job) => {
        Object.assign(bar, { max: Math.max(1, job.total), value: handled(job) });
        words.textContent = `${handled(job).toLocaleString()} of ${job.total.toLocaleString()}${job.is_total ? '' : ', still counting'}`;
        if (!job.ended_at) return;
        state.polling?.stop();
        showSum(place, job, link, close);
    };
    show(begun);
    if (state.isClosed || begun.ended_at) return;
    const look = async (signal) => show(await api.get(path, { signal }));
    state.polling = api.poll(LOOK, look, (error) => fill(problem, error && h('p', {}, error.message)));
}

export const handled = (job) => job.done + job.skipped + job.failed;

/** What a job has done, in words. */
export function sumOf(job) {
    const kind = KINDS[job.what] ?? KINDS.unreadable;
    const left = job.total - handled(job);
    const parts = [
        kind.done(job.done),
        job.skipped && `${job.skipped.toLocaleString()} ${kind.skipped}`,
        job.failed && `${job.failed.toLocaleString()} refused`,
        job.state !== 'done' && left > 0 && `${left.toLocaleString()} left as they were`,
    ];
    return `${job.state === 'done' ? 'Done' : job.state === 'stopped' ? 'Stopped' : 'Failed'}: ${parts.filter(Boolean).join(', ')}.`;
}

function showSum(place, job, link, close) {
    fill(place, h('p', {}, sumOf(job)), h('p.hint', {}, link), h('div.actions', {}, button('Close', () => close(), 'main')));
    place.querySelector('button').focus();
    announce(sumOf(job));
}

function showProblem(place, error, close) {
    fill(place, note('error', 'That did not work', h('p', {}, error.message)), h('div.actions', {}, button('Close', () => close())));
}

/* ---- those that were chosen ---- */

function sendChosen(plan) {
    const job = { isStopped: false, sent: 0, gone: 0, pending: 0, unknown: 0, error: null };
    return dialog('Redeliver many', (close) => {
        const place = h('div.plan');
        const many = deliveries(plan.ids.length);
        const start = () => carryOut(place, plan.ids, job, close).catch((error) => showProblem(place, error, close));
        fill(
            place,
            h('p.prose', {}, `${many}: ${plan.which}. ${KINDS.redeliver.about}`),
            h('div.actions', {}, button('Keep as they are', () => close(), '', { autofocus: true }), button(`Redeliver ${many}`, start, 'main')),
        );
        return place;
    }, () => (job.isStopped = true)).then(() => job.sent > 0);
}

async function carryOut(place, ids, job, close) {
    const bar = h('progress', { max: ids.length, value: 0, 'aria-label': 'How far it is' });
    const words = h('p', {});
    const stop = button('Stop', () => (job.isStopped = true));
    fill(place, words, bar, h('div.actions', {}, stop));
    stop.focus();
    const show = (more) => {
        bar.value = done(job);
        words.textContent = `${done(job).toLocaleString()} of ${ids.length.toLocaleString()}${more}`;
    };
    show('');
    await sendAll([...ids], job, show).catch((error) => fail(job, error.message));
    fill(place, h('p', {}, sum(job, ids.length)), job.error && note('error', 'Not all of it worked', h('p', {}, job.error)), h('div.actions', {}, button('Close', () => close(), 'main')));
    place.querySelector('button').focus();
    announce(sum(job, ids.length));
}

async function sendAll(ids, job, show) {
    let movedAt = performance.now();
    while (ids.length && !job.isStopped) {
        const piece = ids.splice(0, PIECE);
        const { left, full } = await sendPiece(piece, job);
        if (left.length < piece.length) movedAt = performance.now();
        else if (performance.now() - movedAt >= PATIENCE) fail(job, full);
        ids.unshift(...left);
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
