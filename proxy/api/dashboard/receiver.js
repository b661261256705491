// receiver.js - who gets a webhook, in as few characters as tell it from others: the host, and which of its receivers.
import { cutMiddle, visible } from './format.js';

/** `https://` goes without saying; what is not encrypted says so where it is pointed at. */
export function hostOf(destination) {
    return visible(destination.replace(/^https?:\/\//, ''));
}

/** Which of its destination's: admins see the path, viewers the label. */
function whichOf({ path, receiver }) {
    if (path) return ['which', visible(path)];
    return ['which.is-label', receiver ? ` #${receiver}` : ''];
}

/** The end of it stays: receivers of one host differ there. */
export function receiverName(delivery) {
    return cutMiddle([['host', hostOf(delivery.destination)], whichOf(delivery)]);
}

/** All of it, where it is pointed at. */
export function receiverTitle({ destination, path, receiver }) {
    return `${visible(destination)}${path ? visible(path) : ''}${receiver ? ` · receiver ${receiver}` : ''}`;
}
