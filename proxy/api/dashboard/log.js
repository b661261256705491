/* log.js - what was logged about a run, line by line, as text. */
import * as api from './api.js';
import { fill, h, note } from './dom.js';
import { precisely, visible } from './format.js';
import { onZone } from './zone.js';

const LINES_MAX = 200; /* hookline keeps the last ones */
const NEAR = 8; /* px from the end that count as the end */
const OWN = ['time', 'level', 'msg', 'run_id', 'stream', 'line'];

/** A section for it, and `renew(signal, isOver)`, which reads it again. */
export function runLog(path) {
    const view = h('div');
    const count = h('span.count');
    const section = h(
        'section',
        { 'aria-labelledby': 'log', hidden: true },
        h('div.events-head', {}, h('h2', { id: 'log' }, 'Log'), count),
        view,
    );
    let last, again;
    onZone(view, () => again?.());

    async function renew(signal, isOver) {
        const text = await (await api.request('GET', `${path}/logs`, { signal })).text();
        section.hidden = false;
        if (text + isOver === last) return;
        last = text + isOver;
        again = () => show(text.split('\n').filter(Boolean).map(readable), isOver);
        again();
    }

    function show(lines, isOver) {
        fill(count, lines.length < LINES_MAX ? null : `the last ${lines.length} lines`);
        if (lines.length) showLines(visible(lines.join('\n')));
        else fill(view, h('p.hint', {}, isOver ? 'Nothing was logged about this run, or it is no longer kept.' : 'Nothing has been logged about this run yet.'));
    }

    /** Whoever looks at the end goes on seeing the end, and who reads further up is not disturbed. */
    function showLines(text) {
        const known = view.querySelector('pre.log');
        const isAtEnd = !known || known.scrollHeight - known.clientHeight - known.scrollTop < NEAR;
        const pre = known ?? h('pre.log', { tabindex: 0, 'aria-labelledby': 'log' });
        pre.textContent = text;
        if (!known) fill(view, pre);
        if (isAtEnd) pre.scrollTop = pre.scrollHeight;
    }

    /** A run is shown without its log, too. */
    async function tryToRenew(signal, isOver) {
        try {
            await renew(signal, isOver);
        } catch (error) {
            if (error.name === 'AbortError') return;
            section.hidden = false;
            last = undefined;
            fill(view, note('plain', 'The log is not here', h('p', {}, error.message)));
        }
    }

    return { section, renew: tryToRenew };
}

/** The last `n` lines but hookline's own of level debug, for `readable`. Throws ApiError. */
export async function lastLines(path, n, signal) {
    const text = await (await api.request('GET', `${path}/logs`, { signal })).text();
    return text.split('\n').filter((line) => line && !/"level":"debug"/.test(line)).slice(-n);
}

/** "12:00:01.234 error app: Traceback": time, level, message, and what else there is. */
export function readable(line) {
    try {
        const of = JSON.parse(line);
        const rest = Object.entries(of).filter(([name]) => !OWN.includes(name));
        const said = of.line === undefined ? of.msg : `${of.stream ?? of.msg}: ${of.line}`;
        return [precisely(of.time), of.level.padEnd(5), said, ...rest.map(([name, value]) => `${name}=${value}`)].join(' ');
    } catch {
        return line;
    }
}
