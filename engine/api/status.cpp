// SPDX-License-Identifier: BSD-3-Clause
//
// Statuses of the C interface: their sentences, and the last error of each thread.
#include <cstring>

#include "api/handles.hpp"

#define LACUNA_STRING_OF(x) #x
#define LACUNA_STRING(x) LACUNA_STRING_OF(x)

namespace lacuna::api {
namespace {

std::string& last_error() noexcept {
  thread_local std::string message;
  return message;
}

}  // namespace

lacuna_status fail(lacuna_status status, std::string message) noexcept {
  last_error() = std::move(message);
  return status;
}

lacuna_status give(Result<TypePtr> made, lacuna_type** type) {
  if (!made) return fail(made.error().status, made.error().message);
  *type = handle_of(std::move(made).value());
  return LACUNA_OK;
}

lacuna_status give_text(const std::string& text, size_t capacity, char* out, size_t* needed) {
  const size_t bytes = text.size() + 1;
  if (needed != nullptr) *needed = bytes;
  if (capacity < bytes) {
    return fail(LACUNA_TRUNCATED, "the text needs " + std::to_string(bytes) +
                                      " bytes; capacity is " + std::to_string(capacity));
  }
  if (out == nullptr) return invalid("text is NULL; give a valid pointer");
  std::memcpy(out, text.c_str(), bytes);
  return LACUNA_OK;
}

}  // namespace lacuna::api

const char* lacuna_status_message(lacuna_status status) {
  switch (status) {
    case LACUNA_OK:
      return "done";
    case LACUNA_INVALID_ARGUMENT:
      return "an argument is not valid";
    case LACUNA_PARSE_ERROR:
      return "the text is not a valid type";
    case LACUNA_UNSUPPORTED:
      return "lacuna does not support this";
    case LACUNA_OVERFLOW:
      return "a size, extent or offset does not fit into 64 bits";
    case LACUNA_TRUNCATED:
      return "the given buffer is too small";
    case LACUNA_OUT_OF_MEMORY:
      return "out of memory";
    case LACUNA_INTERNAL:
      return "a defect in lacuna: please report it";
  }
  return "unknown status";
}

const char* lacuna_last_error(void) { return lacuna::api::last_error().c_str(); }

const char* lacuna_version(void) {
  return LACUNA_STRING(LACUNA_VERSION_MAJOR) "." LACUNA_STRING(
      LACUNA_VERSION_MINOR) "." LACUNA_STRING(LACUNA_VERSION_PATCH);
}
