/* A program in C that knows weft::kernels only from where it was installed. */
#include <stdio.h>
#include <weft/kernels.h>

static int work(weft_runtime_t* job) {
  const weft_collective_problem problem = {1, WEFT_INT32, WEFT_MAX};
  int32_t largest = weft_runtime_pe(job);
  weft_all_reduce_t* op;
  int code = weft_all_reduce_create(job, &problem, NULL, &op);
  if (code != WEFT_OK) return code;
  code = weft_all_reduce(op, NULL, &largest, &largest, 1);
  if (code == WEFT_OK) code = weft_runtime_synchronize(job, NULL);
  weft_all_reduce_destroy(op);
  return code != WEFT_OK || largest == weft_runtime_npes(job) - 1 ? code : WEFT_INTERNAL;
}

int main(void) {
  weft_runtime_t* job;
  int code = weft_runtime_create(&job);
  if (code == WEFT_OK) {
    code = work(job);
    weft_runtime_destroy(job);
  }
  if (code != WEFT_OK) fprintf(stderr, "weft/kernels.h: code %d, %s\n", code, weft_kernels_error());
  return code;
}
