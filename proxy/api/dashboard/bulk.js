// bulk.js - sending many webhooks again: how many first, then one after the other, until it is done or stopped.
import * as api from './api.js';
import { announce, button, dialog, fill, h, note } from './dom.js';
import { plural } from './format.js';

const AT_ONCE = 4;
const PAGE = 200;
const FAILURES = 5; // of so many in a row no more is tried

const deliveries = (n) => plural(n, 'delivery', 'deliveries');

/**
 * Asks, and does it. `plan.which` says which they are, in words; `plan.ids` has them, or else `plan.filter` is that of
 * the list in which they are. Resolves when it is over, with whether anything was sent.
 */
export function redeliverMany(plan) {
    const job = { isStopped: false, sent: 0, gone: 0, pending: 0, failed: 0, inARow: 0, error: null };
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
    const show = () => {
        const done = job.sent + job.gone + job.pending + job.failed;
        bar.value = done;
        words.textContent = `${done.toLocaleString()} of ${count.toLocaleString()}`;
    };
    show();
    const ids = plan.ids ? plan.ids[Symbol.iterator]() : listed(plan.filter, job);
    await Promise.all(Array.from({ length: AT_ONCE }, () => work(ids, job, show)));
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

async function work(ids, job, show) {
    while (!job.isStopped) {
        const { value: id, done } = await ids.next();
        if (done || job.isStopped) return;
        await sendOne(id, job);
        show();
    }
}

async function sendOne(id, job) {
    try {
        await api.send('POST', `/deliveries/${id}/redeliver`);
        job.sent++;
        job.inARow = 0;
    } catch (error) {
        if (error.status === 409) job.pending++;
        else if (error.status === 404) job.gone++;
        else {
            job.failed++;
            job.error = error.message;
            job.isStopped ||= ++job.inARow === FAILURES;
        }
    }
}

/** What was done, and what was not. */
function sum(job, count) {
    const left = Math.max(0, count - job.sent - job.gone - job.pending - job.failed);
    const parts = [
        `${deliveries(job.sent)} queued to be sent again`,
        job.pending && `${job.pending.toLocaleString()} on their way already`,
        job.gone && `${job.gone.toLocaleString()} not kept any more`,
        job.failed && `${job.failed.toLocaleString()} failed`,
        job.isStopped && left && `${left.toLocaleString()} left as they were`,
    ];
    return `${job.isStopped ? 'Stopped' : 'Done'}: ${parts.filter(Boolean).join(', ')}.`;
}
