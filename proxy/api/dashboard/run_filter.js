// run_filter.js - what the list of runs is narrowed down by: in the address, in words, and as the server takes it.
import * as api from './api.js';
import { TIME_OPTIONS, TIMES, readFilter, readStatus, timeBounds, timeInputs } from './filter.js';
import { visible } from './format.js';
import { REASONS } from './state.js';
import { formatter } from './zone.js';

const STATES = ['queued', 'running', 'success', 'failure', 'cancelled'];
const pairs = (words) => [['', ''], ...words.map((word) => [word, word])];

/** By name, as the address has them; null: any text. Those of the last line are no filters. */
export const OPTIONS = {
    app: null,
    state: pairs(STATES),
    mode: [
        ['', ''],
        ['async', 'asynchronous'],
        ['sync', 'synchronous'],
    ],
    reason: pairs(Object.keys(REASONS).filter((reason) => reason !== 'response_too_large')),
    webhook: [
        ['', ''],
        ['none', 'without'],
        ['pending', 'pending'],
        ['delivered', 'delivered'],
        ['dead', 'dead letter'],
    ],
    status: null,
    error: null,
    tag: null,
    q: null,
    ...TIME_OPTIONS,
    ...{ since: null, cols: null, run: null },
};
const PART_OF_ID = /^(?=.{4,36}$)[0-9a-f]+(-[0-9a-f]*)*$/;
const TAG = /^[^=]+(=.*)?$/s;
const moment = formatter({ dateStyle: 'short', timeStyle: 'medium' });

const search = () => new URLSearchParams(location.hash.split('?')[1]);

/** Bounds as the server has them are one's own times. */
function withOwnTimes({ since, ...query }) {
    return query.time || (!since && !query.until) ? query : { ...query, time: 'own', from: since ?? '' };
}

/** The address's, or of `parameters`. `tags` may be several. */
export function readRuns(parameters = search()) {
    const query = withOwnTimes(Object.fromEntries(parameters));
    const { tag, run, cols, since, ...filter } = readFilter(query, OPTIONS);
    return { ...filter, status: readStatus(filter.status), tags: parameters.getAll('tag').filter((text) => TAG.test(text)) };
}

/** What of the address is to be judged by showIgnored. */
export function addressed() {
    return withOwnTimes(Object.fromEntries(search()));
}

/** An address of the list; `more`: which columns, which run. */
export function addressOf({ tags = [], ...filter }, more = {}) {
    const set = new URLSearchParams(Object.entries({ ...filter, ...more }).filter(([, value]) => value));
    for (const tag of tags) set.append('tag', tag);
    return `#/runs${set.size ? `?${set}` : ''}`;
}

/** Goes to the list with another filter: that of the address, changed, for it is ahead of what is shown. */
export function changeRuns(change) {
    location.hash = addressOf({ ...readRuns(), ...change }, { cols: search().get('cols') });
}

export const isFiltered = ({ tags, ...filter }) => tags.length > 0 || Object.values(filter).some(Boolean);

/** What was typed: the beginning of an id, where that has nothing its end, or else part of a path or an error. */
function readSearch(text) {
    const digits = text.trim().replace(/^…/, '').toLowerCase();
    return PART_OF_ID.test(digits) ? { id_prefix: digits } : { find: text.trim() };
}

/** As the server takes it, and whether it has to look at many runs for it. */
export function asked(filter) {
    const { app, state, mode, reason, webhook, status, error, tags, q } = filter;
    const found = q ? readSearch(q) : {};
    const { since, until } = timeBounds(filter);
    const isAsync = { async: 'true', sync: 'false' }[mode];
    return {
        query: { app, state, async: isAsync, reason, webhook, status, error, tag: tags, ...found, since, until },
        isSearch: Boolean(reason || webhook || status || error || tags.length || found.find),
    };
}

/* ---- in words ---- */

function timeText({ time, from, until }) {
    if (time !== 'own') return TIMES.find(([value]) => value === time)[1].toLowerCase();
    const at = (text) => moment(new Date(text));
    const parts = [Date.parse(from) >= 0 && `since ${at(from)}`, Date.parse(until) >= 0 && `until ${at(until)}`];
    return parts.filter(Boolean).join(' ') || 'from … to …';
}

/** What can be chosen, in the order of the line. `go(change)` takes a choice that is made at once. */
export function fieldsOf(go) {
    const listed = (name, label) => ({ name, label, suggest: () => OPTIONS[name].slice(1) });
    const text = (name, label, hint, read) => ({ name, label, hint, read });
    const apps = () => [...api.session.apps].sort().map((app) => [app, app]);
    return [
        {
            name: 'time',
            label: 'Accepted',
            suggest: () => TIMES.slice(1),
            keepsOpen: (value) => value === 'own',
            inputs: () => (readRuns().time === 'own' ? timeInputs(readRuns(), go) : []),
        },
        listed('state', 'State'),
        { name: 'app', label: 'App', hint: 'an app’s name', suggest: apps, read: (app) => (/^[\w.-]{1,128}$/.test(app) ? app : '') },
        listed('reason', 'Reason'),
        {
            name: 'status',
            label: 'Status',
            hint: '404, 5xx, none',
            suggest: () => ['2xx', '3xx', '4xx', '5xx', 'none'].map((one) => [one, one]),
            read: (typed) => readStatus(typed.toLowerCase()),
        },
        text('error', 'Error', 'its first line, all of it', (line) => line),
        text('tags', 'Tag', 'name=value, or a name', (tag) => (TAG.test(tag) ? tag : '')),
        listed('webhook', 'Webhook'),
        listed('mode', 'Mode'),
    ];
}

/** What is on: see showChips. */
export function chipsOf(filter, fields, go) {
    const words = (field) => field.suggest?.().find(([value]) => value === filter[field.name])?.[1] ?? filter[field.name];
    return fields.flatMap((field) => {
        if (field.name === 'tags')
            return filter.tags.map((tag) => ({
                field,
                key: `tag-${tag}`,
                text: tag,
                remove: () => go({ tags: readRuns().tags.filter((other) => other !== tag) }),
            }));
        if (!filter[field.name]) return [];
        const isTime = field.name === 'time';
        const none = isTime ? { time: '', from: '', until: '' } : { [field.name]: '' };
        return [{ field, key: field.name, text: isTime ? timeText(filter) : words(field), remove: () => go(none) }];
    });
}

/** The change that a choice is; `replaced`: the chip in whose place it comes. */
export function choiceOf(field, value, replaced) {
    if (field.name === 'time') return value === 'own' ? { time: 'own' } : { time: value, from: '', until: '' };
    if (field.name !== 'tags') return { [field.name]: value };
    const others = readRuns().tags.filter((tag) => `tag-${tag}` !== replaced && tag !== value);
    return { tags: [...others, value] };
}

/** Of what is typed where ids and paths are looked for, the filter that it is a value of: label, name, value. */
export function ownFilter(text) {
    const isOf = (name) => text && OPTIONS[name].some(([value]) => value === text);
    if (text !== 'none' && readStatus(text)) return ['Status', 'status', text];
    if (isOf('reason')) return ['Reason', 'reason', text];
    return isOf('state') ? ['State', 'state', text] : null;
}

/** The filter in a few words. */
export function inWords(filter) {
    const fields = fieldsOf(() => {});
    const parts = chipsOf(filter, fields, () => {}).map(({ field, text }) => `${field.label.toLowerCase()} ${text}`);
    return visible([...parts, filter.q && `“${filter.q}”`].filter(Boolean).join(', ')) || 'all runs';
}
