// event_stream.js - server-sent events out of a text that comes in pieces (WHATWG HTML 9.2.6). Whatever comes, it holds
// one event, and of that no more than it is told.
// Not here: the connection (follow.js).

/**
 * `feed(text)` calls `on.event({ id, hasId, type, data, size })` for each event that ends in it, and `on.retry(ms)`. `id`
 * is what a client names next time, `hasId` says that this event brought it. Of longer data than `most` (characters)
 * `data` is the beginning; `size` counts all of it.
 */
export function eventParser(most, on) {
    let line = '', // its beginning
        lineSize = 0,
        isAfterCr = false,
        lastId = '',
        event = fresh();

    function feed(text) {
        let at = isAfterCr && text[0] === '\n' ? 1 : 0;
        if (text) isAfterCr = false;
        while (at < text.length) {
            LINE_END.lastIndex = at;
            const end = LINE_END.exec(text)?.index ?? -1;
            grow(text, at, end < 0 ? text.length : end);
            if (end < 0) return;
            take();
            line = '';
            lineSize = 0;
            at = end + 1;
            if (text[end] !== '\r') continue;
            isAfterCr = at === text.length;
            if (text[at] === '\n') at++;
        }
    }

    function grow(text, from, to) {
        lineSize += to - from;
        const room = most + LONGEST_NAME - line.length;
        if (room > 0) line += text.slice(from, Math.min(to, from + room));
    }

    function take() {
        if (lineSize === 0) return dispatch();
        const colon = line.indexOf(':');
        const name = colon < 0 ? line : line.slice(0, colon);
        const from = colon < 0 ? line.length : colon + (line[colon + 1] === ' ' ? 2 : 1);
        if (name === 'data') addData(from);
        else if (name === 'event') event.type = line.slice(from);
        else if (name === 'id') setId(line.slice(from));
        else if (name === 'retry' && /^\d+$/.test(line.slice(from))) on.retry(Number(line.slice(from)));
    }

    function addData(from) {
        const gap = event.hasData ? '\n' : '';
        event.size += gap.length + lineSize - from;
        event.data += (gap + line.slice(from)).slice(0, Math.max(0, most - event.data.length));
        event.hasData = true;
    }

    function setId(id) {
        if (id.includes('\0')) return;
        lastId = id;
        event.hasId = true;
    }

    function dispatch() {
        const { hasData, ...rest } = event;
        event = fresh();
        if (hasData) on.event({ ...rest, type: rest.type || 'message', id: lastId });
    }

    return { feed };
}

const LINE_END = /[\r\n]/g;
const LONGEST_NAME = 'event: '.length;

const fresh = () => ({ type: '', data: '', size: 0, hasData: false, hasId: false });
