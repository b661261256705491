// case.mjs - how a case is written down: what is sent, what the app answers, and which outcomes are
// right. A case is data:
//
//   name, rfc   what it is about, and the section (or reason) that decides
//   send        the caller's bytes, latin1 (a GET unless given); `end`: then FIN; `method`: of the request
//   app         the app's bytes, latin1, or a script of an exchange (origin.mjs); `then`: 'close', 'reset'
//   allow       the outcomes that are right, any of:
//       whole       the app got exactly one request, and the caller its whole answer: a check of both
//       refused     the app got no whole request, the caller an error of these statuses, or nothing
//       own         as refused, but the proxy's own answer is not an error: a check of it
//       badGateway  the caller got 500 to 504, or nothing
//       broken      the caller sees that the answer broke off
//   closes      the connection must end after such an answer, which may be lost with it
//   run         instead of all these: a script of its own, (tools) => …, see run-case.mjs
import assert from 'node:assert/strict';
import { valuesOf } from './strict.mjs';

export const HOST = 'Host: a.test\r\n';

/** A GET of /x with these lines, whole. */
export const get = (lines = '', target = '/x') => `GET ${target} HTTP/1.1\r\n${HOST}${lines}\r\n`;
/** A POST to /x with these lines, and what follows the head. */
export const post = (lines, rest = '') => `POST /x HTTP/1.1\r\n${HOST}${lines}\r\n${rest}`;
/** A POST with a chunked body, given as it is framed. */
export const chunked = (body, lines = '') => post(`Transfer-Encoding: chunked\r\n${lines}`, body);
/** A request of its own where only bytes of the one before should be. */
export const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n';

/** Nothing wrong with it: it must reach the app, and mean `means` there. */
export const forwarded = (name, rfc, send, means, more) => ({
    name,
    rfc,
    send,
    allow: { whole: whole(means) },
    ...more,
});
/** Hostile or doubtful: it may be refused, or reach the app in a form that means `means` and nothing else. */
export const either = (name, rfc, send, means, more) => ({
    name,
    rfc,
    send,
    means,
    allow: { whole: whole(means), refused: true },
    ...more,
});
/** It may not reach the app in any form. `statuses`: those that are right, if not all errors are. */
export const refused = (name, rfc, send, statuses = true, more = {}) => ({
    name,
    rfc,
    send,
    allow: { refused: statuses },
    ...more,
});

const whole = (means) => (request, response) => {
    matches(request, means);
    assert.equal(response.status, 200);
    if (request.method !== 'HEAD') assert.equal(response.text, request.target, 'the app’s answer');
};

/** The app's answer must reach the caller, and mean `means` there. */
export const passed = (name, rfc, app, means, more) => ({
    name,
    rfc,
    app,
    allow: { whole: (_, response, interim) => matches(response, means, interim) },
    ...more,
});
/** The app lies: the caller gets an error, or an answer that means `means`, if given. */
export const lie = (name, rfc, app, means, more) => ({
    ...(means ? passed(name, rfc, app, means) : { name, rfc, app, allow: {} }),
    ...more,
    isLie: true,
});
/** The app's answer breaks off or goes wrong inside its body: the caller must see that. */
export const broken = (name, rfc, app, more) => ({
    name,
    rfc,
    app,
    allow: { broken: true, badGateway: true },
    ...more,
});
/** A case with a script of its own. */
export const scripted = (name, rfc, run) => ({ name, rfc, run });

/** The outcomes that are right, with those that `lie` implies. */
export const allowed = ({ allow, isLie }) => (isLie ? { badGateway: true, ...allow } : allow);

/**
 * Asserts what a message means. `fields`, `trailers`: by name, a value (there once), a list (there in
 * that order), null (not there) or a pattern (of all values, joined). Anything else: a member of it.
 */
export function matches(message, means, interim = []) {
    if (typeof means === 'function') return void means(message, interim);
    const { fields = {}, trailers = {}, body, ...rest } = means;
    for (const [key, value] of Object.entries(rest)) {
        if (value instanceof RegExp) assert.match(String(message[key]), value, key);
        else assert.equal(message[key], value, key);
    }
    if (body !== undefined) assert.equal(message.text, body, 'body');
    for (const [name, value] of Object.entries(fields)) {
        matchValues(name, message.all(name), value);
    }
    for (const [name, value] of Object.entries(trailers)) {
        matchValues(`trailer ${name}`, valuesOf(message.trailers, name), value);
    }
}

function matchValues(name, found, wanted) {
    if (wanted instanceof RegExp) assert.match(found.join(', '), wanted, name);
    else assert.deepEqual(found, wanted === null ? [] : [wanted].flat(), name);
}
