// receiver.js - who gets a webhook, in as few characters as tell it from others: the host, and which of its receivers.
import { h } from './dom.js';
import { visible } from './format.js';

const MOST = 44; /* characters of a host */
const TAIL = 18;

/** `https://` goes without saying; what is not encrypted says so where it is pointed at. */
export function hostOf(destination) {
    return visible(destination.replace(/^https?:\/\//, ''));
}

/** Beginning and end: the middle of a long name says least. */
export function cutMiddle(text, most = MOST) {
    return text.length > most ? `${text.slice(0, most - TAIL - 1)}…${text.slice(-TAIL)}` : text;
}

/** Which of its destination's: admins see the path, viewers the label. */
function whichOf({ path, receiver }) {
    if (path) return h('span.which', {}, visible(path));
    return receiver ? h('span.which.is-label', {}, ` #${receiver}`) : null;
}

export function receiverName(delivery) {
    return [h('span.host', {}, cutMiddle(hostOf(delivery.destination))), whichOf(delivery)];
}

/** All of it, where it is pointed at. */
export function receiverTitle({ destination, path, receiver }) {
    return `${visible(destination)}${path ? visible(path) : ''}${receiver ? ` · receiver ${receiver}` : ''}`;
}
