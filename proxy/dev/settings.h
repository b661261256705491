/* settings.h - what `hookline dev` decides before it starts anything: programs, ports, environments. */
#ifndef HL_DEV_SETTINGS_H
#define HL_DEV_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct hl_dev_plan;

#define HL_DEV_PROJECT "dev"
#define HL_DEV_NAME    "app"

/* Texts that end with NULL, as a program is given them. */
struct hl_dev_texts {
    char **items;
    size_t n;
};

/* One of 127.0.0.1 that nobody listens at, nor another `hookline dev` is about to, for as long as `held` is open. */
struct hl_dev_port {
    uint16_t number;
    int held; /* -1: none */
};

struct hl_dev_settings {
    char program[4096];   /* this one */
    char folder[4096];    /* of the app's files */
    char file[4096];      /* that holds the functions; whole */
    char host[4096 + 32]; /* hookline-function */
    char python[4096];    /* the folder that hookline_runtime is in */
    char node[4096];      /* the folder that hookline-functions is in */
    struct hl_dev_port run, admin, app, hooks;
    char secret[64];
    struct hl_dev_texts argv, app_texts, texts;
    char *const *app_argv, *const *app_environment, *const *environment;
    struct hl_buf ignored; /* names of variables, separated by blanks */
};

/* False: it has said what is wrong; nothing is to be ended then. */
bool hl_dev_settings_make(struct hl_dev_settings *s, const struct hl_dev_plan *plan);
void hl_dev_settings_fini(struct hl_dev_settings *s);

/* ---- ports of 127.0.0.1 ---- */

/* Somebody listens there. */
bool hl_dev_port_answers(uint16_t port);

#endif
