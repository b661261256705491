// state.js - what the states of runs and deliveries are called and look like, on every page.
import { badge, h } from './dom.js';
import { between, duration, visible } from './format.js';

/** Why a run failed, in words (contract 4). */
export const REASONS = {
    app_error: 'the app answered with an error',
    timeout: 'it took longer than X-Run-Timeout or HOOKLINE_RESPONSE_GRACE_PERIOD allows',
    upstream_unreachable: 'the app could not be reached',
    upstream_reset: 'the app broke the connection off',
    bad_response: 'the app’s answer was not valid HTTP',
    interrupted: 'hookline stopped while the app worked',
    expired: 'it expired before it could start; the app was not called',
    response_too_large: 'the response was too large to be kept',
    response_not_kept: 'the app answered, but the store did not accept the answer',
};

/** What an app that is not awake does. */
export const SLEEP = {
    falling_asleep: 'The app is falling asleep',
    asleep: 'The app sleeps',
    waking: 'The app is being woken',
};

export function isOpen(run) {
    const pending = Array.isArray(run.deliveries)
        ? run.deliveries.some((delivery) => delivery.state === 'pending')
        : run.deliveries?.pending > 0;
    return run.state === 'queued' || run.state === 'running' || pending;
}

/**
 * How long a run, or an attempt of one, was inside the app. Of an interrupted one it is only known when hookline noticed, which
 * may be hours after it stopped.
 */
export function ranFor({ started_at: from, finished_at: to, reason }) {
    if (!from) return '–';
    return `${reason === 'interrupted' ? '≤ ' : ''}${duration(between(from, to))}`;
}

/** Attempts that ended badly, the last one included if it did. */
export function failedAttempts(run) {
    return (run.attempt_log ?? []).filter(({ finished_at: end, reason }) => end && reason);
}

export function runPath(run) {
    return `#/runs/${run.run_id}`;
}

/** `async` beside each run that was called so; another mode where there is one to tell. */
export function modeChip(run) {
    const mode = run.mode ?? (run.async ? 'async' : 'sync');
    return h(`span.chip${run.async ? '.is-async' : ''}`, {}, mode);
}

/** A chip for each tag of a record of a run, the way to all runs that have it; none for none. */
export function tagChips({ tags }) {
    return Object.entries(tags ?? {}).map(([name, value]) => {
        const text = `${name}=${value}`;
        return h(
            'a.chip.tag',
            { href: `#/runs?${new URLSearchParams({ tag: text })}`, title: `All runs with ${visible(text)}` },
            visible(text),
        );
    });
}

export function deliveryBadge({ state }) {
    const kinds = {
        pending: ['running', 'retry'],
        delivered: ['success', 'success'],
        dead: ['failure', 'failure'],
    };
    const [kind, shape] = kinds[state] ?? ['queued', 'queued'];
    return badge(kind, state === 'dead' ? 'dead letter' : state, shape);
}
