/* progress.h - how far a run is: as a whole, its two halves, and what the store has been told of it.
 * Each is one field with one mover, which asserts that the move is legal and logs it. */
#ifndef HL_RUN_PROGRESS_H
#define HL_RUN_PROGRESS_H

struct hl_run;

/* The run as a whole. */
enum hl_run_stage {
    HL_STAGE_NEW, /* its head is being looked at, or its claim has just come */
    /* An asynchronous call: its body goes into `spool`, then ACCEPT to the store; the app is not
     * called. */
    HL_STAGE_ACCEPTING,
    HL_STAGE_GATHERING,  /* its body joins `page` before a slot is asked for */
    HL_STAGE_AT_GATE,    /* the app's gate is shut: waits, at most HOOKLINE_CONNECT_TIMEOUT */
    HL_STAGE_QUEUED,     /* waits for a slot of the app, at most HOOKLINE_APP_QUEUE_TIMEOUT */
    HL_STAGE_CONNECTING, /* has its slot; `wait` asks the pool for a connection */
    HL_STAGE_CALLING,    /* `upstream` is its own; the halves go on */
    HL_STAGE_ENDED, /* counted; neither slot nor connection; the store may still have to hear of it */
    HL_STAGE_COUNT
};

/* The request half: what the app has been given. */
enum hl_request_half {
    HL_REQUEST_HELD, /* nothing: the head and first body bytes wait in `page` */
    /* The head is sent, body bytes are still to come from the source; in a tunnel: its caller has
     * not ended its side. */
    HL_REQUEST_SENDING,
    HL_REQUEST_SENT,   /* all of it */
    HL_REQUEST_BROKEN, /* the app stopped reading: no more is sent, its answer may still come */
    HL_REQUEST_COUNT
};

/* Whether the request may go out a second time when a kept connection dies (contract 10). */
enum hl_run_repeat {
    HL_REPEAT_UNSENT, /* only while the app has not got a byte of it */
    HL_REPEAT_SAFE, /* until a byte of the answer came: all of it is in `page`, and may be repeated */
    HL_REPEAT_SPENT, /* it did: not a third time */
};

/* The response half: what the caller and the spool have been given. */
enum hl_response_half {
    HL_RESPONSE_HEAD,        /* not one final head yet; 1xx may have passed */
    HL_RESPONSE_BODY,        /* the head has gone on; body bytes are being passed */
    HL_RESPONSE_TUNNEL,      /* 101: bytes are passed both ways until both sides have ended */
    HL_RESPONSE_TUNNEL_HALF, /* the app has ended its side; it has given its slot back */
    HL_RESPONSE_DONE,        /* wholly received, or given up; exactly in ENDED */
    HL_RESPONSE_COUNT
};

/* What the store has been told. */
enum hl_run_record {
    HL_RECORD_NONE, /* nothing, and need not be */
    /* Nothing yet: `accept` goes to it when the body is whole (asynchronous), or when the app is
     * called (a webhook). */
    HL_RECORD_DUE,
    HL_RECORD_ACCEPTING, /* ACCEPT is with it; its answer ends the run here */
    HL_RECORD_OPEN,      /* that it runs: `finish` waits for its outcome */
    HL_RECORD_KEEPING,   /* the same; it has ENDED and its kept response is being made durable */
    HL_RECORD_FINISHING, /* FINISH is with it; its answer frees the run */
    HL_RECORD_AGAIN,     /* it could not take FINISH: `timer` sends it again */
    HL_RECORD_COUNT
};

/* A move to the state that it is in is none. */
void hl_progress_stage(struct hl_run *run, enum hl_run_stage to);
void hl_progress_request(struct hl_run *run, enum hl_request_half to);
void hl_progress_response(struct hl_run *run, enum hl_response_half to);
void hl_progress_record(struct hl_run *run, enum hl_run_record to);

#endif
