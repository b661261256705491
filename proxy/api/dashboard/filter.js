// filter.js - what a list is narrowed down to. It stands in the address, so that Back and bookmarks know it.
import { moreApps, sortedApps } from './api.js';
import { now } from './clock.js';
import { fill, h, renew, select } from './dom.js';
import { visible } from './format.js';
import { isUtc, onZone } from './zone.js';

const HOUR = 3600;
export const TIMES = [
    ['', 'Any time'],
    [`${HOUR}`, 'Last hour'],
    [`${24 * HOUR}`, 'Last 24 hours'],
    [`${7 * 24 * HOUR}`, 'Last 7 days'],
    ['own', 'From … to …'],
];
/** What a filter of lists with TIMES has of them; `from` and `until` are of one's own, in UTC. */
export const TIME_OPTIONS = { time: TIMES, from: null, until: null };

const STATUS = /^([1-5]\d\d|[1-5]xx|none)$/;

/** What an address of this page says behind its `?`. */
export const parametersOf = (hash = location.hash) => new URLSearchParams(hash.split('?')[1]);

/** Of what the address says, what a page knows: `options` has a filter's options by its name, or null for any text. */
export function readFilter(query, options) {
    const known = Object.entries(options).map(([name, values]) => {
        const value = query[name] ?? '';
        return [name, !values || values.some(([other]) => other === value) ? value : ''];
    });
    return Object.fromEntries(known);
}

/** What the address says that is no filter of the page, or no value of one: a line, or null. */
export function showIgnored(query, options) {
    const bad = Object.entries(query).filter(([name, value]) => value && !isKnown(name, value, query, options));
    const text = bad.map(([name, value]) => visible(`${name}=${value}`)).join(', ');
    return bad.length ? h('p.hint', { role: 'note' }, `Not understood in the address, and left out: ${text}`) : null;
}

function isKnown(name, value, query, options) {
    if (!Object.hasOwn(options, name)) return false;
    if (options[name]) return options[name].some(([other]) => other === value);
    if (name === 'status') return STATUS.test(value);
    return (name !== 'from' && name !== 'until') || (query.time === 'own' && isTime(value));
}

/** Goes to the same page with another filter. What the address says is changed, for it is ahead of what is shown. */
export function changeFilter(page, options, change) {
    const query = Object.fromEntries(parametersOf());
    const set = Object.entries({ ...readFilter(query, options), ...change }).filter(([, value]) => value);
    location.hash = `#/${page}?${new URLSearchParams(set)}`;
}

/**
 * A page around its filter, whose id is the page's own. If it is there already, fields of which the filter stays the same
 * stay, too: somebody may be typing in one.
 */
export function fillAround(main, filters, before, after) {
    const there = document.getElementById(filters.id);
    if (!there) return fill(main, before, filters, after);
    renew(there, [...filters.children]);
    for (const child of [...main.children]) if (child !== there) child.remove();
    there.before(...before);
    there.after(...after.filter((child) => child !== null));
}

/** Its value is a filter's from now on: the field of that filter is this one, and whoever types there goes on. */
export function take(input, value) {
    input.setAttribute('value', value);
}

/** The bounds in time of a filter, as the REST interface takes them: `since` and `until`, or nothing. */
export function timeBounds({ time, from, until }) {
    if (time === 'own') return { since: isTime(from) ? from : '', until: isTime(until) ? until : '' };
    return { since: time && new Date(now() - time * 1000).toISOString(), until: '' };
}

/** Each digit is told, and a year has four. */
function isUnfinished(input) {
    return input.validity.badInput || (input.value !== '' && !fromLocal(input.value));
}

/** None that is before all runs. */
function isTime(text) {
    return Date.parse(text) >= 0;
}

/** From when, until when. */
export function timeInputs(filter, go) {
    const field = (label, name) => {
        let at = filter[name];
        const input = h('input', { type: 'datetime-local', step: 1, value: toLocal(at) });
        input.addEventListener('change', () => {
            if (isUnfinished(input)) return;
            at = fromLocal(input.value);
            take(input, toLocal(at));
            go({ [name]: at });
        });
        onZone(input, () => (input.value = toLocal(at)));
        return h('label.field.time', {}, h('span', {}, label), input);
    };
    return [field('From', 'from'), field('Until', 'until')];
}

/** A time in UTC as an input shows it in the zone of the moment, and back; nothing where it is none. */
function toLocal(text) {
    if (!isTime(text)) return '';
    const at = new Date(text);
    const shift = isUtc() ? 0 : at.getTimezoneOffset() * 60_000;
    return new Date(at - shift).toISOString().slice(0, 19);
}

function fromLocal(text) {
    const zoned = isUtc() ? `${text}Z` : text;
    return isTime(zoned) ? new Date(zoned).toISOString() : '';
}

/** Whose they are, where there are several apps or one is asked for; or null. Where there are too many to be listed any may be typed. */
export function appField(value, go) {
    if (moreApps()) return typedApp(value, go);
    const apps = sortedApps().map((name) => [name, name]);
    return apps.length > 1 || value ? select('App', [['', 'All apps'], ...apps], value, go) : null;
}

function typedApp(value, go) {
    const input = h('input', { type: 'search', list: 'apps', value, placeholder: 'All: type a name', title: moreApps(), spellcheck: 'false', autocomplete: 'off' });
    input.addEventListener('change', () => {
        const app = input.value.trim();
        take(input, app);
        go(app);
    });
    const list = h('datalist', { id: 'apps' }, sortedApps().map((name) => h('option', { value: name })));
    return h('label.field', {}, h('span', {}, 'App'), input, list);
}

export function readStatus(text) {
    return STATUS.test(text) ? text : '';
}
