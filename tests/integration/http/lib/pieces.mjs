// pieces.mjs - the slowest way to deliver bytes.

/** Bytes one at a time, each in a segment of its own; long ones in 4,096 pieces. */
export async function inPieces(bytes, send, isOver) {
    const size = Math.ceil(bytes.length / 4096);
    for (let at = 0; at < bytes.length && !isOver(); at += size) {
        await send(bytes.slice(at, at + size));
        await new Promise(setImmediate);
    }
}
