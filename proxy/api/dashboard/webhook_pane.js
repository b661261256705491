// webhook_pane.js - a run's webhooks: how each stands, its attempts, what came back.
import * as api from './api.js';
import { attemptTable, nextAttempt, redeliverButton } from './attempts.js';
import { h, refill } from './dom.js';
import { visible } from './format.js';
import { deliveryBadge } from './state.js';

/** `{ section, show(run) }`. `again()`: another look is wanted. */
export function webhookPane(again) {
    const section = h('section', { 'aria-labelledby': 'webhooks' });
    const opened = new Set(); // attempts of which is seen what came back

    async function show(run) {
        const answers = await api.part(() => import('./answers.js'));
        refill(
            section,
            h('h2', { id: 'webhooks', tabindex: -1 }, 'Webhook'),
            run.deliveries.map((delivery) => showDelivery(delivery, answers.answerList(delivery, opened), again)),
        );
    }

    return { section, show };
}

function showDelivery(delivery, answers, again) {
    return h(
        'article.delivery',
        {},
        h(
            'div.delivery-head',
            {},
            deliveryBadge(delivery),
            h('span.destination', {}, visible(delivery.destination)),
            nextAttempt(delivery),
            h('span.gap'),
            redeliverButton(delivery, again),
        ),
        attemptTable(delivery),
        answers,
    );
}
