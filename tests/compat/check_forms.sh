#!/bin/sh
# check_forms.sh BUILD CXX SANITIZE ADDRESSES.c: compiles the language forms, C and C++, by weft-cc and weft-c++ with every
# compiler that is there, warnings as errors, and runs each at 2 PEs.
set -eu
build=$1 cxx=$2 sanitize=$(echo "$3" | tr ';' ',') addresses=$4
cc=$(echo "$cxx" | sed 's/clang++/clang/; s/g++/gcc/; s/c++$/cc/')
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
flags="-Wall -Wextra -pedantic -Werror"

# A sanitizer's library belongs to one compiler.
compilers=""
if [ -n "$sanitize" ]; then
  flags="$flags -fsanitize=$sanitize" compilers="$cc:$cxx"
else
  for pair in gcc:g++ clang:clang++; do
    command -v "${pair%:*}" > /dev/null && command -v "${pair#*:}" > /dev/null && compilers="$compilers $pair"
  done
fi

# form WRAPPER LANGUAGE STANDARD FILE: builds it and runs it.
form() {
  echo "== $CC $1 -std=$3 ${4##*/}"
  # shellcheck disable=SC2086  # flags are words
  "$build/bin/$1" -std="$3" $flags -x "$2" "$4" -o "$scratch/form"
  "$build/bin/weft-run" -n 2 --timeout 120 "$scratch/form"
}

for pair in $compilers; do
  export CC="${pair%:*}" CXX="${pair#*:}"
  form weft-cc c c99 "$here/forms_c99.c"
  form weft-cc c c11 "$here/forms.c"
  case $CC in  # the oldest of C++ by one, the newest by the other
    *clang) form weft-c++ c++ c++20 "$here/forms.c" ;;
    *) form weft-c++ c++ c++11 "$here/forms.c" ;;
  esac
done

# A call with a type that its family lacks does not compile, and the message says why.
for pair in $compilers; do
  export CC="${pair%:*}" CXX="${pair#*:}"
  for call in 'shmem_put(dest, source, 1, 0)' 'shmem_p(SHMEM_CTX_DEFAULT, dest, *source, 0)' \
      'shmem_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 1)' 'shmem_wait_until(flags, SHMEM_CMP_EQ, 1)'; do
    echo "== $CC: $call"
    printf '#include <shmem.h>\nstruct pair { int a, b; } *dest, *source; float *flags;\nvoid f(void);\nvoid f(void) { %s; }\n' \
        "$call" > "$scratch/wrong.c"
    for language in c:cc:"OpenSHMEM has no such routine for the type" c++:c++:"no matching function for call to 'shmem_"; do
      name=${language%%:*} message=${language#*:} wrapper=weft-${message%%:*} message=${message#*:}
      if "$build/bin/$wrapper" -x "$name" -c "$scratch/wrong.c" -o "$scratch/wrong.o" 2> "$scratch/said"; then
        echo "compiles as $name" && exit 1
      fi
      sed "y/‘’/''/" "$scratch/said" | grep -q "$message" || { cat "$scratch/said" && exit 1; }
    done
  done
done

# Every routine is declared in C99, and defined: this one needs no job.
"$build/bin/weft-cc" -std=c99 -Wall -Wextra -pedantic -Werror ${sanitize:+-fsanitize=$sanitize} "$addresses" \
    -o "$scratch/addresses"
"$scratch/addresses"
