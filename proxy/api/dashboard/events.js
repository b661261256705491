// events.js - a run's event stream as it comes, event by event, as text. Whoever reads further up is not disturbed: the
// list stands still until it is followed again.
// Promise: the page holds the newest events only, and draws no more often than it has time for.
// Not here: the connection (follow.js).
import { announce, badge, button, fill, h } from './dom.js';
import { plural, time, visible } from './format.js';
import { now } from './clock.js';
import { follow } from './follow.js';

const EVENTS_MAX = 1000;
const TEXT_MAX = 1024 * 1024; /* characters of all of them */
const FOLDED = 500; /* characters, or LINES: longer data is folded */
const LINES = 8;
const EVERY = 50; /* ms between two drawings, at least; more where one takes long */
const ID = 12; /* characters of an id that are shown: its tail, which tells ids apart */
const GLIDE = 3000; /* ms: what a key or a wheel has scrolled may still be moving, for so long on a slow machine */
const SCROLLS = /^(Arrow(Up|Down)|Page(Up|Down)|Home| )$/;
const NEAR = 8; /* px from the end that count as the end */

/** Whether a run's events are kept, or may turn out to be: what is known not to be is not asked for. */
function mayHaveEvents(run) {
    if (run.finished_at) return isKept(run);
    // A synchronous stream that is not kept is known by what the app answered; of a kept one that comes with its end.
    return run.async || (run.mode === 'stream' && run.state === 'running' && run.status_code === null);
}

/** An event stream in the store, which its events can be read from. */
export function isKept(run) {
    return (
        run.result === 'kept' &&
        run.status_code === 200 &&
        /^text\/event-stream *(;|$)/i.test(run.content_type ?? '') &&
        /^(identity)?$/i.test(run.content_encoding ?? '')
    );
}

/**
 * A section for them, which is there as soon as there is an event; `update(run)`, to be called with each look at the run,
 * which answers whether another one is wanted soon; `stop()`. `on.progress(value)`: the run has said how far it is;
 * `on.lost()`: what it says next may not be heard; `on.end()`: it has ended.
 */
export function eventPanel(path, on) {
    const stands = h('span.stands');
    const count = h('span.count');
    const hint = h('p.hint', { hidden: true });
    const list = h('ol');
    const box = h(
        'div.events',
        {
            tabindex: 0,
            role: 'group',
            'aria-label': 'Events, the newest last',
            onscroll: onScroll,
            onkeydown: onKey,
            onwheel: letGo,
            onpointerdown: letGo,
            ontouchmove: letGo,
        },
        list,
    );
    const again = button('Follow', goOn, 'small', { hidden: true });
    const section = h(
        'section',
        { 'aria-labelledby': 'events', hidden: true },
        h('div.events-head', {}, h('h2', { id: 'events' }, 'Events'), stands, count),
        hint,
        h('div.events-frame', {}, box, again),
    );
    const resized = new ResizeObserver(() => isFollowing && toEnd());
    resized.observe(box);

    let following = null,
        events = [], // the newest, drawn or not
        size = 0, // characters of them
        seen = 0, // events in all
        isEnded = false,
        isOver = false, // what comes was kept
        wasOpen = false,
        isKnown = false, // to be a stream
        isRefused = false,
        dropped = 0, // how many entries came before those
        drawnFrom = 0, // the list's first and what follows its last, counted like that
        drawnTo = 0,
        isFollowing = true,
        isLost = false,
        top = 0,
        stickUntil = 0,
        timer,
        dueAt = 0;

    const total = () => dropped + events.length;

    /** Many runs have ended by the next look, and most are no streams: to ask for their events would be refused. */
    function update(run) {
        const mayHave = !following && mayHaveEvents(run);
        const isWanted = mayHave && !wasOpen && !run.finished_at && run.mode !== 'stream';
        wasOpen = !run.finished_at;
        if (mayHave && !isWanted) following = follow(path, handlers);
        if (!run.finished_at || section.hidden) section.classList.toggle('is-live', !run.finished_at);
        isKnown = run.finished_at ? isKept(run) : run.mode === 'stream' && following !== null && !isRefused;
        if (isKnown && !run.finished_at) wish(true);
        return isWanted;
    }

    /* ---- what comes ---- */

    const handlers = {
        progress: on.progress,
        event(event, isEarlier) {
            seen++;
            add({ ...event, at: isOver ? null : isEarlier ? 'earlier' : now() });
        },
        again() {
            if (seen) add({ isBreak: true, data: '', size: 0 });
        },
        restart() {
            events = [];
            seen = size = dropped = drawnFrom = drawnTo = 0;
            isFollowing = true;
            fill(list);
            wish();
        },
        open(stream) {
            isOver = stream.isOver;
            if (isLost && !section.hidden) announce('The events go on');
            isLost = false;
            say(badge('running', isOver ? 'reading' : 'live'));
            if (isOver) wish(true);
        },
        lost(error) {
            on.lost();
            const isFull = error.status === 429;
            if (isFull || isKnown) section.hidden = false;
            say(badge('cancelled', isFull ? 'too many follow' : 'connection lost: reconnecting', 'warning'));
            tell(isFull ? `${error.message} It is tried again.` : null);
            if (!isLost && !section.hidden)
                announce(isFull ? 'The events cannot be followed yet' : 'The connection to the events is lost');
            isLost = true;
        },
        end(state) {
            isEnded = true;
            if (seen || isKnown) section.hidden = false;
            clearTimeout(timer);
            timer = null;
            draw();
            say(state ? badge(state, `ended: ${state}`) : badge('queued', 'ended', 'success'));
            on.end();
        },
        refuse(error) {
            // No stream, or one that is not kept: there is nothing to show, unless something was shown.
            isRefused = true;
            section.hidden = error.status !== 410 && !seen;
            say(badge('cancelled', error.status === 410 ? 'not kept' : 'not to be followed', 'warning'));
            const isOther = error.status === 409;
            tell(isOther ? 'The app’s last answer was not an event stream: see its result.' : error.message);
        },
    };

    function add(event) {
        events.push(event);
        size += event.data.length;
        while (events.length > EVENTS_MAX || size > TEXT_MAX) {
            size -= events.shift().data.length;
            dropped++;
        }
        wish();
    }

    /* ---- what is shown ---- */

    function say(words) {
        fill(stands, words);
        fill(hint);
        hint.hidden = true;
    }

    function tell(text) {
        fill(hint, text && visible(text));
        hint.hidden = !text;
    }

    /** Soon: many events are drawn at once. */
    function wish(isToBeSeen = seen > 0) {
        if (isToBeSeen) section.hidden = false;
        timer ??= setTimeout(() => {
            const began = performance.now();
            timer = null;
            draw();
            const took = performance.now() - began;
            dueAt = performance.now() + Math.max(EVERY, 4 * took);
        }, Math.max(0, dueAt - performance.now()));
    }

    function draw() {
        fill(count, seen ? countWords() : isEnded ? 'none' : 'none yet');
        again.hidden = isFollowing;
        const fresh = total() - drawnTo;
        again.textContent = fresh ? `Follow: ${plural(fresh, 'newer event')}` : 'Follow';
        if (!isFollowing) return;
        const gone = Math.min(dropped, drawnTo) - drawnFrom;
        for (let i = 0; i < gone; i++) remove(list.firstChild);
        drawnFrom = dropped;
        drawnTo = Math.max(drawnTo, dropped);
        list.append(...events.slice(drawnTo - dropped).map((event) => showEvent(event, onUnfold)));
        drawnTo = total();
        toEnd();
    }

    function countWords() {
        const all = plural(seen, 'event');
        return dropped ? `${all}, the first ${dropped.toLocaleString()} not shown` : all;
    }

    function remove(row) {
        if (row.contains(document.activeElement)) box.focus({ preventScroll: true });
        row.remove();
    }

    /* ---- where the reader is ---- */

    const below = () => box.scrollHeight - box.clientHeight - box.scrollTop;

    function toEnd() {
        box.scrollTop = box.scrollHeight;
        top = box.scrollTop;
    }

    /** The slightest way up counts, of the way back all but the last pixels. */
    function onScroll() {
        if (performance.now() < stickUntil) return toEnd();
        const isUp = box.scrollTop <= top - 1;
        top = box.scrollTop;
        if (isFollowing ? isUp && below() >= 1 : !isUp && below() < NEAR) setFollowing(!isFollowing);
    }

    /** A browser may lose this key while an earlier one's glide comes to its end: Home, then at once End. */
    function onKey(event) {
        if (SCROLLS.test(event.key)) letGo();
        if (event.key !== 'End' || isFollowing || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        followAgain();
    }

    /** What was unfolded is to be read. */
    function onUnfold() {
        if (isFollowing && below() >= 1) setFollowing(false);
    }

    function setFollowing(value) {
        isFollowing = value;
        draw();
    }

    function goOn() {
        box.focus({ preventScroll: true });
        followAgain();
    }

    /** What scrolls from now on is the reader, and no glide of before. */
    function letGo() {
        stickUntil = 0;
    }

    function followAgain() {
        stickUntil = performance.now() + GLIDE;
        setFollowing(true);
    }

    function stop() {
        following?.stop();
        clearTimeout(timer);
        resized.disconnect();
    }

    return { section, update, stop };
}

/* ---- one event ---- */

function showEvent(event, onUnfold) {
    if (event.isBreak) return h('li.break', {}, 'The app is called again: the stream starts over');
    const { id, type, data, size, at } = event;
    const name = visible(id);
    const text = () => (data ? h('span.text', {}, visible(data)) : h('span.none', {}, 'no data'));
    return h(
        'li',
        {},
        h('span.event-id', { title: name }, name.length > ID ? `…${name.slice(1 - ID)}` : name),
        h('span.event-time', {}, typeof at === 'number' ? time(new Date(at).toISOString(), { style: 'short' }) : at),
        h(
            'div.event-data',
            {},
            type === 'message' ? null : h('span.chip', {}, visible(type)),
            isLong(data) ? fold(data, size, onUnfold) : text(),
        ),
    );
}

function isLong(data) {
    return data.length > FOLDED || data.split('\n', LINES + 1).length > LINES;
}

/** The beginning, and all of it when that is wanted. */
function fold(data, size, onUnfold) {
    const start = visible(data.slice(0, 90).replaceAll('\n', ' '));
    const rest = size - data.length;
    const more = `${plural(rest, 'character')} more: download the result for all of it.`;
    function ontoggle() {
        if (details.childElementCount === 1)
            details.append(h('pre', {}, visible(data)), rest ? h('p.hint', {}, more) : '');
        onUnfold();
    }
    const details = h(
        'details',
        { ontoggle },
        h('summary', {}, h('span.text', {}, `${start}…`), ' ', h('span.none', {}, plural(size, 'character'))),
    );
    return details;
}
