/* A program in C under torchrun: as_torchrun.py N c_api_id_test. Rank 0's unique id travels in a
 * file of the folder that is the argument. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weft/kernels.h>

#include "c_api_check.h"

static int pe, npes;

enum { kText = 1024 };

static void write_text(const char* path, const char* text) {
  char new_path[kText + 8];
  FILE* file;
  snprintf(new_path, sizeof(new_path), "%s.new", path);
  REQUIRE((file = fopen(new_path, "w")) != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
  REQUIRE(rename(new_path, path) == 0);
}
static void read_text(const char* path, char* text) {
  const struct timespec pause = {0, 5 * 1000 * 1000};
  FILE* file;
  while ((file = fopen(path, "r")) == NULL) nanosleep(&pause, NULL);
  REQUIRE(fgets(text, kText, file) != NULL && fclose(file) == 0);
}

static void sum(weft_runtime_t* job) {
  const weft_collective_problem problem = {3, WEFT_FLOAT32, WEFT_SUM};
  float in[3] = {(float)pe, 1, 2}, out[3] = {-1, -1, -1};
  weft_all_reduce_t* op = NULL;
  SUCCEEDS(weft_all_reduce_create(job, &problem, NULL, &op));
  SUCCEEDS(weft_all_reduce(op, NULL, out, in, 3));
  SUCCEEDS(weft_runtime_synchronize(job, NULL));
  REQUIRE(out[0] == (float)(npes * (npes - 1) / 2));
  REQUIRE(out[1] == (float)npes && out[2] == (float)(2 * npes));
  weft_all_reduce_destroy(op);
}

/* A job of all ranks; one process may be in several, one after the other. */
static void one_job(const char* folder, int number, int told) {
  char path[kText], text[kText];
  weft_unique_id_t* id = NULL;
  weft_runtime_t* job = NULL;
  snprintf(path, sizeof(path), "%s/id%d", folder, number);
  if (pe == 0) {
    SUCCEEDS(weft_unique_id_create(told, NULL, &id));
    write_text(path, weft_unique_id_text(id));
  }
  read_text(path, text);
  SUCCEEDS(weft_runtime_create_with_id(text, pe, npes, &job));
  REQUIRE(weft_runtime_pe(job) == pe && weft_runtime_npes(job) == npes);
  sum(job);
  weft_runtime_destroy(job);
  weft_unique_id_destroy(id);
}

int main(int argc, char** argv) {
  weft_runtime_t* job = NULL;
  weft_unique_id_t* id = NULL;
  REQUIRE(argc == 2 && getenv("RANK") != NULL && getenv("WORLD_SIZE") != NULL);
  pe = atoi(getenv("RANK"));
  npes = atoi(getenv("WORLD_SIZE"));
  if (npes > 1)
    FAILS(weft_runtime_create(&job), WEFT_INVALID_ARGUMENT, "weft_runtime_create_with_id");
  FAILS(weft_runtime_create_with_id(NULL, pe, npes, &job), WEFT_INVALID_ARGUMENT, "text is null");
  FAILS(weft_runtime_create_with_id("no id", pe, npes, &job), WEFT_INVALID_ARGUMENT, "no id");
  FAILS(weft_unique_id_create(-1, NULL, &id), WEFT_INVALID_ARGUMENT, "npes is -1");
  REQUIRE(job == NULL && id == NULL);
  one_job(argv[1], 0, npes);
  one_job(argv[1], 1, 0);
  return 0;
}
