// random.mjs - moments and choices that a seed brings back: HOOKLINE_TEST_SEED, printed by the tests that use it.

export const seed = Number(process.env.HOOKLINE_TEST_SEED ?? Date.now() % 1_000_000);

/** Numbers from 0 up to 1. */
export function generator(from) {
    let state = from >>> 0;
    return () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let x = Math.imul(state ^ (state >>> 15), state | 1);
        x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
        return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
    };
}
