/* follow_journal.h - a follower's steps through the journal of a run that is inside this process, or may come
 * there. Thread: the desk's loop. */
#ifndef HL_BODY_FOLLOW_JOURNAL_H
#define HL_BODY_FOLLOW_JOURNAL_H

struct hl_follower;

enum hl_follow_step {
    HL_FOLLOW_STEP_MORE, /* there is another */
    HL_FOLLOW_STEP_WAIT, /* until it is woken */
    HL_FOLLOW_STEP_FILE, /* what is next has to be read from the journal's file */
    HL_FOLLOW_STEP_GONE, /* the follower is gone, or has nothing more to do */
};

enum hl_follow_step hl_follow_journal_step(struct hl_follower *f);

#endif
