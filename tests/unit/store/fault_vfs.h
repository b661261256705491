/* fault_vfs.h - an SQLite VFS over the system's own that fails or waits when it is told to. */
#ifndef HL_TEST_STORE_FAULT_VFS_H
#define HL_TEST_STORE_FAULT_VFS_H

/* Becomes the default VFS of this process. Call before a store is opened. */
void fault_vfs_install(void);

/* From now on every write and sync (write_code) or only syncs (sync_code) return this; 0: they work
 * again. */
void fault_vfs_fail_writes(int code);
void fault_vfs_fail_syncs(int code);
/* Likewise, every read. */
void fault_vfs_fail_reads(int code);
/* The k-th write, sync or truncation from now (from 1) and all later ones return `code`. */
void fault_vfs_fail_after(int k, int code);
/* How many writes, syncs and truncations there were. */
int fault_vfs_calls(void);

/* For how long SQLite has slept between tries to get a lock, in all. */
int fault_vfs_slept_us(void);

/* The next sync waits until release. `await` returns once it does. */
void fault_vfs_hold(void);
void fault_vfs_await(void);
void fault_vfs_release(void);

#endif
