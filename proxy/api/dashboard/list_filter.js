// list_filter.js - what a list is narrowed down by: in the address, as chips, in words.
// Not here: which fields a list has (run_filter.js, deliveries.js, audit.js), the line of chips (chips.js).
import { isAppName, moreApps, sortedApps } from './api.js';
import { TIME_OPTIONS, TIMES, parametersOf, readFilter, readStatus, showIgnored, timeInputs } from './filter.js';
import { visible } from './format.js';
import { formatter } from './zone.js';

const STATUSES = ['2xx', '3xx', '4xx', '5xx', 'none'];
const moment = formatter({ dateStyle: 'short', timeStyle: 'medium' });

/** Bounds as the server has them are one's own times. */
function withOwnTimes({ since, ...query }) {
    return query.time || (!since && !query.until) ? query : { ...query, time: 'own', from: since ?? '' };
}

/* ---- fields that several lists have: see openPicker; `options`: of which the address has one; `isMany`: several at a time ---- */

export const listed = (name, label, options) => ({ name, label, options: [['', ''], ...options], suggest: () => options });

export const typed = (name, label, hint, read = (text) => text) => ({ name, label, hint, read });

export const timeField = (label) => ({ name: 'time', label, suggest: () => TIMES.slice(1), keepsOpen: (value) => value === 'own' });

export const APP = {
    ...typed('app', 'App', 'an app’s name', (app) => (isAppName(app) ? app : '')),
    suggest: () => sortedApps().map((app) => [app, app]),
    lacks: moreApps,
};

export const STATUS = {
    ...typed('status', 'Status', '404, 5xx, none', (text) => readStatus(text.toLowerCase())),
    suggest: () => STATUSES.map((one) => [one, one]),
};

function timeText({ time, from, until }) {
    if (time !== 'own') return TIMES.find(([value]) => value === time)[1].toLowerCase();
    const at = (text) => moment(new Date(text));
    const parts = [Date.parse(from) >= 0 && `since ${at(from)}`, Date.parse(until) >= 0 && `until ${at(until)}`];
    return parts.filter(Boolean).join(' ') || 'from … to …';
}

export class ListFilter {
    #page;
    #kept;
    #extra;
    #fields;
    options;

    /** `extra`: filters without a chip; `kept`: what else the address says for good; `open`: which one is beside the list. */
    constructor(page, fields, { extra = [], kept = [], open = null } = {}) {
        this.#page = page;
        this.#kept = kept;
        this.#extra = [...extra, 'time', 'from', 'until'];
        this.#fields = fields.map((field) => (field.name === 'time' ? { ...field, inputs: () => this.#timeInputs() } : field));
        const others = [...extra, ...kept, open, 'since'].filter(Boolean);
        const options = fields.map(({ name, options: values = null }) => [name, values]);
        this.options = { ...Object.fromEntries([...options, ...others.map((name) => [name, null])]), ...TIME_OPTIONS };
    }

    #timeInputs() {
        const filter = this.read();
        return filter.time === 'own' ? timeInputs(filter, this.change) : [];
    }

    /** The address's, or of `parameters`. */
    read(parameters = parametersOf()) {
        const query = readFilter(withOwnTimes(Object.fromEntries(parameters)), this.options);
        const values = this.#fields.map(({ name, isMany, read }) => {
            if (isMany) return [name, parameters.getAll(name).filter(read)];
            return [name, name === 'status' ? readStatus(query.status) : query[name]];
        });
        const others = this.#extra.map((name) => [name, query[name]]);
        return Object.fromEntries([...values.filter(([name]) => name !== 'time'), ...others]);
    }

    /** What the address says that is none of them: a line, or null. */
    showIgnored() {
        return showIgnored(withOwnTimes(Object.fromEntries(parametersOf())), this.options);
    }

    /** An address of the list; `more`: which columns, which one is beside it. */
    addressOf(filter, more = {}) {
        const all = Object.entries({ ...filter, ...more }).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
        const set = new URLSearchParams(all.filter(([, value]) => value));
        return `#/${this.#page}${set.size ? `?${set}` : ''}`;
    }

    /** Goes to the list with another filter: that of the address, changed, for it is ahead of what is shown. */
    change = (change) => {
        const kept = this.#kept.map((name) => [name, parametersOf().get(name)]);
        location.hash = this.addressOf({ ...this.read(), ...change }, Object.fromEntries(kept));
    };

    isOn(filter) {
        return Object.values(filter).some((value) => value.length > 0);
    }

    /** For showChips. */
    line(filter) {
        return {
            set: this.#chips(filter),
            fields: this.#fields,
            pick: (field, value, replaced) => this.change(this.#choice(field, value, replaced)),
            clear: () => this.change(Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, Array.isArray(value) ? [] : '']))),
        };
    }

    #chips(filter) {
        const words = (field, value) => field.suggest?.().find(([one]) => one === value)?.[1] ?? value;
        return this.#fields.flatMap((field) => {
            const { name, isMany } = field;
            const none = (value) => {
                if (name === 'time') return { time: '', from: '', until: '' };
                return { [name]: isMany ? this.read()[name].filter((other) => other !== value) : '' };
            };
            const values = [filter[name]].flat().filter(Boolean);
            return values.map((value) => ({
                field,
                key: isMany ? `${name}-${value}` : name,
                text: name === 'time' ? timeText(filter) : words(field, value),
                remove: () => this.change(none(value)),
            }));
        });
    }

    /** The change that a choice is; `replaced`: the chip in whose place it comes. */
    #choice({ name, isMany }, value, replaced) {
        if (name === 'time') return value === 'own' ? { time: 'own' } : { time: value, from: '', until: '' };
        if (!isMany) return { [name]: value };
        return { [name]: [...this.read()[name].filter((one) => `${name}-${one}` !== replaced && one !== value), value] };
    }

    /** In a few words. */
    inWords(filter) {
        const parts = this.#chips(filter).map(({ field, text }) => `${field.label.toLowerCase()} ${text}`);
        return visible([...parts, filter.q && `“${filter.q}”`].filter(Boolean).join(', ')) || `all ${this.#page}`;
    }
}
