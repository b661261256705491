// send_elsewhere.js - what was sent goes to another URL, and a receiver is tried with an event that means nothing: questions
// before either, and what came of it.
import * as api from './api.js';
import { showAnswer, showParts } from './answers.js';
import { announce, badge, busy, button, dialog, fill, h, note } from './dom.js';
import { duration, visible } from './format.js';
import { hostOf } from './receiver.js';

/** Answers the new delivery's id; or nothing. */
export function sendElsewhere(delivery) {
    return dialog('Send it to another URL', (close) => {
        const problem = h('div');
        const url = h('input', { type: 'url', required: true, maxlength: 2048, placeholder: 'https://', autofocus: true, spellcheck: 'false' });
        const secret = h('input', { type: 'password', maxlength: 1024, autocomplete: 'off' });
        const send = h('button.button.main', { type: 'submit' }, 'Send');
        const act = async () => {
            try {
                const body = { url: url.value.trim(), ...(secret.value && { secret: secret.value }) };
                const made = await api.send('POST', `/deliveries/${delivery.delivery_id}/redeliver`, body);
                announce('It is on its way');
                close(made.delivery_id);
            } catch (error) {
                fill(problem, note('error', 'That did not work', h('p', {}, error.message)));
            }
        };
        const onsubmit = (event) => {
            event.preventDefault();
            busy(send, act);
        };
        return h(
            'form',
            { onsubmit },
            h('p.hint', {}, 'The same body with the same run’s id goes there, too, as a delivery of its own: guarded, tried again and counted as any. What went to ', h('b', {}, hostOf(delivery.destination)), ' stays as it is.'),
            h('label.field', {}, h('span', {}, 'URL'), url),
            h('label.field', {}, h('span', {}, 'Secret that signs it'), secret, h('span.sub', {}, 'Without one the operator’s does. The caller’s is for the caller’s URL.')),
            problem,
            h('div.actions', {}, button('Keep as it is', () => close(null)), send),
        );
    });
}

/** One event goes at once to where the delivery goes; what came back is shown. */
export function testReceiver(delivery) {
    return dialog('Send a test', (close) => {
        const place = h('div.test-result');
        const send = button('Send', () => busy(send, run), 'main', { autofocus: true });
        const run = async () => {
            fill(place, h('p.hint', { role: 'status' }, 'It is under way…'));
            try {
                fill(place, showTested(await api.send('POST', '/destinations/test', { delivery_id: delivery.delivery_id })));
                announce('The test has ended');
            } catch (error) {
                fill(place, note('error', 'That did not work', h('p', {}, error.message)));
            }
            send.textContent = 'Send another';
        };
        return [
            h('p.hint', {}, 'One event ', h('code', {}, 'hookline.test'), ' goes to ', h('b', {}, hostOf(delivery.destination)), delivery.path ? [' at ', h('code', {}, visible(delivery.path))] : null, ' at once, guarded and signed as this webhook is. It is sent once, and nothing of it is kept but that you did it.'),
            place,
            h('div.actions', {}, button('Close', () => close(true)), send),
        ];
    });
}

function showTested({ attempt, body }) {
    const { status_code: status, outcome, duration_ms: took } = attempt;
    const isGood = outcome === 'delivered';
    return [
        h('p.d-status', {}, badge(isGood ? 'success' : 'failure', isGood ? 'delivered' : 'failed'), h('b', {}, status ? `HTTP ${status}` : 'No answer'), h('span.sub', {}, took === null ? null : `after ${duration(took)}`)),
        showParts(attempt),
        attempt.answer && showAnswer(attempt.answer, 'Answer to the test'),
        h('details', {}, h('summary', {}, 'What was sent'), h('pre.result', { tabindex: 0, role: 'region', 'aria-label': 'What was sent' }, visible(body))),
    ];
}
