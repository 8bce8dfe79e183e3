/* beside STEP...: loads libraries into a process that has no C++ of its own, as an interpreter does, one after the other.
 *   local:FILE    by RTLD_LOCAL, global:FILE by RTLD_GLOBAL
 *   reads:FILE    by RTLD_LOCAL; its weft_reads_numbers() must be right
 *   job:FILE      by RTLD_LOCAL; its C API must make a runtime of one PE, and free it
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int (*function)();

static function find(void* library, const char* name) {
  function found = NULL;
  void* const symbol = dlsym(library, name);
  memcpy(&found, &symbol, sizeof(found)); /* a cast would be no C */
  return found;
}

static int reads(void* library) {
  const function numbers = find(library, "weft_reads_numbers");
  return numbers != NULL && numbers() == 1;
}

static int job(void* library) {
  void* runtime = NULL;
  const function create = find(library, "weft_runtime_create");
  const function destroy = find(library, "weft_runtime_destroy");
  if (create == NULL || destroy == NULL || create(&runtime) != 0) return 0;
  destroy(runtime);
  return 1;
}

static int step(const char* word) {
  const char* const colon = strchr(word, ':');
  const int flags = strncmp(word, "global:", 7) == 0 ? RTLD_GLOBAL : RTLD_LOCAL;
  void* const library = colon == NULL ? NULL : dlopen(colon + 1, RTLD_NOW | flags);
  if (library == NULL) {
    fprintf(stderr, "%s: %s\n", word, dlerror());
    return 0;
  }
  if (strncmp(word, "reads:", 6) == 0) return reads(library);
  if (strncmp(word, "job:", 4) == 0) return job(library);
  return 1;
}

int main(int argc, char** argv) {
  int i;
  for (i = 1; i < argc; ++i) {
    if (step(argv[i])) continue;
    fprintf(stderr, "step %d, %s, failed\n", i, argv[i]);
    return 1;
  }
  return 0;
}
