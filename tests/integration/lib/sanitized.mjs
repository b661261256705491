// sanitized.mjs - whether the binary is one with a sanitizer: figures for time and memory mean nothing then.
import { existsSync, readFileSync } from 'node:fs';
import { BINARY } from './sidecar.mjs';

const bytes = existsSync(BINARY) ? readFileSync(BINARY) : Buffer.alloc(0);
export const isSanitized = bytes.includes('__asan_init') || bytes.includes('__tsan_init');
