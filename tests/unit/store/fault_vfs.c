/* fault_vfs.c - see fault_vfs.h. Each file is a struct with the system's file behind it; what is
 * not intercepted is passed on. */
#include "fault_vfs.h"

#include <semaphore.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

struct fault_file {
    sqlite3_file base;
    _Alignas(8) char real[];
};

static sqlite3_vfs *system_vfs;
static sqlite3_vfs fault;
static sqlite3_io_methods methods;
static atomic_int read_code, write_code, sync_code, calls, countdown, countdown_code, is_held,
    slept_us;
static sem_t waiting, released;

static sqlite3_file *real(sqlite3_file *file)
{
    return (sqlite3_file *)((struct fault_file *)file)->real;
}

/* 0, or the code that this call returns. */
static int intercept(void)
{
    atomic_fetch_add(&calls, 1);
    int left = atomic_load(&countdown);
    if (left == 1)
        return atomic_load(&countdown_code);
    if (left > 1)
        atomic_store(&countdown, left - 1);
    return atomic_load(&write_code);
}

static int on_write(sqlite3_file *file, const void *p, int n, sqlite3_int64 at)
{
    int code = intercept();
    return code ? code : real(file)->pMethods->xWrite(real(file), p, n, at);
}

static int on_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    int code = intercept();
    return code ? code : real(file)->pMethods->xTruncate(real(file), size);
}

static int on_sync(sqlite3_file *file, int flags)
{
    if (atomic_exchange(&is_held, 0)) {
        sem_post(&waiting);
        sem_wait(&released);
    }
    int code = intercept();
    if (!code)
        code = atomic_load(&sync_code);
    return code ? code : real(file)->pMethods->xSync(real(file), flags);
}

static int on_close(sqlite3_file *file)
{
    return real(file)->pMethods->xClose(real(file));
}

static int on_read(sqlite3_file *file, void *p, int n, sqlite3_int64 at)
{
    int code = atomic_load(&read_code);
    return code ? code : real(file)->pMethods->xRead(real(file), p, n, at);
}

static int on_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real(file)->pMethods->xFileSize(real(file), size);
}

static int on_lock(sqlite3_file *file, int level)
{
    return real(file)->pMethods->xLock(real(file), level);
}

static int on_unlock(sqlite3_file *file, int level)
{
    return real(file)->pMethods->xUnlock(real(file), level);
}

static int on_check_lock(sqlite3_file *file, int *out)
{
    return real(file)->pMethods->xCheckReservedLock(real(file), out);
}

static int on_control(sqlite3_file *file, int op, void *arg)
{
    return real(file)->pMethods->xFileControl(real(file), op, arg);
}

static int on_sector_size(sqlite3_file *file)
{
    return real(file)->pMethods->xSectorSize(real(file));
}

static int on_characteristics(sqlite3_file *file)
{
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int on_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    return real(file)->pMethods->xShmMap(real(file), page, size, extend, out);
}

static int on_shm_lock(sqlite3_file *file, int at, int n, int flags)
{
    return real(file)->pMethods->xShmLock(real(file), at, n, flags);
}

static void on_shm_barrier(sqlite3_file *file)
{
    real(file)->pMethods->xShmBarrier(real(file));
}

static int on_shm_unmap(sqlite3_file *file, int deletes)
{
    return real(file)->pMethods->xShmUnmap(real(file), deletes);
}

static int on_open(
    sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    (void)vfs;
    int rc = system_vfs->xOpen(system_vfs, name, real(file), flags, out_flags);
    file->pMethods = rc == SQLITE_OK ? &methods : NULL;
    return rc;
}

static int on_sleep(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    atomic_fetch_add(&slept_us, us);
    return system_vfs->xSleep(system_vfs, us);
}

void fault_vfs_install(void)
{
    sem_init(&waiting, 0, 0);
    sem_init(&released, 0, 0);
    methods = (sqlite3_io_methods){2, on_close, on_read, on_write, on_truncate, on_sync, on_size,
        on_lock, on_unlock, on_check_lock, on_control, on_sector_size, on_characteristics,
        on_shm_map, on_shm_lock, on_shm_barrier, on_shm_unmap, NULL, NULL};
    system_vfs = sqlite3_vfs_find(NULL);
    fault = *system_vfs;
    fault.zName = "fault";
    fault.szOsFile = (int)offsetof(struct fault_file, real) + system_vfs->szOsFile;
    fault.xOpen = on_open;
    fault.xSleep = on_sleep;
    sqlite3_vfs_register(&fault, 1);
}

void fault_vfs_fail_writes(int code)
{
    atomic_store(&write_code, code);
}

void fault_vfs_fail_reads(int code)
{
    atomic_store(&read_code, code);
}

void fault_vfs_fail_syncs(int code)
{
    atomic_store(&sync_code, code);
}

void fault_vfs_fail_after(int k, int code)
{
    atomic_store(&countdown_code, code);
    atomic_store(&countdown, k);
}

int fault_vfs_calls(void)
{
    return atomic_load(&calls);
}

int fault_vfs_slept_us(void)
{
    return atomic_load(&slept_us);
}

void fault_vfs_hold(void)
{
    atomic_store(&is_held, 1);
}

void fault_vfs_await(void)
{
    sem_wait(&waiting);
}

void fault_vfs_release(void)
{
    sem_post(&released);
}
