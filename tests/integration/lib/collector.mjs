// collector.mjs - a stand-in for a collector of OpenTelemetry's: takes traces by OTLP over HTTP in JSON, and answers by
// its script.
import assert from 'node:assert/strict';
import { startServer } from './server.mjs';
import { until } from './until.mjs';

const SERVER = 2, CLIENT = 3, INTERNAL = 1;

export class Collector {
    spans = [];
    resources = [];
    /** Answers to the next posts: a status, or a function of the exchange; 200 when there is none. Spans are taken with a 200 alone. */
    script = [];
    #server;

    static async start(t) {
        const collector = new Collector();
        collector.#server = await startServer(t, (exchange) => collector.#take(exchange));
        return collector;
    }

    get url() {
        return this.#server.url;
    }

    get posts() {
        return this.#server.requests;
    }

    /** What hookline is told to send its traces here, soon. */
    env(more = {}) {
        return { OTEL_EXPORTER_OTLP_ENDPOINT: this.url, OTEL_BSP_SCHEDULE_DELAY: '20', ...more };
    }

    async #take(exchange) {
        const body = await exchange.body();
        const answer = this.script.shift() ?? 200;
        if (typeof answer === 'function') return answer(exchange);
        if (answer !== 200) return exchange.send(answer);
        assert.equal(exchange.get('content-type'), 'application/json');
        for (const { resource, scopeSpans } of JSON.parse(body).resourceSpans) {
            const of = attributesOf(resource);
            this.resources.push(of);
            for (const { spans } of scopeSpans) this.spans.push(...spans.map((span) => ({ service: of['service.name'], ...read(span) })));
        }
        return exchange.json({});
    }

    /** Waits for the spans that `isIt` picks, `count` of them, and returns them in the order of their starts. */
    async seen(isIt, count = 1) {
        const find = () => this.spans.filter(isIt);
        await until(`${count} spans at the collector`, () => find().length >= count);
        const spans = find().sort((a, b) => a.start - b.start);
        assert.equal(spans.length, count, JSON.stringify(spans));
        return spans;
    }

    /** All spans of a run, once there are so many. */
    ofRun(id, count) {
        return this.seen((span) => span.attributes['hookline.run_id'] === id, count);
    }
}

const valueOf = ({ stringValue, intValue }) => stringValue ?? Number(intValue);
const attributesOf = ({ attributes }) => Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));

function read(span) {
    assert.match(span.traceId, /^[0-9a-f]{32}$/);
    assert.match(span.spanId, /^[0-9a-f]{16}$/);
    const [start, end] = [span.startTimeUnixNano, span.endTimeUnixNano].map((ns) => Number(BigInt(ns) / 1000n)); // us
    assert.ok(start > 0 && end >= start, JSON.stringify(span));
    const kind = { [SERVER]: 'server', [CLIENT]: 'client', [INTERNAL]: 'internal' }[span.kind];
    return {
        trace: span.traceId, id: span.spanId, parent: span.parentSpanId, name: span.name, kind, start, end,
        isFailed: span.status.code === 2, attributes: attributesOf(span),
    };
}
