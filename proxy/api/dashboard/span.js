// span.js - the span of time that the overview is about, and the addresses that lead to it and to its runs. It stands in
// the address: a period up to now, or one that was chosen in a chart.
import { now } from './clock.js';
import { visible } from './format.js';

const HOUR = 3_600_000;
/** `ms`: how long, null: as long as runs are kept. `time`: what the list of runs calls it (filter.js). */
export const PERIODS = {
    hour: { text: '1 h', ms: HOUR, time: '3600' },
    day: { text: '24 h', ms: 24 * HOUR, time: '86400' },
    week: { text: '7 d', ms: 168 * HOUR, time: '604800' },
    retention: { text: 'All that is kept', ms: null, time: '' },
};

const iso = (ms) => new Date(ms).toISOString();

/**
 * Of an address: `{ period, since, until, isByApp, ignored }`. `since` and `until`, ms, are of a span that was chosen, then
 * `period` is null; `ignored` says what of the address is no span.
 */
export function readSpan({ period, since, until, by }) {
    const isByApp = by === 'app';
    const from = Date.parse(since), to = Date.parse(until);
    const isChosen = since !== undefined || until !== undefined;
    if (from < to && from >= 0) return { period: null, since: from, until: to, isByApp, ignored: null };
    const isKnown = period === undefined || Object.hasOwn(PERIODS, period);
    const bad = Object.entries({ ...(!isKnown && { period }), ...(isChosen && { since, until }), ...(by && !isByApp && { by }) });
    const text = bad.map(([name, value]) => visible(`${name}=${value ?? ''}`)).join(', ');
    return { period: isKnown ? (period ?? 'hour') : 'hour', isByApp, ignored: text || null };
}

/** What the REST interface is asked. */
export function askFor({ period, since, until }) {
    if (!period) return { since: iso(since), until: iso(until) };
    return period === 'week' ? { since: iso(now() - PERIODS.week.ms) } : { period };
}

/** The same page with another span. */
export function addressOf({ period, since, until, isByApp }) {
    const time = period ? period !== 'hour' && { period } : { since: iso(since), until: iso(until) };
    const query = new URLSearchParams({ ...time, ...(isByApp && { by: 'app' }) }).toString();
    return `#/overview${query && `?${query}`}`;
}

/** The list of the runs that `filter` chooses of a span. */
export function runsOf(filter, { period, since, until }) {
    const { time } = PERIODS[period] ?? {};
    const bounds = period ? time && { time } : { time: 'own', from: iso(since), until: iso(until) };
    return `#/runs?${new URLSearchParams({ ...filter, ...bounds })}`;
}

/** The least period that has all of it. */
export function around({ since }) {
    const periods = Object.entries(PERIODS);
    return periods.find(([, { ms }]) => ms === null || since >= now() - ms)[0];
}
