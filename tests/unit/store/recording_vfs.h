/* recording_vfs.h - an SQLite VFS over the system's own that tells the disk log (disk_log.h) what
 * is written, truncated, synced, made and removed. */
#ifndef HL_TEST_STORE_RECORDING_VFS_H
#define HL_TEST_STORE_RECORDING_VFS_H

/* Becomes the default VFS of this process. Call before a store is opened. */
void recording_vfs_install(void);

#endif
