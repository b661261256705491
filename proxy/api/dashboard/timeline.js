// timeline.js - a run's times, drawn to scale: waiting, running, each attempt of each webhook.
import { h, s } from './dom.js';
import { duration } from './format.js';

const LABEL = 84;
const RIGHT = 20;
const LANE = 30;
const AXIS = 26;

/** 1, 2 or 5 times a power of ten (of ms), about `count` of them in `span`; minutes and hours from there. */
function step(span, count) {
    const rough = span / count;
    const units = [6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5, 1728e5];
    if (rough > 3e4) return units.find((unit) => unit >= rough) ?? Math.ceil(rough / 864e5) * 864e5;
    const power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 5, 10].find((n) => n * power >= rough) * power;
}

/**
 * What happened up to `now`, as lanes of bars: `[{ label, bars: [{ from, to, kind, text }] }]`, ms since the epoch.
 * Redeliveries may be days later: each round after the first has a drawing of its own.
 */
export function lanesOf(run, deliveries, now) {
    const rounds = [[{ label: 'Run', bars: runBars(run, now) }]];
    deliveries.forEach((delivery, i) => {
        for (const attempt of delivery.attempts) {
            const round = (rounds[attempt.round - 1] ??= []);
            const label = deliveries.length > 1 ? `Webhook ${i + 1}` : 'Webhook';
            let lane = round.find((other) => other.label === label);
            if (!lane) round.push((lane = { label, bars: [] }));
            const from = at(attempt.started_at);
            lane.bars.push({
                from,
                to: at(attempt.ended_at) ?? (attempt.outcome === 'sending' ? now : from),
                kind:
                    { delivered: 'success', sending: 'running', retry: 'retry' }[attempt.outcome] ??
                    'failure',
                text: `attempt ${attempt.n}: ${attempt.outcome}${attempt.status_code ? `, status ${attempt.status_code}` : ''}`,
            });
        }
    });
    return rounds.map((lanes, i) => ({ round: i + 1, lanes })).filter(({ lanes }) => lanes?.length);
}

const at = (text) => (text ? Date.parse(text) : null);

function runBars(run, now) {
    const accepted = at(run.created_at);
    const attempts = run.attempt_log?.length ? run.attempt_log : run.started_at ? [run] : [];
    const first = at(attempts[0]?.started_at);
    const bars = [];
    if (run.async || first > accepted) {
        const until = Math.max(accepted, first ?? at(run.finished_at) ?? now);
        bars.push({ from: accepted, to: until, kind: 'queued', text: `queued for ${duration(until - accepted)}` });
    }
    attempts.forEach((attempt, i) => {
        const isLast = i === attempts.length - 1;
        const { started_at: from, finished_at: to } = attempt;
        const known = { from: at(from), to: Math.max(at(from), at(to) ?? now) };
        const number = attempts.length > 1 || run.next_attempt_at ? `attempt ${attempt.attempt} ` : '';
        const state = isLast && run.finished_at ? run.state : 'failure';
        const { kind, text } = wordsOf({ ...attempt, state }, to, duration(known.to - known.from));
        bars.push({ ...known, kind: kind === 'failure' && !isLast ? 'retry' : kind, text: `${number}${text}` });
    });
    const last = at(attempts.at(-1)?.finished_at);
    if (run.next_attempt_at && last)
        bars.push({ from: last, to: Math.max(last, now), kind: 'queued', text: `waits for attempt ${run.attempts + 1}` });
    return bars;
}

/** What it did until `finished`, and how that is drawn: after hookline stopped nothing is known of it. */
function wordsOf({ state, reason }, finished, span) {
    if (!finished) return { kind: 'running', text: `running for ${span}` };
    if (reason === 'interrupted')
        return { kind: 'interrupted', text: `ran until hookline stopped, at most ${span}: ${state}` };
    return { kind: state, text: `ran for ${span}: ${state}` };
}

/** The drawing, `width` pixels wide, and what it says in words. */
export function drawTimeline({ round, lanes }, width) {
    const all = lanes.flatMap(({ bars }) => bars);
    if (!all.length) return null;
    const from = Math.min(...all.map((bar) => bar.from));
    const span = Math.max(1, ...all.map((bar) => bar.to - from));
    const x = (ms) => LABEL + ((ms - from) / span) * (width - LABEL - RIGHT);
    const height = lanes.length * LANE + AXIS;
    const title = round > 1 ? `Redelivery, round ${round}` : 'Timeline';
    const words = lanes.flatMap(({ label, bars }) =>
        bars.map((bar) =>
            h('li', {}, h(`i.key.is-${bar.kind}`), label === 'Run' ? '' : `${label}, `, bar.text),
        ),
    );
    return h(
        'div.timeline',
        {},
        s(
            'svg',
            {
                viewBox: `0 0 ${width} ${height}`,
                role: 'img',
                'aria-label': `${title}, to scale; in words below`,
            },
            drawAxis({ span, x, from, height, width }),
            lanes.map((lane, i) => drawLane(lane, i * LANE, x, width)),
        ),
        h('ul.readout', {}, words),
    );
}

function drawAxis({ span, x, from, height, width }) {
    const every = step(span, Math.min(8, width / 110));
    const ticks = [];
    for (let t = 0; t <= span * 1.0001; t += every) {
        const at = x(from + t);
        ticks.push(s('line.tick', { x1: at, x2: at, y1: 0, y2: height - AXIS + 6 }));
        const anchor = t === 0 ? 'start' : at > width - 60 ? 'end' : 'middle';
        ticks.push(
            s(
                'text.axis',
                { x: at, y: height - 6, 'text-anchor': anchor },
                t === 0 ? '0' : `+${duration(t)}`,
            ),
        );
    }
    return ticks;
}

function drawLane({ label, bars }, y, x, width) {
    const sorted = [...bars].sort((a, b) => a.from - b.from);
    const links = sorted
        .slice(1)
        .map((bar, i) =>
            s('line.wait', { x1: x(sorted[i].to), x2: x(bar.from), y1: y + LANE / 2, y2: y + LANE / 2 }),
        );
    return s(
        'g',
        {},
        s('text.lane', { x: 0, y: y + LANE / 2 + 5 }, label),
        links,
        sorted.map((bar) => {
            const long = Math.max(4, x(bar.to) - x(bar.from));
            const left = Math.min(x(bar.from), width - RIGHT - 4);
            const size = { x: left, y: y + 6, width: long, height: LANE - 12, rx: 3 };
            return s(`rect.bar.is-${bar.kind}`, size, s('title', {}, bar.text));
        }),
    );
}
