// follow.js - a run's kept events, from the first to the last: read as they come, and taken up again where a lost
// connection left off. The token is in a field of the request, so that this is no EventSource, which can send none.
// Not here: what is shown of it (events.js).
import * as api from './api.js';
import { eventParser } from './event_stream.js';

const AGAIN = 1000; /* ms to the first try after a loss, unless the stream says otherwise; doubled with each */
const AGAIN_MIN = 500;
const AGAIN_MAX = 30_000;
const SILENCE = 60_000; /* ms without a byte, heartbeats included: the connection may be dead */
const SLICE = 12; /* ms of reading before the page has its turn */
const EARLIER = 30; /* ms: what is there sooner than this was kept before */
const ID_MAX = 1024; /* what hookline looks for */
const DATA_MAX = 64 * 1024; /* characters that are held of an event */

/**
 * Follows until there is nothing more to come, or `stop()`; not while nobody sees the tab. Calls
 * - `on.event(event, isEarlier)`: see event_stream.js; `isEarlier`: it was kept before this page came,
 * - `on.progress(value)`: the run has said how far it is,
 * - `on.open({ isOver })`: a connection is there; `isOver`: the run has ended, all that comes was kept,
 * - `on.restart()`: what comes begins with the first event again,
 * - `on.again()`: the app is called once more, the stream begins anew,
 * - `on.lost(error)`: the connection is gone, another one will be tried,
 * - `on.end(state)`: all of it was read; `state`: the run's, where it is known,
 * - `on.refuse(error)`: there is nothing to be followed.
 */
export function follow(path, on) {
    const gone = new AbortController();
    let connection = null, // AbortController
        timer,
        failures = 0,
        lastId = '',
        hasSome = false, // events, that a next connection is to go on behind
        isNext = false, // the stream has ended, the run has not
        pause = AGAIN,
        end = null; // { state }: hookline said that the run has ended

    async function turn() {
        clearTimeout(timer);
        if (connection || gone.signal.aborted || document.hidden) return;
        const mine = (connection = new AbortController());
        let next = null;
        try {
            next = await read(mine);
        } catch (error) {
            if (gone.signal.aborted) return;
            next = mine.signal.aborted ? 0 : fail(error);
        }
        connection = null;
        if (next === null) stop();
        else if (!document.hidden) timer = setTimeout(turn, next);
    }

    /** Resolves with the ms until the next try, or null: nothing more will come. */
    async function read(mine) {
        const isResumed = hasSome && lastId !== '' && lastId.length <= ID_MAX;
        if (hasSome && !isResumed) on.restart();
        hasSome = isResumed;
        const response = await api.request('GET', `${path}/events`, {
            query: { progress: true, last_event_id: isResumed && !isField(lastId) ? lastId : '' },
            headers: isResumed && isField(lastId) ? { 'Last-Event-ID': lastId } : {},
            signal: mine.signal,
        });
        const state = response.headers.get('X-Run-State');
        if (response.status === 204) return finish(state);
        const isOver = state !== null && state !== 'queued' && state !== 'running';
        if (isNext) on.again();
        isNext = false;
        on.open({ isOver });
        const count = await readBody(response, mine, isOver);
        if (end || isOver) return finish(end ? end.state : state);
        isNext = true;
        return count > 0 ? 0 : later();
    }

    /** Resolves with the number of events when the body has ended. */
    async function readBody(response, mine, isOver) {
        const reader = response.body.getReader();
        const cancel = () => reader.cancel().catch(() => {});
        mine.signal.addEventListener('abort', cancel);
        if (mine.signal.aborted) cancel();
        const decoder = new TextDecoder();
        let count = 0,
            isEarlier = true,
            slice = performance.now();
        const parser = eventParser(DATA_MAX, {
            retry: (ms) => (pause = Math.min(Math.max(ms, AGAIN_MIN), AGAIN_MAX)),
            event: (event) => {
                count++;
                pass(event, isEarlier);
            },
        });
        for (let isFirst = true; ; isFirst = false) {
            const asked = performance.now();
            const silence = setTimeout(() => mine.abort(), SILENCE);
            const { done, value } = await reader.read().finally(() => clearTimeout(silence));
            if (mine.signal.aborted) throw new DOMException('', 'AbortError');
            if (done) return count;
            const waited = performance.now() - asked;
            isEarlier = isOver || (isEarlier && waited < EARLIER && (isFirst || value.length > 1024));
            failures = 0;
            parser.feed(decoder.decode(value, { stream: true }));
            if (performance.now() - slice < SLICE) continue;
            await new Promise((resolve) => setTimeout(resolve));
            slice = performance.now();
        }
    }

    /** hookline's own events have no id; each of the app's has one. */
    function pass(event, isEarlier) {
        if (event.hasId) {
            lastId = event.id;
            hasSome = true;
            on.event(event, isEarlier);
        } else if (event.type === 'progress') {
            on.progress(JSON.parse(event.data));
        } else if (event.type === 'run') {
            end = JSON.parse(event.data);
        }
    }

    function finish(state) {
        on.end(state);
        return null;
    }

    function fail(error) {
        if (error.status === 400 && hasSome) {
            lastId = ''; // it is not known any more
            return later();
        }
        const isOfTheMoment = !error.status || error.status === 429 || error.status >= 500;
        if (!isOfTheMoment) {
            on.refuse(error);
            return null;
        }
        on.lost(error);
        return Math.max(later(), (error.after || 0) * 1000);
    }

    function later() {
        return Math.min(pause * 2 ** failures++, AGAIN_MAX) * (0.75 + Math.random() / 2);
    }

    function onSight() {
        if (!document.hidden) turn();
        else connection?.abort();
    }

    function stop() {
        clearTimeout(timer);
        gone.abort();
        connection?.abort();
    }

    document.addEventListener('visibilitychange', onSight, { signal: gone.signal });
    turn();
    return { stop };
}

/** What a field of a request carries as it is. */
function isField(id) {
    return /^[!-~]([ -~]*[!-~])?$/.test(id);
}
