/* bad.h - what is wrong with a bad receiver: port FIRST + i is of kind i % BAD_KINDS. */
#ifndef BENCH_BAD_H
#define BENCH_BAD_H

/* name, scheme of its URLs, what it is */
#define BAD_KIND_LIST(X)                                                                           \
    X(UNACCEPTED, "http", "never accepts")                                                         \
    X(SILENT, "http", "reads and never answers")                                                   \
    X(RESETTING, "http", "resets")                                                                 \
    X(DRIPPING, "http", "answers with a byte a second")                                            \
    X(LONG, "http", "answers with 10 MiB")                                                         \
    X(HINTING, "http", "answers with 103 again and again")                                         \
    X(REDIRECTING, "http", "redirects to itself")                                                  \
    X(BROKEN, "http", "answers with chunks that are none")                                         \
    X(FAILING, "http", "answers with 500")                                                         \
    X(MISSING, "http", "answers with 404")                                                         \
    X(STALLING, "https", "reads a TLS hello and says nothing")                                     \
    X(SLOW, "http", "answers with 200 after 3 s")                                                  \
    X(REFUSING, "http", "refuses connections")

#define BAD_ENUM(name, scheme, what) BAD_##name,
enum bad_kind { BAD_KIND_LIST(BAD_ENUM) BAD_KINDS };

#endif
