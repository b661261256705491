// waterfall.js - spans of time, one below the other, on one axis: on each what it is and how long. Where one of them would
// hide the others, the axis is broken: long spans are drawn shorter than they are, in the same order.
// Promise: what is drawn is said in words in the same place, the rows are reached by keyboard, and one that has the focus
// keeps it while times grow.
import { h, renew, s } from './dom.js';
import { duration, time } from './format.js';

const NARROW = 0.015; /* of the axis: where an attempt is narrower than this, the axis is broken */
const LEAST = 0.008; /* of the axis: what is shorter is drawn as wide as this */
const TICKS = 4;
const APART = 0.21; /* of the axis: the room of a label */
const LAST = 0.9; /* of the axis: labels behind it end where they belong */
const LONG = 18; /* rows: where there are more, the parts of a span are seen once it is opened */
const ENDED = /^(attempt|[0-9a-f]{8}-)/; /* keys of what was waited for: the attempts */

/** `{ element, show(spans) }`. */
export function waterfall() {
    const grid = s('svg.span-grid', { 'aria-hidden': 'true' });
    const axis = s('svg.span-axis', { 'aria-hidden': 'true' });
    const list = h('ol.spans', { 'aria-label': 'What happened, in order', onkeydown, onfocusin });
    const hint = h('p.hint', { hidden: true }, 'Long spans are drawn shorter than they are.');
    const element = h('div.timeline', {}, h('div.span-frame', {}, grid, list), axis, hint);
    const rows = new Map();

    function show(spans) {
        const scale = scaleOf(spans);
        hint.hidden = !scale.isBroken;
        list.classList.toggle('is-long', spans.length > LONG);
        renew(grid, scale.ticks.map(({ x }) => s('line.tick', { x1: part(x), x2: part(x), y1: 0, y2: '100%' })));
        renew(axis, scale.ticks.map(drawTick));
        for (const [key, row] of rows)
            if (!spans.some((span) => span.key === key)) {
                row.element.remove();
                rows.delete(key);
            }
        spans.forEach((span, i) => {
            if (!rows.has(span.key)) rows.set(span.key, showRow(span));
            const row = rows.get(span.key);
            if (list.children[i] !== row.element) list.insertBefore(row.element, list.children[i] ?? null);
            row.update(span, scale);
        });
        if (!list.querySelector('[tabindex="0"]')) list.querySelector('button')?.setAttribute('tabindex', 0);
    }

    /** One of the rows is in the order of tabs; from there the arrows lead on. */
    function onkeydown(event) {
        const buttons = [...list.querySelectorAll('.span-line')].filter((line) => line.offsetParent);
        const here = buttons.indexOf(document.activeElement);
        const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: buttons.length - 1 }[event.key];
        if (to === undefined || here < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        buttons[to]?.focus();
    }

    function onfocusin({ target }) {
        const line = target.closest('.span-line');
        if (!line) return;
        list.querySelectorAll('[tabindex="0"]').forEach((one) => one.setAttribute('tabindex', -1));
        line.setAttribute('tabindex', 0);
    }

    return { element, show };
}

const part = (x) => `${Number((100 * x).toFixed(3))}%`;

function drawTick({ x, text }) {
    const anchor = x === 0 ? 'start' : x > LAST ? 'end' : 'middle';
    return s('text.axis', { x: part(x), y: 14, 'text-anchor': anchor }, text);
}

/* ---- a row ---- */

function showRow({ key, level = 0 }) {
    const name = h('span.span-name');
    const note = h('span.span-note');
    const took = h('span.span-took');
    const bar = s('rect', { y: 0, height: 6, rx: 2 });
    const more = h('p.span-more', { hidden: true });
    const line = h(
        'button.span-line',
        { type: 'button', tabindex: -1, 'aria-expanded': 'false', onclick },
        h('span.span-words', {}, name, ' ', note, ' ', took),
        s('svg.span-track', { 'aria-hidden': 'true' }, bar),
    );
    const element = h(`li.is-level-${level}`, { 'data-span': key }, line, more);

    function onclick() {
        more.hidden = !more.hidden;
        line.setAttribute('aria-expanded', String(!more.hidden));
        let next = element.nextElementSibling;
        for (; next?.classList.contains('is-level-1'); next = next.nextElementSibling) next.classList.toggle('is-open', !more.hidden);
    }

    function update(span, scale) {
        put(name, span.name);
        put(note, span.note ?? '');
        put(took, tookOf(span));
        bar.setAttribute('class', `bar is-${span.kind}${span.to === null ? ' is-moment' : ''}`);
        const from = scale.at(span.from);
        const width = Math.max(LEAST, scale.at(span.to ?? span.from) - from);
        bar.setAttribute('x', part(Math.min(from, 1 - LEAST)));
        bar.setAttribute('width', part(Math.min(width, 1)));
        renew(more, exactly(span));
    }

    return { element, update };
}

function put(element, text) {
    if (element.textContent !== text) element.textContent = text;
}

function tookOf({ from, to, took, isAtMost }) {
    if (to === null) return '';
    if (took === null) return '–';
    return `${isAtMost ? 'at most ' : ''}${duration(took ?? to - from)}`;
}

function exactly({ from, to, link }) {
    const when = (ms) => time(new Date(ms).toISOString(), { style: 'full' });
    const words = to === null ? [h('span', {}, 'At ', when(from))] : [h('span', {}, 'From ', when(from), ' to ', when(to))];
    return link ? [...words, h('a', { href: link }, 'Show that run')] : words;
}

/* ---- the axis ---- */

/** Where each moment is, from 0 to 1; `ticks` have their labels: the time since the first moment. */
function scaleOf(spans) {
    const from = Math.min(...spans.map((span) => span.from));
    const to = Math.max(from + 1, ...spans.map((span) => span.to ?? span.from));
    const isBroken = spans.some((span) => ENDED.test(span.key) && isHidden(span, to - from));
    return isBroken ? broken(spans, from) : linear(from, to);
}

function isHidden({ from, to, level }, whole) {
    return !level && to !== null && to > from && (to - from) / whole < NARROW;
}

function linear(from, to) {
    const span = to - from;
    const every = step(span, TICKS);
    const ticks = [];
    for (let t = 0; t <= span * 1.0001; t += every) ticks.push({ x: t / span, text: label(t) });
    return { isBroken: false, at: (ms) => (ms - from) / span, ticks: thin(ticks) };
}

const label = (ms) => (ms ? `+${duration(ms)}` : '0');

/** 1, 2 or 5 times a power of ten (of ms), about `count` of them in `span`; minutes and hours from there. */
function step(span, count) {
    const rough = span / count;
    const units = [6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5, 1728e5];
    if (rough > 3e4) return units.find((unit) => unit >= rough) ?? Math.ceil(rough / 864e5) * 864e5;
    const power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 5, 10].find((n) => n * power >= rough) * power;
}

/** Between two moments at which something begins or ends, as wide as the logarithm of the time between them. */
function broken(spans, from) {
    const moments = [...new Set(spans.flatMap((span) => [span.from, span.to ?? span.from]))].sort((a, b) => a - b);
    const widths = moments.slice(1).map((ms, i) => Math.log2(1 + ms - moments[i]));
    const whole = widths.reduce((sum, width) => sum + width, 0);
    const places = [0];
    widths.forEach((width, i) => places.push(places[i] + width / whole));
    const at = (ms) => {
        const i = Math.max(1, moments.findIndex((moment) => moment >= ms));
        const share = (ms - moments[i - 1]) / (moments[i] - moments[i - 1]);
        return places[i - 1] + share * (places[i] - places[i - 1]);
    };
    return { isBroken: true, at, ticks: thin(places.map((x, i) => ({ x, text: label(moments[i] - from) }))) };
}

/** Those whose labels stay apart. */
function thin(ticks) {
    const kept = [];
    for (const tick of ticks) {
        const room = tick.x > LAST ? 1.5 * APART : APART;
        if (!kept.length || tick.x - kept.at(-1).x >= room) kept.push(tick);
    }
    return kept;
}
