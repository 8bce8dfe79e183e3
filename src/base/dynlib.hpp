// A shared library that is found at run time, so that one build runs with and without it. Never
// closed: such libraries start threads and leave handlers that live on.
#pragma once

#include <span>
#include <string>

#include <weft/result.hpp>

namespace weft {

class Dynlib {
 public:
  // kLocal keeps the library's names to itself; kGlobal shows them to its own plugins.
  enum class Scope { kLocal, kGlobal };

  // The first of `names` that loads.
  static Result<Dynlib> open(std::span<const std::string> names, Scope scope = Scope::kLocal);
  // The first of `names` that this process has loaded already.
  static Result<Dynlib> loaded(std::span<const std::string> names);

  template <class Function>
  Status find(const char* name, Function*& function) const {
    void* symbol = nullptr;
    Status status = find_symbol(name, symbol);
    function = reinterpret_cast<Function*>(symbol);
    return status;
  }
  Status find_symbol(const char* name, void*& symbol) const;
  // The library's object that its own code uses: a program may hold it in the library's stead (copy
  // relocation), so the name is looked up in the whole process first.
  Status find_object(const char* name, void*& object) const;
  bool has(const char* name) const;
  // The file.
  std::string path() const;

 private:
  Dynlib(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}

  void* handle_;
  std::string name_;
};

}  // namespace weft
