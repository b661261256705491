/* transaction.h - the driver's transactions. The store's thread; before it starts, the opener's. */
#ifndef HL_STORE_SQLITE_TRANSACTION_H
#define HL_STORE_SQLITE_TRANSACTION_H

#include "base/err.h"

struct hl_driver;

/* See driver.h. */
enum hl_err hl_transaction_begin(struct hl_driver *d);
enum hl_err hl_transaction_commit(struct hl_driver *d);
void hl_transaction_rollback(struct hl_driver *d);

#endif
