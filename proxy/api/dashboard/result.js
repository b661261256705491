// result.js - what a run was answered with, or why there is nothing of it.
import { fill, h } from './dom.js';
import { isJsonType, isTextType, showBody } from './body.js';
import { isKept } from './events.js';
import { visible } from './format.js';

/** Fills the section: as long as the run goes on, to be called again. `title`: the id of what it is called by. */
export function showResult(section, run, path, { title, signal }) {
    if (run.result !== 'kept') return fill(section, h('p.hint', {}, whyNot(run)));
    const body = {
        path: `${path}/result`,
        size: run.response_bytes,
        encoding: run.content_encoding,
        isJson: run.encoding === 'json' || (run.encoding !== 'text' && isJsonType(run.content_type)),
        isText: run.encoding === 'json' || run.encoding === 'text' || isTextType(run.content_type),
        name: 'response',
        file: run.run_id,
        title,
    };
    const hint = isKept(run) ? 'Its events have a tab of their own; download it for the bytes that the app sent.' : null;
    const { actions, view } = showBody(body, { signal, hint });
    return fill(section, h('div.title-row', {}, h('span.hint', {}, visible(run.content_type ?? '')), actions), view);
}

/** In the words of what became of it. */
function whyNot(run) {
    if (!run.finished_at) return 'There is none yet.';
    if (run.result === 'dropped')
        return 'The response is not kept, or no longer: it was longer than HOOKLINE_MAX_KEPT_RESPONSE, or the store was at HOOKLINE_STORE_MAX_BYTES.';
    if (!run.started_at) return `There is none: the run ${run.reason === 'expired' ? 'expired' : `was ${run.state}`} before the app was called.`;
    if (!run.status_code) return `There is none: ${WITHOUT_ANSWER[run.reason] ?? (run.state === 'cancelled' ? 'the run was cancelled before the app had answered.' : 'the app did not answer.')}`;
    if (run.state === 'cancelled') return 'The run was cancelled before the app had answered in full; what had come is not kept.';
    if (run.async) return 'The app answered without a body.';
    return 'It went to the caller: hookline keeps the responses of asynchronous runs and of those with a webhook.';
}

const WITHOUT_ANSWER = {
    timeout: 'the app did not answer in time.',
    upstream_unreachable: 'the app could not be reached.',
    upstream_reset: 'the app broke the connection off before it had answered.',
    bad_response: 'what the app answered was not valid HTTP.',
    interrupted: 'hookline stopped before the app had answered.',
    response_too_large: 'the response was too large to be kept.',
};
