// index.mjs - all groups of cases, in the order of a call: the caller's side, then the app's.
import startLine from './start-line.mjs';
import target from './target.mjs';
import field from './field.mjs';
import host from './host.mjs';
import contentLength from './content-length.mjs';
import transferEncoding from './transfer-encoding.mjs';
import chunk from './chunk.mjs';
import trailer from './trailer.mjs';
import connection from './connection.mjs';
import expect from './expect.mjs';
import upgrade from './upgrade.mjs';
import headMethod from './head-method.mjs';
import pipeline from './pipeline.mjs';
import responseHead from './response-head.mjs';
import responseField from './response-field.mjs';
import responseBody from './response-body.mjs';
import responseChunk from './response-chunk.mjs';
import interim from './interim.mjs';
import reuse from './reuse.mjs';

export const requestGroups = [
    startLine,
    target,
    field,
    host,
    contentLength,
    transferEncoding,
    chunk,
    trailer,
    connection,
    expect,
    upgrade,
    headMethod,
    pipeline,
];

export const responseGroups = [
    responseHead,
    responseField,
    responseBody,
    responseChunk,
    interim,
    reuse,
];
