// The two directions of the JSON form: Writer and Reader offer the same call, `archive("key", value)`, so that json_fields.hpp can list the
// fields of each type once. Reading never throws: the first fault is kept with its path, and nesting is bounded.
#pragma once

#include <fmt/format.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "ir/expr.hpp"
#include "ir/reducer.hpp"
#include "ir/result.hpp"

namespace fathom::json {

using Json = nlohmann::ordered_json;

/// Deeper trees are not written as trees (but as {"op":"text"}), and not read.
inline constexpr int deepest = 500;

/// Spelling of each value of an enumeration, in order; specialised in json_fields.hpp.
template <class Enum>
struct Names;

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsShared : std::false_type {};
template <class T>
struct IsShared<std::shared_ptr<const T>> : std::true_type {
  using Pointee = T;
};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

/// An operation's identifier: "add", "where", …
[[nodiscard]] std::string_view identifier(Op);
[[nodiscard]] std::optional<Op> op_identified(std::string_view);

class Writer {
 public:
  static constexpr bool reads = false;
  template <class T>
  using Ref = const T&;

  explicit Writer(const std::vector<ReducerRef>* reducers) : reducers_(reducers) {}

  template <class T>
  void operator()(const char* key, const T& value) {
    Json encoded = encode(value);
    (*object_)[key] = std::move(encoded);
  }

  /// Reducers in full; elsewhere those of the program and the built-in ones are named.
  void definitions(const char* key, const std::vector<ReducerRef>& reducers) {
    Json array = Json::array();
    for (const ReducerRef& reducer : reducers) array.push_back(encode(*reducer));
    (*object_)[key] = std::move(array);
  }

  template <class T>
  Json encode(const T& value) {
    if constexpr (std::is_same_v<T, Symbol>) {
      return value.text();
    } else if constexpr (std::is_same_v<T, Expr>) {
      return expression(value);
    } else if constexpr (std::is_same_v<T, DType>) {
      return value == DType::real ? Json() : Json(std::string(name(value)));
    } else if constexpr (std::is_same_v<T, ReducerRef>) {
      return reducer(value);
    } else if constexpr (std::is_enum_v<T>) {
      return Names<T>::all[static_cast<std::size_t>(value)];
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else if constexpr (std::is_same_v<T, SourceSpan>) {
      return Json::array({value.source, value.begin, value.end});
    } else if constexpr (IsOptional<T>::value || IsShared<T>::value) {
      return value ? encode(*value) : Json();
    } else if constexpr (IsVector<T>::value) {
      Json array = Json::array();
      for (const auto& item : value) array.push_back(encode(item));
      return array;
    } else {
      Json object = Json::object();
      Json* outer = std::exchange(object_, &object);
      fields(*this, value);
      object_ = outer;
      return object;
    }
  }

 private:
  Json expression(Expr);
  Json reducer(const ReducerRef&);

  const std::vector<ReducerRef>* reducers_;  // those of the program: named, not repeated
  Json* object_ = nullptr;
};

class Reader {
 public:
  static constexpr bool reads = true;
  template <class T>
  using Ref = T&;

  explicit Reader(const std::vector<ReducerRef>* reducers) : reducers_(reducers) {}

  [[nodiscard]] bool failed() const { return fault_.has_value(); }
  [[nodiscard]] const std::optional<std::string>& fault() const { return fault_; }

  template <class... Args>
  void fail(fmt::format_string<Args...> message, Args&&... args) {
    if (!fault_) fault_ = path_ + (path_.empty() ? "" : ": ") + fmt::format(message, std::forward<Args>(args)...);
  }

  template <class T>
  void operator()(const char* key, T& value) {
    if (failed()) return;
    const auto found = object_->find(key);
    if (found == object_->end()) return fail("the field {} is missing", key);
    enter(path_.empty() ? key : "." + std::string(key), [&] { decode(*found, value); });
  }

  void definitions(const char* key, std::vector<ReducerRef>& reducers) {
    std::vector<Reducer> read;
    (*this)(key, read);
    reducers.clear();
    for (Reducer& each : read) reducers.push_back(std::make_shared<const Reducer>(std::move(each)));
  }

  /// What a variant is, before its fields are read.
  [[nodiscard]] std::string text_of(const char* key) {
    std::string text;
    (*this)(key, text);
    return text;
  }
  [[nodiscard]] bool has(const char* key) const { return object_->contains(key); }

  template <class T>
  void decode(const Json& from, T& value) {
    if (failed()) return;
    if constexpr (std::is_same_v<T, Symbol>) {
      if (from.is_string()) {
        value = Symbol(from.get_ref<const std::string&>());
      } else {
        fail("a name is wanted");
      }
    } else if constexpr (std::is_same_v<T, Expr>) {
      value = expression(from);
    } else if constexpr (std::is_same_v<T, DType>) {
      dtype(from, value);
    } else if constexpr (std::is_same_v<T, ReducerRef>) {
      value = reducer(from);
    } else if constexpr (std::is_enum_v<T>) {
      enumeration(from, value);
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!from.is_boolean()) return fail("true or false is wanted");
      value = from.get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      integer(from, value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!from.is_string()) return fail("a text is wanted");
      value = from.get<std::string>();
    } else if constexpr (std::is_same_v<T, SourceSpan>) {
      if (!from.is_array() || from.size() != 3) return fail("a span [source, begin, end] is wanted");
      integer(from[0], value.source);
      integer(from[1], value.begin);
      integer(from[2], value.end);
    } else if constexpr (IsShared<T>::value) {
      typename IsShared<T>::Pointee pointee;
      decode(from, pointee);
      value = std::make_shared<const typename IsShared<T>::Pointee>(std::move(pointee));
    } else if constexpr (IsOptional<T>::value) {
      if (from.is_null()) return value.reset();
      decode(from, value.emplace());
    } else if constexpr (IsVector<T>::value) {
      if (!from.is_array()) return fail("a list is wanted");
      value.resize(from.size());
      for (std::size_t i = 0; i < from.size(); ++i) enter(fmt::format("[{}]", i), [&] { decode(from[i], value[i]); });
    } else {
      if (!from.is_object()) return fail("an object is wanted");
      const Json* outer = std::exchange(object_, &from);
      fields(*this, value);
      object_ = outer;
    }
  }

 private:
  template <class Body>
  void enter(const std::string& step, Body body) {
    if (depth_ >= deepest * 2 + 100) return fail("nesting is deeper than {}", deepest);
    const std::size_t length = path_.size();
    path_ += step;
    ++depth_;
    body();
    --depth_;
    path_.resize(length);
  }

  template <class Enum>
  void enumeration(const Json& from, Enum& value) {
    for (std::size_t i = 0; i < Names<Enum>::all.size(); ++i)
      if (from.is_string() && from.get_ref<const std::string&>() == Names<Enum>::all[i]) {
        value = static_cast<Enum>(i);
        return;
      }
    fail("{} is none of {}", from.dump(), fmt::join(Names<Enum>::all, ", "));
  }

  template <class Int>
  void integer(const Json& from, Int& value) {
    if (!from.is_number_integer() || (from.is_number_unsigned() && from.get<std::uint64_t>() > INT64_MAX))
      return fail("an integer is wanted");
    const auto wide = from.get<std::int64_t>();
    value = static_cast<Int>(wide);
    if (static_cast<std::int64_t>(value) != wide) fail("{} is out of range", wide);
  }

  void dtype(const Json&, DType&);
  Expr expression(const Json&);
  Expr special(Op, const Json&);
  Expr number_of(const Json&);
  std::vector<Expr> args(const Json&, const char* key);
  Symbol name_in(const Json&, const char* key);
  ReducerRef reducer(const Json&);

  const std::vector<ReducerRef>* reducers_;
  const Json* object_ = nullptr;
  std::string path_;
  int depth_ = 0;
  std::optional<std::string> fault_;
};

/// The text of a value; and the value of a text, with the whole program's reducers in scope.
template <class T>
std::string text_of(const T& value, const std::vector<ReducerRef>* reducers) {
  return Writer(reducers).encode(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}
template <class T>
Result<T> value_of(std::string_view text, T value, const std::vector<ReducerRef>& (*reducers_of)(const T&)) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return refuse("The text is not JSON.");
  Reader reader(&reducers_of(value));
  reader.decode(json, value);
  if (reader.failed()) return refuse("The JSON cannot be read. " + *reader.fault() + ".");
  return value;
}

}  // namespace fathom::json
