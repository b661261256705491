// format.js - times, sizes and texts of others, as people read them.
import { now } from './clock.js';
import { h } from './dom.js';
import { formatter, isExact } from './zone.js';

const clock = formatter({ timeStyle: 'medium' });
const day = formatter({ day: 'numeric', month: 'short' });
const full = formatter({ dateStyle: 'medium', timeStyle: 'medium' });
const date = formatter({ dateStyle: 'medium' });
const precise = formatter({ hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3, hourCycle: 'h23' });

const TAIL = 8;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const STYLES = {
    full,
    date,
    precise,
    short: (at) => (date(at) === date(new Date()) ? clock(at) : `${day(at)}, ${clock(at)}`),
    ago: (at) => (isExact() ? STYLES.short(at) : ago(at)),
};

/**
 * How long ago it was, or how long until then, unless the reader wants it exactly (zone.js); the exact one in UTC when
 * pointed at, and in what is copied. Styles: 'ago', 'short' (as today allows), 'full', 'date', 'precise' (of the day, to the millisecond).
 */
export function time(text, { style = 'ago', empty = '–' } = {}) {
    if (!text) return h('span.none', {}, empty);
    const title = text.replace('T', ' ').replace('Z', ' UTC');
    const attributes = { datetime: text, title, 'data-style': style };
    return h('time', attributes, STYLES[style](new Date(text)));
}

/** The time of the day, to the millisecond, where there is nothing but text. */
export const precisely = (text) => precise(new Date(text));

/** In one unit, rounded down: 12 s ago, 4 min ago, 3 h ago, 2 d ago, in 5 s. What is long past has its date. */
function ago(at) {
    const ms = now() - at;
    const far = Math.abs(ms);
    if (far < SECOND) return 'now';
    if (far >= 14 * DAY) return date(at);
    const [unit, word] = [[DAY, 'd'], [HOUR, 'h'], [MINUTE, 'min'], [SECOND, 's']].find(([least], i) => far >= least * (i ? 1 : 2));
    const amount = `${Math.floor(far / unit)} ${word}`;
    return ms < 0 ? `in ${amount}` : `${amount} ago`;
}

/** Those that are on the page, once they are told otherwise. A selection stays. */
export function renewTimes(which = 'time[data-style]') {
    for (const element of document.querySelectorAll(which)) {
        const text = STYLES[element.dataset.style](new Date(element.dateTime));
        if (element.firstChild.data !== text) element.firstChild.data = text;
    }
}

setInterval(() => document.hidden || isExact() || renewTimes('time[data-style=ago]'), SECOND);

/** What is copied has the exact times: "4 min ago" says nothing where it is pasted. */
document.addEventListener('copy', (event) => {
    const selection = getSelection();
    if (selection.isCollapsed) return;
    const one = selection.getRangeAt(0).commonAncestorContainer.parentElement?.closest('time[data-style=ago]');
    if (one) {
        event.clipboardData.setData('text/plain', one.title);
        return event.preventDefault();
    }
    const texts = [...document.querySelectorAll('time[data-style=ago]')]
        .map(({ firstChild, title }) => ({ node: firstChild, shown: firstChild.data, title }))
        .filter(({ node }) => selection.containsNode(node));
    for (const { node, title } of texts) node.data = title;
    setTimeout(() => texts.forEach(({ node, shown }) => (node.data = shown)));
});

/** 0.4 ms, 12 ms, 3.2 s, 4 min 12 s, 2 h 5 min, 3 d 4 h. */
export function duration(ms) {
    if (ms === null || ms === undefined || Number.isNaN(ms)) return '–';
    const s = ms / 1000;
    if (ms < 999.5) return `${Number(ms.toFixed(ms < 1 ? 2 : ms < 10 ? 1 : 0))} ms`;
    if (s < 59.95) return `${Number(s.toFixed(s < 10 ? 2 : 1))} s`;
    const two = (n, unit, rest, small) => `${n} ${unit}${rest ? ` ${rest} ${small}` : ''}`;
    if (s < 3600) return two(Math.floor(s / 60), 'min', Math.floor(s % 60), 's');
    if (s < 86400) return two(Math.floor(s / 3600), 'h', Math.floor((s % 3600) / 60), 'min');
    return two(Math.floor(s / 86400), 'd', Math.floor((s % 86400) / 3600), 'h');
}

/** The time between two texts; an end that is not there yet is now. */
export function between(from, to) {
    return from ? Math.max(0, (to ? Date.parse(to) : now()) - Date.parse(from)) : null;
}

/** 512 B, 3.4 KiB, 64 MiB. */
export function bytes(n) {
    if (n === null || n === undefined) return '–';
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    for (; n >= 1024 && unit < units.length - 1; unit++) n /= 1024;
    return `${unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[unit]}`;
}

export function number(n) {
    if (n === null || n === undefined) return '–';
    return n >= 1000 ? Math.round(n).toLocaleString() : String(Number(n.toPrecision(3)));
}

export function plural(n, one, many = `${one}s`) {
    return `${n.toLocaleString()} ${n === 1 ? one : many}`;
}

/** The end of an id, which tells ids apart: by it Find and the command line know a run. */
export function tail(text) {
    return text.slice(-TAIL);
}

/** An id that keeps its tail, which tells ids apart, where there is no room for all of it. */
export function id(text) {
    return h(
        'span.id',
        { title: text },
        h('span.id-head', {}, text.slice(0, -TAIL)),
        h('span', {}, tail(text)),
    );
}

const END = 14; /* characters that stay where the middle goes: as long as /hooks/billing */

/** Where the last `end` characters begin, or those from a sign on: two boxes are two words for those who hear them. What is short is one. */
function cutAt(text, end) {
    if (text.length <= 1.5 * end) return text.length;
    const sign = text.slice(-end).search(/[/.:#_ -]/);
    return text.length - end + (sign > 0 && sign <= end / 2 ? sign : 0);
}

/**
 * A line that loses its middle where there is no room for all of it: the end tells names apart. `parts`: pairs of a class
 * and what is shown so; of several the last stays whole if it can.
 */
export function cutMiddle(parts, end = END) {
    const halves = [[], []];
    const whole = parts.map(([, text]) => text).join(''), last = parts.at(-1)[1];
    let left = last && last.length <= end && parts.length > 1 ? whole.length - last.length : cutAt(whole, end);
    for (const [name, text] of parts) {
        const pieces = [text.slice(0, left), text.slice(left)];
        pieces.forEach((piece, i) => piece && halves[i].push(h(`span.${name}`, {}, piece)));
        left = Math.max(0, left - text.length);
    }
    return h('span.middle', {}, halves.filter((half) => half.length).map((half) => h('span', {}, half)));
}

/** The same of what others have named. `end`: 8 in a column as narrow as an app's. */
export const cutName = (name, end) => cutMiddle([['text', visible(name)]], end);

/** Two boxes would be two lines where they are pasted: while they are copied they are none. */
document.addEventListener('copy', () => {
    document.body.classList.add('is-copied');
    setTimeout(() => document.body.classList.remove('is-copied'));
});

/**
 * What others wrote, harmless and readable: what is not seen (controls, what turns the direction of text, what
 * separates lines or has no width) is shown, not obeyed.
 */
export function visible(text) {
    return text.replaceAll('\r\n', '\n').replace(/(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => {
        const code = c.codePointAt(0);
        if (code < 0x20) return String.fromCharCode(0x2400 + code);
        return code === 0x7f
            ? '\u2421'
            : `\u27e8U+${code.toString(16).toUpperCase().padStart(4, '0')}\u27e9`;
    });
}
