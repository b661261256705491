// run_facts.js - what is known of a run, in a word or a number each.
import { h, renew } from './dom.js';
import { bytes, duration, time, visible } from './format.js';
import { SLEEP, ranFor } from './state.js';

/** A section for them, and `show(run)`. */
export function runFacts() {
    const list = h('dl.facts');
    const section = h('section', { 'aria-labelledby': 'facts', hidden: true }, h('h2', { id: 'facts' }, 'Facts'), list);
    let wasQueued = false; // since the page has seen it

    function show(run) {
        wasQueued ||= run.state === 'queued';
        renew(list, listFacts(run, wasQueued));
        section.hidden = false;
    }

    return { section, show };
}

/** As many for each moment of a run that a page sees, unless it goes back to the queue. */
function listFacts(run, wasQueued) {
    const fact = (name, ...value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
    const isInterrupted = run.reason === 'interrupted' && run.started_at;
    const facts = [
        fact('Call', h('code', {}, `${run.method} ${visible(run.path)}`)),
        fact('App', run.app_name, run.app_state ? h('span.sub', {}, `${SLEEP[run.app_state]} since `, time(run.app_since)) : null),
        run.subject && fact('Called by', visible(run.subject)),
        fact('Accepted', time(run.created_at, { style: 'full' })),
        wasQueued && fact('Place in the queue', run.queue_position ?? 'none'),
        fact('Waited', run.queued_ms === null ? '–' : duration(run.queued_ms)),
        fact('Started', time(run.started_at, { style: 'full', empty: run.finished_at ? 'never' : 'not yet' })),
        fact('Finished', time(run.finished_at, { style: 'full', empty: 'not yet' })),
        fact('Ran for', ranFor(run), isInterrupted ? h('span.sub', {}, 'hookline stopped meanwhile') : null),
        fact('Status of the app', run.status_code ?? '–'),
        run.async && fact('Times started', run.attempts),
        fact('Request', bytes(run.request_bytes)),
        fact(
            'Response',
            run.finished_at && !run.status_code && !run.response_bytes ? 'none' : bytes(run.response_bytes),
            // Its line is there before it is, so that nothing moves when the run ends.
            run.content_type || !run.finished_at ? h('span.sub', {}, visible(run.content_type || '\u00a0')) : null,
            run.content_encoding ? h('span.sub', {}, `encoded: ${visible(run.content_encoding)}`) : null,
        ),
        'replica' in run && fact('Replica', run.replica ? visible(run.replica) : '–'),
    ];
    return facts.filter(Boolean);
}
