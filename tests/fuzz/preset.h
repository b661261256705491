/* preset.h - the configurations that targets choose from. */
#ifndef HL_FUZZ_PRESET_H
#define HL_FUZZ_PRESET_H

#define PRESET_COUNT 4

/* One of PRESET_COUNT, made at its first use and never freed; `i` is taken modulo. */
const struct hl_config *preset(unsigned i);

#endif
