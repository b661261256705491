/** The call that is being served: a function's second argument, and what `context()` gives. */
export interface Context {
    /** The run's id (X-Request-Id); "no run" outside of calls. */
    readonly runId: string;
    /** Which attempt of the run this is, from 1. */
    readonly attempt: number;
    /** When the run is cut off; undefined when nothing bounds it. */
    readonly deadline: Date | undefined;
    /** The request's header fields, by their names in lower case; of several values of one name a text joined by commas. */
    readonly headers: Readonly<Record<string, string>>;
    /** Aborted when the caller has gone, so that nobody waits for the answer any more. Give it to fetch() and the like. */
    readonly signal: AbortSignal;
    /** The same to ask for, in a function that computes and never awaits. */
    readonly isCancelled: boolean;
    /** Tells whoever follows the run how far it is: any value that JSON has a form for, up to 1,024 bytes of it. */
    progress(value: unknown): void;
}

/** A file of a form (multipart/form-data). */
export interface FormFile {
    /** What the caller calls it, without directories. */
    readonly name: string;
    readonly type: string;
    readonly size: number;
    /** A file with its bytes, until the call has ended. */
    readonly path: string;
    text(): Promise<string>;
    bytes(): Promise<Uint8Array>;
    arrayBuffer(): Promise<ArrayBuffer>;
    stream(): ReadableStream<Uint8Array>;
}

/** A JSON Schema (2020-12) of a function's body. */
export type Schema = boolean | { readonly [keyword: string]: unknown };

/** A function's type: `export const run: Call<{ prompt: string }> = ({ prompt }) => …`. */
export type Call<Body = Record<string, unknown>, Result = unknown> = (body: Body, context: Context) => Result;

declare class Reply {
    readonly status: number;
    readonly value: unknown;
    readonly type: string | undefined;
}

export declare function context(): Context;
/** Tells whoever follows the run how far it is. Never waits; outside of calls nothing happens. */
export declare function progress(value: unknown): void;
/** The answer with a status other than 200, or bytes or a text with a content type of their own. */
export declare function reply(status: number, value?: unknown, type?: string): Reply;
export type { Reply };
