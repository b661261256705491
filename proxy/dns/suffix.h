/* suffix.h - the registrable domain of a host's name, within which one holder can create any
 * number of names. */
#ifndef HL_DNS_SUFFIX_H
#define HL_DNS_SUFFIX_H

#include "base/str.h"

#define HL_SUFFIX_MAX 255

/* Of `host`, a name: one label more than the public suffix that it is under (libpsl's list), or its
 * last two labels where there is no list; all of it when it is a public suffix itself, or longer than
 * names are. In lower case, without the final dot; a slice of `room`. */
struct hl_str hl_suffix_of(struct hl_str host, char room[HL_SUFFIX_MAX + 1]);

#endif
