/* port.h - ports of 127.0.0.1. */
#ifndef HL_DEV_PORT_H
#define HL_DEV_PORT_H

#include <stdbool.h>
#include <stdint.h>

/* `wanted`, or the next one that nobody has; 0: there is none. */
uint16_t hl_dev_port_find(uint16_t wanted);
/* Somebody listens there. */
bool hl_dev_port_answers(uint16_t port);

#endif
