// recording.mjs - an event stream that has in it whatever the grammar allows, each kind of event with each line end: a byte string.
// It is cut after each of its bytes, and what follows a cut is read to its end: what is longer than it needs to be costs by its square.

const ENDS = ['\n', '\r\n', '\r'];

/** What stands in one event beside its data, by turns; `e` is its line end, `n` its number. */
const KINDS = [
    (e, n) => `data: ${n}${e}`,
    (e, n) => `data:${n}${e}data${e}data: more${e}`,
    (e, n) => `event: e${n % 3}${e}data: ${n}${e}`,
    (e, n) => `: c${n}${e}data: ${n}${e}:${e}`,
    (e, n) => `id: own-${n}${e}data: ${n}${e}`,
    (e, n) => `data: ${n}${e}retry: ${n}${e}`,
    (e, n) => `data: ${n}${e}id: again${e}`,
    (e, n) => `id: n\0l${e}data: ${n}${e}`,
    (e, n) => `id${e}data: ${n}${e}`,
    (e, n) => `data: ${n}${e}id:${e}`,
    (e, n) => `id: ${n - 30}${e}data: ${n}${e}`, // like an ordinal, but not this one's
    (e) => `data${e}`,
    (e, n) => `id: first${e}id: é${n}${e}data: ${n}${e}`.replace('é', '\xc3\xa9'),
    (e, n) => `id: lost-${n}${e}id: ${e}data: ${n}${e}`,
    (e, n) => `id: kept-${n}${e}id: \0${e}data: ${n}${e}`,
    (e, n) => `data : x${e} data: y${e}datax: z${e}data: ${n}${e}`,
    (e, n) => `data: \xe2\x82\xac${n}${e}data:  two${e}`,
    (e, n) => `data: a\rdata: b\ndata: ${n}\r\nevent: mixed${e}`,
    (e, n) => `ID: no${e}data: ${n}${e}idx: no${e}`,
    (e, n) => `data: \xef\xbb\xbf${n}${e}`,
];

/** What stands between two events: blocks that are none. */
const BETWEEN = {
    7: (e) => `id:${e}${e}`, // a client that reads this has no id any more
    14: (e) => `: nothing but this${e}${e}`,
    21: (e) => `id: alone${e}${e}`,
    28: (e) => `${e}${e}${e}`,
    35: (e) => `event: nothing${e}${e}`,
    42: (e) => `retry: 5${e}${e}`,
    49: (e) => `id: 41${e}${e}`, // an event's before it
    56: (e) => `: a${e}: b${e}${e}`,
};

export const EVENTS = KINDS.length * ENDS.length;

function recorded() {
    let text = '\xef\xbb\xbf';
    for (let n = 1; n <= EVENTS; n++) {
        const e = ENDS[n % ENDS.length];
        text += (BETWEEN[n]?.(e) ?? '') + KINDS[n % KINDS.length](e, n) + e;
    }
    return text;
}

/** Its last event is unfinished: no client sees it. */
export const RECORDING = `${recorded()}event: cut off\ndata: never seen`;
