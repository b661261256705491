// index.d.ts - index.d.cts for ES modules.
export * from './index.cjs';
