// run_head.js - what is at the top of a run: the app and path, its state, what it said, where it came from, what can be done.
import * as api from './api.js';
import { ask, badge, button, copy, fill, h, load, note, refill } from './dom.js';
import { tail, time, visible } from './format.js';
import { REASONS, deliveryBadge, modeChip, tagChips } from './state.js';

const EDITED_MAX = 256 * 1024; /* bytes of a body that a form shows */

/**
 * `{ element, show(run) }`. `level`: of the heading. `again()`: another look is wanted; `goToWebhooks()`: they are to be
 * seen. `more`: what else is at the end of the first line.
 */
export function runHead(path, { runId, level, again, goToWebhooks, more = [] }) {
    const title = h(`${level}.run-title`, { id: 'run-title' }, visible(runId));
    const line = h('div.run-head');
    const about = h('div.run-about');
    const error = h('p.run-error', { hidden: true });
    const actions = h('div.run-actions', { hidden: true, role: 'group', 'aria-label': 'What can be done with the run' });
    const problem = h('div');
    const ident = h('span.run-id', {}, h('code', {}, visible(runId)), copy(runId, 'Copy id', 'quiet.small'));
    const element = h(
        'header.run-top',
        {},
        h('div.run-line', {}, title, h('span.gap'), more),
        line,
        error,
        h('div.run-sub', {}, ident, about, h('span.gap'), actions),
        problem,
    );

    function show(run) {
        fill(title, h('span', {}, visible(run.app_name)), ' ', h('code', {}, visible(run.path)));
        refill(line, showState(run, goToWebhooks));
        error.hidden = !run.error;
        error.textContent = visible(run.error ?? '');
        refill(about, showFamily(run), tagChips(run));
        refill(actions, showActions(run, { path, again, problem }));
        actions.hidden &&= !actions.children.length; // once there was one its place stays, so that nothing moves
    }

    return { element, show };
}

function showState(run, goToWebhooks) {
    const reason =
        run.reason &&
        h('span', {}, h('code', {}, run.reason), REASONS[run.reason] ? `: ${REASONS[run.reason]}` : '');
    return [
        badge(run.state, run.state),
        modeChip(run),
        reason,
        run.next_attempt_at ? h('span.when', {}, 'next attempt: ', time(run.next_attempt_at)) : null,
        run.deliveries.map((delivery) =>
            h('button.jump', { type: 'button', onclick: goToWebhooks }, 'Webhook', deliveryBadge(delivery)),
        ),
    ];
}

/** The run that it repeats, and those that repeat it. */
function showFamily(run) {
    const link = (runId) => h('a.id', { href: `#/runs/${runId}`, title: runId }, `…${tail(runId)}`);
    const again = (run.reruns ?? []).map(({ run_id: runId, state }) => h('span.family-one', {}, link(runId), badge(state, state)));
    return [
        run.rerun_of ? h('span.family', {}, 'Again the run ', link(run.rerun_of)) : null,
        again.length ? h('span.family', {}, 'Run again: ', again) : null,
    ];
}

/* ---- what can be done ---- */

function showActions(run, { path, again, problem }) {
    const mayRun = api.mayRun() && (api.isAdmin() || run.subject);
    const canCancel = mayRun && (run.state === 'queued' || run.state === 'running');
    const hasRequest = Boolean(run.request_fields);
    return [
        canCancel ? button('Cancel run…', () => cancel(run, again, path), 'danger.small') : null,
        api.mayRun() && run.finished_at && hasRequest ? button('Run again…', () => rerun(path), 'small') : null,
        api.mayRun() && hasRequest && isEditable(run) ? button('Edit and run again', () => edit(run, path, problem), 'small') : null,
        hasRequest ? copy(async () => (await load(() => import('./request.js')))?.asCommand(run, path) ?? null, 'Copy as curl', 'small') : null,
    ];
}

/** As one that the form for a new run can send: JSON of a size that can be edited, or nothing. */
function isEditable({ request_fields: fields, request_bytes: size }) {
    const value = (wanted) => fields.find(({ name }) => name.toLowerCase() === wanted)?.value ?? '';
    const isJson = /^application\/(\S+\+)?json\b/i.test(value('content-type'));
    return !size || (isJson && size <= EDITED_MAX && /^(identity)?$/i.test(value('content-encoding')));
}

async function edit(run, path, problem) {
    try {
        await (await load(() => import('./request.js')))?.editRequest(run, path);
    } catch (error) {
        refill(problem, note('error', 'The request could not be read', h('p', {}, error.message)));
    }
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
