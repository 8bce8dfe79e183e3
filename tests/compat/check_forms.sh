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

# Every routine is declared in C99, and defined: this one needs no job.
"$build/bin/weft-cc" -std=c99 -Wall -Wextra -pedantic -Werror ${sanitize:+-fsanitize=$sanitize} "$addresses" \
    -o "$scratch/addresses"
"$scratch/addresses"
