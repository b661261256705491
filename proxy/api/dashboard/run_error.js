// run_error.js - why a run failed, in one place: its reason, what the app answered with that, what was logged last.
import { h, refill } from './dom.js';
import { plural, visible } from './format.js';
import { lastLines, readable } from './log.js';
import { showResult } from './result.js';
import { REASONS, failedAttempts } from './state.js';
import { onZone } from './zone.js';

const LINES = 8; /* of the log */
const ANSWER_MAX = 1024 * 1024; /* bytes: a longer answer is in Output alone */

/** Fills the pane, once for each thing there is to say. */
export function showError(panel, run, path, { mayRead, signal }) {
    const before = failedAttempts(run).length - (run.state === 'failure' ? 1 : 0);
    const answer = h('section.error-part', { 'aria-label': 'Answer', hidden: true });
    const logged = h('section.error-part', { 'aria-label': 'Logged last', hidden: true });
    refill(
        panel,
        run.error ? h('pre.error-line', { tabindex: 0, 'aria-label': 'Error' }, visible(run.error)) : null,
        h('p', {}, whyOf(run)),
        before > 0 ? h('p.hint', {}, `${plural(before, 'attempt')} failed before: see the timeline.`) : null,
        answer,
        logged,
    );
    const hasAnswer = run.finished_at && run.result === 'kept' && run.response_bytes <= ANSWER_MAX;
    if (hasAnswer) showResult(answer, run, path, { title: 'tab-error', signal }).hidden = false;
    if (mayRead && run.finished_at) showLogged(logged, path, signal);
}

function whyOf(run) {
    const { reason, status_code: status } = run.state === 'failure' ? run : (failedAttempts(run).at(-1) ?? run);
    if (!reason) return 'It did not say why.';
    const words = REASONS[reason];
    return [h('code', {}, reason), words ? `: ${words}` : '', status ? ` (status ${status})` : '', '.'];
}

async function showLogged(section, path, signal) {
    const lines = await lastLines(path, LINES, signal).catch(() => []);
    if (!lines.length) return;
    const text = h('pre.log', { tabindex: 0, role: 'group', 'aria-label': 'The last lines of the log' });
    const show = () => (text.textContent = visible(lines.map(readable).join('\n')));
    show();
    onZone(text, show);
    section.hidden = false;
    refill(section, h('h3', {}, 'Logged last'), text);
}
