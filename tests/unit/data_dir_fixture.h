/* data_dir_fixture.h - a data directory of a test's own, with the folders that bodies need. */
#ifndef HL_TEST_DATA_DIR_FIXTURE_H
#define HL_TEST_DATA_DIR_FIXTURE_H

extern char data_dir[];

void data_dir_begin(void);
/* Removes all that is in it. */
void data_dir_end(void);

/* Files in it, however deep. */
unsigned data_dir_files(void);

#endif
