// spans.js - what happened to a run and when, as spans of time: waiting, each attempt with its parts and the pause behind it,
// each attempt of its webhooks, and what was made of it later. Pure: `now` is given.
// Not here: how they are drawn (waterfall.js).
import { duration, plural, tail } from './format.js';

const at = (text) => (text ? Date.parse(text) : null);

/**
 * `[{ key, name, note, kind, from, to, took, level, link }]`, in the order in which they began. `to` null: a moment. `level` 1: a
 * part of the span before it; `took`: exactly how long, null: not known. `kind`: what it looks like; `note`: how it ended, or why it was.
 */
export function spansOf(run, now) {
    const spans = [{ key: 'accepted', name: 'Accepted', kind: 'queued', from: at(run.created_at), to: null }];
    const attempts = attemptsOf(run);
    spans.push(...waiting(run, attempts, now));
    attempts.forEach((attempt, i) => {
        if (i) spans.push(pause(attempts[i - 1], attempt));
        spans.push(...inside(run, attempt, attempts, now));
    });
    spans.push(...later(run, attempts, now));
    run.deliveries.forEach((delivery, i) => {
        const name = run.deliveries.length > 1 ? `Webhook ${i + 1}` : 'Webhook';
        spans.push(...sending(delivery, name, now));
    });
    spans.push(...[...(run.reruns ?? [])].reverse().map(again));
    return spans;
}

/** Those that began. Of a synchronous run the run itself is the only one. */
function attemptsOf(run) {
    if (run.attempt_log?.length) return run.attempt_log;
    return run.started_at ? [{ ...run, attempt: 1 }] : [];
}

/* ---- before it began ---- */

function waiting(run, attempts, now) {
    const from = at(run.created_at);
    const first = at(attempts[0]?.started_at);
    if (!run.async && !(first > from) && run.started_at) return [];
    const to = Math.max(from, first ?? at(run.finished_at) ?? now);
    const isOver = first !== null || run.finished_at !== null;
    const name = run.async ? 'Queued' : 'Waiting for a place';
    const gate = run.gate_ms > 0 ? Math.min(to, from + run.gate_ms) : from;
    const place = run.queue_position > 0 ? `place ${run.queue_position}` : '';
    const rest = { key: 'queued', name, note: isOver ? '' : place || 'waits', kind: 'queued', from: gate, to };
    if (gate === from) return [rest];
    const shut = { key: 'gate', name: 'At the gate', note: 'the app was not ready', kind: 'queued', from, to: gate };
    return to > gate || !isOver ? [shut, rest] : [shut];
}

/* ---- inside the app ---- */

function inside(run, attempt, attempts, now) {
    const isLast = attempt === attempts.at(-1);
    const isOnly = attempts.length === 1 && !run.next_attempt_at;
    const from = at(attempt.started_at);
    const to = Math.max(from, at(attempt.finished_at) ?? now);
    const state = isLast && run.finished_at ? run.state : 'failure';
    const whole = {
        key: `attempt-${attempt.attempt}`,
        name: isOnly ? 'In the app' : `Attempt ${attempt.attempt}`,
        note: outcome(attempt, state),
        kind: kindOf(attempt, state, isLast),
        isAtMost: attempt.reason === 'interrupted',
        from,
        to,
    };
    return [whole, ...partsOf(run, attempt, isLast, whole)];
}

function outcome({ finished_at: end, reason, status_code: status }, state) {
    if (!end) return 'running';
    if (reason === 'interrupted') return `ran until hookline stopped: ${state}`;
    return [state, reason, status].filter(Boolean).join(' ');
}

function kindOf({ finished_at: end, reason }, state, isLast) {
    if (!end) return 'running';
    if (reason === 'interrupted') return 'interrupted';
    return state === 'failure' && !isLast ? 'retry' : state;
}

/**
 * How the time of the last attempt was spent, as far as it is known: older runs do not say. While it goes on the rows are
 * there, so that nothing moves when it ends.
 */
function partsOf(run, attempt, isLast, { key, kind, from, to }) {
    if (!isLast || run.connect_ms === undefined) return [];
    const { connect_ms: connect, first_byte_ms: byte } = run;
    const isOver = attempt.finished_at !== null;
    if (isOver && connect === null) return [];
    const soon = isOver ? 'not reached' : 'known at the end';
    const isStream = run.mode === 'stream' || /^text\/event-stream/i.test(run.content_type ?? '');
    const parts = [];
    let begin = from;
    const add = (id, name, ms, note) => {
        const end = Math.min(to, begin + (ms ?? 0));
        parts.push({ key: `${key}-${id}`, name, note, kind: `${kind} is-part`, from: begin, to: end, took: ms, level: 1 });
        begin = end;
    };
    add('connect', 'Connect', connect, connect === 0 ? 'it was kept' : connect === null ? soon : '');
    add('byte', 'First byte', byte, byte === null ? soon : '');
    add('body', isStream ? 'Stream' : 'Body', byte === null ? null : to - begin, byte === null ? soon : '');
    return parts;
}

function pause(before, next) {
    const from = at(before.finished_at);
    const note = `after ${[before.reason, before.status_code].filter(Boolean).join(' ')}`;
    return { key: `pause-${next.attempt}`, name: 'Pause', note, kind: 'pause', from, to: Math.max(from, at(next.started_at)) };
}

/* ---- what comes, and how it ended outside the app ---- */

function later(run, attempts, now) {
    const end = at(run.finished_at);
    if (run.state === 'cancelled') return [{ key: 'end', name: 'Cancelled', kind: 'cancelled', from: end, to: null }];
    if (run.reason === 'expired') return [{ key: 'end', name: 'Expired', note: 'before it could start', kind: 'failure', from: end, to: null }];
    const last = at(attempts.at(-1)?.finished_at);
    if (!run.next_attempt_at || !last) return [];
    const note = `in ${duration(Math.max(0, at(run.next_attempt_at) - now))}`;
    return [{ key: 'next', name: `Waits for attempt ${run.attempts + 1}`, note, kind: 'pause', from: last, to: Math.max(last, now) }];
}

/* ---- its webhooks ---- */

const LAST_ROUNDS = 3;
const KINDS = { delivered: 'success', sending: 'running', retry: 'retry' };

/** Redeliveries may be many: of the rounds the first and the last ones. */
function sending(delivery, name, now) {
    const { attempts, delivery_id: id } = delivery;
    const rounds = [...new Set(attempts.map(({ round }) => round))];
    const left = new Set(rounds.slice(1, Math.max(1, rounds.length - LAST_ROUNDS)));
    const spans = attempts.flatMap((attempt, i) => {
        if (left.has(attempt.round)) return left.has(attempts[i - 1].round) ? [] : [leftOut(attempts, left, id)];
        const whole = sent(delivery, attempt, rounds.length > 1 ? `${name} attempt ${attempt.round}.${attempt.n}` : `${name} attempt ${attempt.n}`, now);
        const gap = i ? [gapBefore(attempts[i - 1], attempt, whole.key)] : [];
        return [...gap, whole, ...partsOfSending(attempt, whole)];
    });
    return [...spans, ...nextSending(delivery, name, now)];
}

function sent({ delivery_id: id }, attempt, name, now) {
    const from = at(attempt.started_at);
    return {
        key: `${id}-${attempt.round}-${attempt.n}`,
        name,
        note: [attempt.outcome, attempt.status_code].filter(Boolean).join(' '),
        kind: KINDS[attempt.outcome] ?? 'failure',
        from,
        to: Math.max(from, at(attempt.ended_at) ?? (attempt.outcome === 'sending' ? now : from)),
    };
}

function leftOut(attempts, left, id) {
    const of = attempts.filter(({ round }) => left.has(round));
    const name = plural(left.size, 'redelivery', 'redeliveries');
    const from = at(of[0].started_at);
    return { key: `${id}-left`, name, note: 'see Webhook', kind: 'pause', from, to: Math.max(from, at(of.at(-1).ended_at) ?? from) };
}

function gapBefore(before, attempt, key) {
    const from = at(before.ended_at ?? before.started_at);
    const isNew = before.round !== attempt.round;
    const note = isNew ? 'until it was sent again' : `after ${[before.outcome, before.status_code].filter(Boolean).join(' ')}`;
    return { key: `${key}-pause`, name: 'Pause', note, kind: 'pause', from, to: Math.max(from, at(attempt.started_at)) };
}

const PARTS = [
    ['name', 'Name look-up'],
    ['connect', 'Connect'],
    ['tls', 'TLS'],
    ['first_byte', 'First byte'],
];

/** Where the attempt says it: to admins, who may know how the receiver answers. */
function partsOfSending({ duration: parts }, { key, kind, from, to }) {
    let begin = from;
    return PARTS.filter(([part]) => parts?.[part] > 0).map(([part, name]) => {
        const end = Math.min(to, begin + parts[part]);
        const span = { key: `${key}-${part}`, name, note: '', kind: `${kind} is-part`, from: begin, to: end, took: parts[part], level: 1 };
        begin = end;
        return span;
    });
}

function nextSending({ attempts, next_attempt_at: next, delivery_id: id }, name, now) {
    const last = at(attempts.at(-1)?.ended_at);
    if (!next || !last) return [];
    const note = `in ${duration(Math.max(0, at(next) - now))}`;
    return [{ key: `${id}-next`, name: `${name} waits for its next attempt`, note, kind: 'pause', from: last, to: Math.max(last, now) }];
}

/* ---- what was made of it ---- */

function again({ run_id: id, created_at: created, state }) {
    return { key: `again-${id}`, name: `Run again as ${tail(id)}`, note: state, kind: 'again', from: at(created), to: null, link: `#/runs/${id}` };
}
