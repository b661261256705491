// index.cjs - what a file of functions may ask of its host: of the one that runs it, whichever copy of this package the
// file finds; outside of a host, as in a test, there is no call.
'use strict';

const shared = (globalThis[Symbol.for('hookline-functions')] ??= {});

const noCall = Object.freeze({
    runId: 'no run',
    attempt: 1,
    deadline: undefined,
    headers: Object.freeze({}),
    signal: new AbortController().signal,
    isCancelled: false,
    progress() {},
});

/** A value with a status or a content type of its own: what reply() gives. */
class Reply {
    constructor(status, value, type) {
        this.status = status;
        this.value = value;
        this.type = type;
    }
}

/** The call that is being served; outside of calls one whose runId is "no run". */
function context() {
    return shared.current?.() ?? noCall;
}

/** Tells whoever follows the run how far it is. Never waits; outside of calls nothing happens. */
function progress(value) {
    context().progress(value);
}

/** The answer with a status other than 200, or bytes with a content type of their own. */
function reply(status, value, type) {
    if (!Number.isInteger(status) || status < 200 || status > 599 || status === 205 || status === 304)
        throw new RangeError(`reply(): the status is ${String(status)}: allowed are 200 to 599, without 205 and 304`);
    if (value instanceof Response) throw new TypeError('reply(): a Response has its own status and content type: return it');
    return new shared.Reply(status, value, type);
}

shared.Reply ??= Reply;
module.exports = { context, progress, reply };
