/* welcome.h - what `hookline dev` says once all is there: addresses, and calls to paste. */
#ifndef HL_DEV_WELCOME_H
#define HL_DEV_WELCOME_H

struct hl_dev_plan;
struct hl_dev_settings;

void hl_dev_welcome(const struct hl_dev_plan *plan, const struct hl_dev_settings *s);

#endif
