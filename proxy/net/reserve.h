/* reserve.h - descriptors that the process holds back for the time when it has no more, so that a
 * health check finds one. They are the last ones below the limit of open files: as nothing is open
 * there, none of them can get lost to another thread. */
#ifndef HL_NET_RESERVE_H
#define HL_NET_RESERVE_H

/* Holds back `most`, or fewer where the process may not have many. Before there are other threads. */
void hl_reserve_hold(unsigned most);

/* Accepts with a descriptor of the reserve. Any thread. -1: errno says why not. */
int hl_reserve_accept(int listening_fd);

#endif
