// index.mjs - index.cjs for ES modules.
import functions from './index.cjs';

export const { context, progress, reply } = functions;
