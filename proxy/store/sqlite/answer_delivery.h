/* answer_delivery.h - one delivery, or a list of them. The reader's thread, inside a
 * transaction. */
#ifndef HL_STORE_SQLITE_ANSWER_DELIVERY_H
#define HL_STORE_SQLITE_ANSWER_DELIVERY_H

#include "base/compiler.h"
#include "base/err.h"

struct hl_get_delivery;
struct hl_list_deliveries;
struct hl_reading;

/* See question.h. */
HL_MUST_CHECK enum hl_err hl_sqlite_answer_get_delivery(
    struct hl_reading *r, struct hl_get_delivery *g);
HL_MUST_CHECK enum hl_err hl_sqlite_answer_list_deliveries(
    struct hl_reading *r, struct hl_list_deliveries *l);

#endif
