/* rest_project.h - projects: which have runs; of one, who asks and which apps have runs. */
#ifndef HL_API_REST_PROJECT_H
#define HL_API_REST_PROJECT_H

#include "api/rest_call.h"

hl_rest_handler hl_rest_list_projects, hl_rest_show_project;

#endif
