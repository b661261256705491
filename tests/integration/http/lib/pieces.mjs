// pieces.mjs - the slowest way to deliver bytes.

/** Longer ones are sent whole where a script of a case does not ask for pieces. */
export const LONGEST_EACH = 4096;

/** Bytes one at a time, each in a segment of its own; long ones in 4,096 pieces. */
export async function inPieces(bytes, send, isOver) {
    const size = Math.ceil(bytes.length / 4096);
    for (let at = 0; at < bytes.length && !isOver(); at += size) {
        await send(bytes.slice(at, at + size));
        await new Promise(setImmediate);
    }
}
