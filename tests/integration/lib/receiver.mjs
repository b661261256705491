// receiver.mjs - a webhook receiver: answers each path by its script and keeps every delivery as it came.
import { assertWebhookDescribed } from './openapi.mjs';
import { startServer } from './server.mjs';
import { until } from './until.mjs';

export class Receiver {
    #scripts = new Map();
    #server;

    static async start(t) {
        const receiver = new Receiver();
        receiver.#server = await startServer(t, (exchange) => receiver.#handle(exchange));
        return receiver;
    }

    get requests() {
        return this.#server.requests;
    }

    get connections() {
        return this.#server.connections;
    }

    url(path = '/hook') {
        return this.#server.url + path;
    }

    /** Answers to the successive requests for `path`: a status, or a function of the exchange; the last one stays. */
    script(path, ...answers) {
        this.#scripts.set(path, answers);
        return this.url(path);
    }

    async #handle(exchange) {
        await exchange.body();
        exchange.isWhole = true;
        const script = this.#scripts.get(exchange.path) ?? [200];
        const answer = script.length > 1 ? script.shift() : script[0];
        if (typeof answer === 'function') await answer(exchange);
        else await exchange.send(answer);
    }

    /** Deliveries whose bodies have arrived wholly. */
    deliveries(path = '/hook') {
        return this.requests.filter((r) => r.isWhole && r.path === path);
    }

    /** Waits for `count` deliveries at `path` and returns the last of them. */
    async delivered(path = '/hook', count = 1, timeout) {
        const what = `${count} deliveries at ${path}`;
        await until(what, () => this.deliveries(path).length >= count, timeout);
        const delivery = this.deliveries(path)[count - 1];
        assertWebhookDescribed(delivery.bytes);
        return delivery;
    }

    /** The envelope of the first delivery at `path`. */
    async envelope(path = '/hook') {
        return JSON.parse((await this.delivered(path)).bytes);
    }
}
