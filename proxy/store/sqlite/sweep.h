/* sweep.h - removes files of bodies that no record names. At open. */
#ifndef HL_STORE_SQLITE_SWEEP_H
#define HL_STORE_SQLITE_SWEEP_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"

struct hl_database;

bool hl_sweep_finds_bodies(struct hl_database *db); /* in files */
/* What nobody will finish goes. */
void hl_sweep_empty_tmp(const struct hl_database *db);
/* Files without records go; records without files are reported. */
HL_MUST_CHECK enum hl_err hl_sweep_files(struct hl_database *db);

#endif
