// run_filter.js - what the list of runs is narrowed down by, and as the server takes it.
// Not here: the address, chips and words (list_filter.js).
import { readStatus, timeBounds } from './filter.js';
import { APP, ListFilter, STATUS, listed, timeField, typed } from './list_filter.js';
import { REASONS } from './state.js';

const pairs = (words) => words.map((word) => [word, word]);
const STATES = ['queued', 'running', 'success', 'failure', 'cancelled'];
const NAMED = [
    listed('state', 'State', pairs(STATES)),
    listed('reason', 'Reason', pairs(Object.keys(REASONS).filter((reason) => reason !== 'response_too_large'))),
];
const PART_OF_ID = /^(?=.{4,36}$)[0-9a-f]+(-[0-9a-f]*)*$/;
const TAG = /^[^=]+(=.*)?$/s;
const WEBHOOK = [
    ['none', 'without'],
    ['pending', 'pending'],
    ['delivered', 'delivered'],
    ['dead', 'dead letter'],
];
const MODE = [
    ['async', 'asynchronous'],
    ['sync', 'synchronous'],
];

export const FILTER = new ListFilter(
    'runs',
    [
        timeField('Accepted'),
        NAMED[0],
        APP,
        NAMED[1],
        STATUS,
        typed('error', 'Error', 'its first line, all of it'),
        { ...typed('tag', 'Tag', 'name=value, or a name', (tag) => (TAG.test(tag) ? tag : '')), isMany: true },
        listed('webhook', 'Webhook', WEBHOOK),
        listed('mode', 'Mode', MODE),
    ],
    { extra: ['q'], kept: ['cols'], open: 'run' },
);

/** What was typed: the beginning of an id, where that has nothing its end, or else part of a path or an error. */
function readSearch(text) {
    const digits = text.trim().replace(/^…/, '').toLowerCase();
    return PART_OF_ID.test(digits) ? { id_prefix: digits } : { find: text.trim() };
}

/** As the server takes it, and whether it has to look at many runs for it. */
export function asked(filter) {
    const { app, state, mode, reason, webhook, status, error, tag, q } = filter;
    const found = q ? readSearch(q) : {};
    const isAsync = { async: 'true', sync: 'false' }[mode];
    return {
        query: { app, state, async: isAsync, reason, webhook, status, error, tag, ...found, ...timeBounds(filter) },
        isSearch: Boolean(reason || webhook || status || error || tag.length || found.find),
    };
}

/** Of what is typed where ids and paths are looked for, the filter that it is a value of: label, name, value. */
export function ownFilter(text) {
    if (text !== 'none' && readStatus(text)) return ['Status', 'status', text];
    const field = NAMED.find(({ suggest }) => suggest().some(([value]) => value === text));
    return field ? [field.label, field.name, text] : null;
}
