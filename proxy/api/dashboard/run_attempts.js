// run_attempts.js - how often a run was inside the app, and what became of it each time.
import { badge, h, refill } from './dom.js';
import { duration, time } from './format.js';
import { REASONS, ranFor } from './state.js';

const HEADS = ['Attempt', 'Outcome', 'Status', 'Started', 'Ran for'];

/** Shown where there is more to tell than the facts do: several attempts, or another one to come. */
export function showRunAttempts(section, run) {
    const log = run.attempt_log ?? [];
    section.hidden = log.length < 2 && !run.next_attempt_at;
    if (section.hidden) return;
    const rows = log.map((attempt, i) => showRow(attempt, run, i === log.length - 1));
    if (run.next_attempt_at) rows.push(showNext(run));
    refill(
        section,
        h('h2', { id: 'attempts' }, 'Attempts'),
        h(
            'div.scroll',
            { tabindex: 0, role: 'region', 'aria-label': 'Attempts of the run' },
            h(
                'table',
                {},
                h('thead', {}, h('tr', {}, HEADS.map((text) => h('th', { scope: 'col' }, text)))),
                h('tbody', {}, rows),
            ),
        ),
    );
}

function showRow(attempt, run, isLast) {
    const hasEnded = attempt.finished_at !== null;
    return h(
        'tr',
        {},
        h('td', {}, attempt.attempt),
        h('td', {}, outcome(attempt, run, isLast && hasEnded && run.finished_at)),
        h('td', {}, attempt.status_code ?? '–'),
        h('td', {}, time(attempt.started_at)),
        h('td', {}, hasEnded ? ranFor(attempt) : duration(run.run_ms)),
    );
}

function outcome({ finished_at: end, reason }, run, isFinal) {
    if (!end) return badge('running', 'running');
    const state = isFinal ? run.state : 'failure';
    return [badge(state, state), reason ? [' ', h('code.reason', { title: REASONS[reason] }, reason)] : null];
}

function showNext({ attempts, next_attempt_at: at }) {
    const cells = [attempts + 1, badge('queued', 'to come'), '–', time(at), '–'];
    return h('tr', {}, cells.map((content) => h('td', {}, content)));
}
