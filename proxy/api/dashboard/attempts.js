// attempts.js - a delivery's attempts as a table, and asking for new ones.
import * as api from './api.js';
import { ask, badge, button, h } from './dom.js';
import { between, duration, tail, time, visible } from './format.js';

const KINDS = { delivered: 'success', retry: 'retry', sending: 'running' };

const NUMBERS = new Set(['After', 'Status', 'Took']);

/** An attempt's outcome: those that are neither here nor under way ended badly. */
export function outcome(attempt) {
    const kind = KINDS[attempt.outcome] ?? 'failure';
    return badge(kind === 'retry' ? 'queued' : kind, attempt.outcome, kind);
}

export function attemptTable(delivery) {
    if (!delivery.attempts.length) return h('p.hint', {}, 'No attempt yet.');
    const hasErrors = delivery.attempts.some((attempt) => 'error' in attempt); // admins see them
    const head = ['Attempt', 'Outcome', 'Status', 'Sent', 'After', 'Took', ...(hasErrors ? ['Error'] : [])];
    const isLater = delivery.attempts.some((attempt) => attempt.round > 1);
    const rows = delivery.attempts.map((attempt, i) => {
        const before = delivery.attempts[i - 1];
        const since = before?.ended_at ?? delivery.created_at;
        return h(
            'tr',
            {},
            h('td', {}, isLater ? `${attempt.round}.${attempt.n}` : attempt.n),
            h('td', {}, outcome(attempt)),
            h('td.num', {}, attempt.status_code ?? '–'),
            h('td', {}, time(attempt.started_at)),
            h('td.num', {}, `+${duration(between(since, attempt.started_at))}`),
            h('td.num', {}, attempt.duration_ms == null ? '–' : duration(attempt.duration_ms)),
            hasErrors ? h('td.error', {}, attempt.error ? visible(attempt.error) : '–') : null,
        );
    });
    return h(
        'div.scroll',
        { tabindex: 0, role: 'region', 'aria-label': `Attempts to ${delivery.destination}` },
        h(
            'table',
            {},
            h(
                'thead',
                {},
                h(
                    'tr',
                    {},
                    head.map((text) => h(`th${NUMBERS.has(text) ? '.num' : ''}`, { scope: 'col' }, text)),
                ),
            ),
            h('tbody', {}, rows),
        ),
    );
}

/** When it is tried again, while it waits for that; or that a new round waits for its first attempt. */
export function nextAttempt({ next_attempt_at: at, state, round, attempts }) {
    if (at) return h('span.when', {}, 'next attempt: ', time(at));
    const isToBegin = state === 'pending' && attempts.length > 0 && attempts.at(-1).round < round;
    return isToBegin ? h('span.when', {}, `round ${round} waits for its turn`) : null;
}

/** For those who may, and where it makes sense. `again(delivery)` gets it as it is when it is on its way once more. */
export function redeliverButton(delivery, again) {
    if (!api.isAdmin() || delivery.state === 'pending') return null;
    const path = `/deliveries/${delivery.delivery_id}`;
    let fresh = delivery;
    const act = async () => {
        await api.send('POST', `${path}/redeliver`);
        fresh = await api.get(path).catch(() => delivery);
    };
    const question = {
        title: 'Send this webhook again?',
        text: `The same body with the same ids goes to ${delivery.destination} in a new round of attempts. The receiver may have had it already.`,
        yes: 'Redeliver',
        kind: 'main',
        act,
    };
    const name = `Redeliver… to ${visible(delivery.destination)}, run ${tail(delivery.run_id)}`;
    const onclick = () => ask(question).then((isDone) => isDone && again(fresh));
    return button('Redeliver…', onclick, 'small', { 'aria-label': name });
}
