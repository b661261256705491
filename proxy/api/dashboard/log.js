/* log.js - what was logged about a run, line by line, as text. */
import * as api from './api.js';
import { fill, h, note } from './dom.js';
import { visible } from './format.js';

const OWN = ['time', 'level', 'msg', 'run_id', 'stream', 'line'];

/** A section for it, and `renew(signal)`, which reads it again. */
export function runLog(path) {
    const view = h('div');
    const section = h(
        'section',
        { 'aria-labelledby': 'log', hidden: true },
        h('h2', { id: 'log' }, 'Log'),
        view,
    );
    let last;

    async function renew(signal) {
        const text = await (await api.request('GET', `${path}/logs`, { signal })).text();
        section.hidden = false;
        if (text === last) return;
        last = text;
        const lines = text.split('\n').filter(Boolean).map(readable);
        if (lines.length)
            fill(view, h('pre.log', { tabindex: 0, 'aria-labelledby': 'log' }, visible(lines.join('\n'))));
        else fill(view, h('p.hint', {}, 'Nothing was logged about this run, or it is not kept any more.'));
    }

    /** A run is shown without its log, too. */
    async function tryToRenew(signal) {
        try {
            await renew(signal);
        } catch (error) {
            if (error.name === 'AbortError') return;
            section.hidden = false;
            last = undefined;
            fill(view, note('plain', 'The log is not here', h('p', {}, error.message)));
        }
    }

    return { section, renew: tryToRenew };
}

/** "12:00:01.234 error app: Traceback": time, level, message, and what else there is. */
function readable(line) {
    try {
        const of = JSON.parse(line);
        const rest = Object.entries(of).filter(([name]) => !OWN.includes(name));
        const said = of.line === undefined ? of.msg : `${of.stream ?? of.msg}: ${of.line}`;
        return [of.time.slice(11, 23), of.level.padEnd(5), said, ...rest.map(([name, value]) => `${name}=${value}`)].join(' ');
    } catch {
        return line;
    }
}
