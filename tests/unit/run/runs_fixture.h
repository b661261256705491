/* runs_fixture.h - the runs of a worker that is the test, and runs in whatever state it takes. */
#ifndef HL_TEST_RUN_RUNS_FIXTURE_H
#define HL_TEST_RUN_RUNS_FIXTURE_H

#include "body/journals.h"
#include "run/runs.h"

struct hl_run;

extern struct hl_runs runs;
extern struct hl_journals journals;
/* Where runs_begin is told that the app is; 1: nobody is there. */
extern uint16_t app_port;

/* With a loop, callers and a store of their own. */
void runs_begin(void);
/* Every run has ended, or is freed here; what they had is given back. */
void runs_end(void);

/* A run with nothing attached. */
struct hl_run *run_new(void);
/* A synchronous call of the app, whose head has come from a caller. */
struct hl_run *run_called(int *caller);
/* It has a webhook, and the store has been told that it runs. */
void run_record(struct hl_run *run);
/* Runs that go on. */
unsigned run_count(void);

/* What checks of the app find out, or calls: the worker is told. */
void gate_close(void); /* with a rule, it is shut */
void gate_open(void);
/* The app is put to sleep: the worker is told. */
void gate_sleep(void);

#endif
