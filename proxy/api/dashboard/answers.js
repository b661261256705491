// answers.js - what came back for each attempt of a delivery: how its time was spent, from where, what it said.
import { bytes, duration, visible } from './format.js';
import { h } from './dom.js';

const PARTS = [
    ['name', 'Name look-up'],
    ['connect', 'Connecting'],
    ['tls', 'TLS'],
    ['first_byte', 'First byte'],
];

/** What was opened stays so when the page is made anew: `opened` has the keys of those attempts. */
export function answerList(delivery, opened) {
    const known = delivery.attempts.filter(({ duration: parts, answer }) => parts || answer);
    return known.length ? h('div.answers', {}, known.map((attempt) => showAttempt(delivery, attempt, opened))) : null;
}

function showAttempt(delivery, attempt, opened) {
    const key = `${delivery.delivery_id}.${attempt.round}.${attempt.n}`;
    const ontoggle = ({ target }) => (target.open ? opened.add(key) : opened.delete(key));
    const isLater = delivery.attempts.some(({ round }) => round > 1);
    const name = isLater ? `${attempt.round}.${attempt.n}` : attempt.n;
    return h(
        'details',
        { open: opened.has(key), ontoggle },
        h('summary', {}, `What came back for attempt ${name}`),
        showParts(attempt),
        attempt.answer && showAnswer(attempt.answer, `Answer to attempt ${name}`),
    );
}

export function showParts({ duration: parts, address, error }) {
    const fact = (name, value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
    return h(
        'dl.facts',
        {},
        address ? fact('Address', h('code', {}, visible(address))) : null,
        parts && PARTS.map(([key, title]) => fact(title, parts[key] === null ? '–' : duration(parts[key]))),
        error ? fact('Error', visible(error)) : null,
    );
}

/** A stranger's words: they are shown as text, whatever they say that they are. */
export function showAnswer({ content_type: type, encoding, body, truncated }, label) {
    const what = type ? visible(type) : 'no Content-Type';
    if (encoding !== 'text')
        return h('p.hint', {}, `${what}: ${bytes(atob(body).length)} that are not text; the record has them in base64.`);
    if (!body) return h('p.hint', {}, `${what}: the answer was empty.`);
    return [
        h('p.hint', {}, truncated ? `${what}, the first ${bytes(1024)}:` : `${what}:`),
        h('pre.result', { tabindex: 0, role: 'region', 'aria-label': label }, visible(body)),
    ];
}
