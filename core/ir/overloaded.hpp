// One function for each alternative of a variant: std::visit(Overloaded{[](const A&) {…}, [](const B&) {…}}, variant).
#pragma once

namespace fathom {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace fathom
