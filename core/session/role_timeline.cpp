#include "session/role_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "interp/run_kernel.hpp"
#include "ir/overloaded.hpp"

namespace fathom::session {
namespace {

using Kind = RoleTimeline::Kind;

bool has_roles(const kernel::Kernel& k) {
  const auto groups = [](const kernel::Role& role) {
    return role.groups ? constant_integer(simplify_integer(role.groups)).value_or(2) : 1;
  };
  return k.roles.size() > 1 || !k.channels.empty() || !k.turns.empty() ||
         std::any_of(k.roles.begin(), k.roles.end(), [&](const kernel::Role& role) { return groups(role) > 1; });
}

Kind kind_of(const kernel::Statement& s) {
  return std::visit(Overloaded{
                        [](const kernel::Mma&) { return Kind::product; },
                        [](const kernel::Copy&) { return Kind::copy; },
                        [](const kernel::Acquire&) { return Kind::handover; },
                        [](const kernel::Receive&) { return Kind::handover; },
                        [](const kernel::Publish&) { return Kind::handover; },
                        [](const kernel::Release&) { return Kind::handover; },
                        [](const kernel::Take&) { return Kind::turn; },
                        [](const kernel::Pass&) { return Kind::turn; },
                        [](const auto&) { return Kind::value; },
                    },
                    s.op);
}

std::string name_of(const kernel::Statement& s) {
  return std::visit(Overloaded{
                        [](const kernel::Value& v) { return v.targets.front().name.text(); },
                        [](const kernel::Mma& m) { return m.acc.name.text(); },
                        [](const kernel::Copy& c) { return c.to.name.text(); },
                        [](const kernel::Await& a) { return a.acc ? a.acc->name.text() : a.token.text(); },
                        [](const kernel::Atomic& a) { return a.result.text(); },
                        [](const kernel::Acquire& a) { return a.channel.name.text(); },
                        [](const kernel::Receive& r) { return r.channel.name.text(); },
                        [](const kernel::Publish& p) { return p.channel.name.text(); },
                        [](const kernel::Release& r) { return r.channel.name.text(); },
                        [](const kernel::Take& t) { return t.turn.text(); },
                        [](const kernel::Pass& p) { return p.turn.text(); },
                        [](const auto&) { return std::string(); },
                    },
                    s.op);
}

/// One line, without its stage.
std::string text_of(const kernel::Statement& s) {
  std::string text = kernel::print(s);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

/// Puts the events of a run together.
class Recorder {
 public:
  explicit Recorder(const kernel::Kernel& k) : k_(k) {
    made_.kernel = k.name.text();
    for (const kernel::Role& role : k.roles) {
      const std::int64_t groups = groups_of(role);
      for (int group = 0; group < groups; ++group)
        made_.lanes.push_back({role.name.text(), group, groups > 1 ? fmt::format("{} {}", role.name.text(), group) : role.name.text()});
    }
    for (const kernel::Channel& c : k.channels) {
      const std::int64_t rings = c.each.empty() ? 1 : groups_of_role(c.each);
      for (std::int64_t ring = 0; ring < rings; ++ring) {
        numbers_[{c.name, static_cast<std::size_t>(ring)}] = made_.rings.size();
        made_.rings.push_back({c.name.text(),
                               rings > 1 ? fmt::format("{}[{}]", c.name.text(), ring) : c.name.text(),
                               constant_integer(simplify_integer(c.depth)).value_or(1),
                               {}});
        const std::int64_t receivers = c.each.empty() ? groups_of_role(c.to) : 1;
        counts_.emplace_back().released.assign(static_cast<std::size_t>(receivers), 0);
      }
    }
    open_wait_.assign(made_.lanes.size(), std::nullopt);
  }

  /// False where it is enough.
  bool add(const interp::Operation& seen) {
    if (seen.kernel != k_.name) return made_.bars.empty();  // a kernel in front of it runs, or it is over
    if (seen.workgroup > 0) return false;
    if (seen.round >= most_rounds) {
      made_.is_cut = true;
      return false;
    }
    close_rounds(seen.round);
    const std::size_t lane = lane_of(seen);
    if (seen.waits) {
      add_wait(seen, lane);
      return true;
    }
    open_wait_[lane].reset();
    made_.bars.push_back({lane, seen.round, seen.round + 1, kind_of(*seen.statement), text(*seen.statement), name_of(*seen.statement)});
    follow_tokens(seen, lane);
    hand_over(seen);
    return true;
  }

  RoleTimeline take() {
    levels_until(made_.rounds);
    for (RoleTimeline::Flight& each : made_.flights) each.to = std::max(each.to == 0 ? made_.rounds : each.to, each.from + 1);
    return std::move(made_);
  }

 private:
  struct Counts {
    std::int64_t acquired = 0, published = 0;
    std::vector<std::int64_t> released;
    std::map<std::int64_t, std::size_t> publish_of, last_release_of;  ///< bars, by item
    [[nodiscard]] std::int64_t all_released() const { return *std::min_element(released.begin(), released.end()); }
  };

  static std::int64_t groups_of(const kernel::Role& role) {
    return role.groups ? constant_integer(simplify_integer(role.groups)).value_or(1) : 1;
  }
  [[nodiscard]] std::int64_t groups_of_role(Symbol name) const {
    for (const kernel::Role& role : k_.roles)
      if (role.name == name) return groups_of(role);
    return 1;
  }
  [[nodiscard]] std::size_t lane_of(const interp::Operation& seen) const {
    const auto at = std::find_if(made_.lanes.begin(), made_.lanes.end(),
                                 [&](const RoleTimeline::Lane& each) { return each.role == seen.role.text() && each.group == seen.group; });
    return static_cast<std::size_t>(at - made_.lanes.begin());
  }
  const std::string& text(const kernel::Statement& s) {
    auto [at, is_new] = texts_.try_emplace(&s);
    if (is_new) at->second = text_of(s);
    return at->second;
  }

  void close_rounds(std::int64_t round) {
    levels_until(round);
    made_.rounds = std::max(made_.rounds, round + 1);
  }
  void levels_until(std::int64_t round) {
    for (std::size_t r = 0; r < made_.rings.size(); ++r) {
      const Counts& counts = counts_[r];
      auto& levels = made_.rings[r].levels;
      while (static_cast<std::int64_t>(levels.size()) < round)
        levels.push_back({counts.acquired - counts.published, counts.published - counts.all_released()});
    }
  }

  void add_wait(const interp::Operation& seen, std::size_t lane) {
    std::optional<std::size_t>& open = open_wait_[lane];
    if (open && made_.bars[*open].to == seen.round) {
      ++made_.bars[*open].to;
      return;
    }
    open = made_.bars.size();
    made_.bars.push_back({lane, seen.round, seen.round + 1, Kind::wait, text(*seen.statement), name_of(*seen.statement)});
  }

  void follow_tokens(const interp::Operation& seen, std::size_t lane) {
    const Kind kind = made_.bars.back().kind;
    if (kind == Kind::product || kind == Kind::copy) {
      for (const std::int64_t token : seen.tokens) {
        flight_of_[token] = made_.flights.size();
        made_.flights.push_back({lane, seen.round, 0, kind, made_.bars.back().statement, made_.bars.back().name});
      }
      return;
    }
    if (std::holds_alternative<kernel::Publish>(seen.statement->op)) return;  // handed on: the receiver waits
    for (const std::int64_t token : seen.tokens) {
      const auto at = flight_of_.find(token);
      if (at != flight_of_.end() && made_.flights[at->second].to == 0) made_.flights[at->second].to = seen.round + 1;
    }
  }

  std::size_t ring_of(Symbol channel, const interp::Operation& seen) const { return numbers_.at({channel, seen.ring}); }

  void hand_over(const interp::Operation& seen) {
    const std::size_t bar = made_.bars.size() - 1;
    const auto tie = [&](const std::map<std::int64_t, std::size_t>& from, std::int64_t item, std::size_t ring, bool frees) {
      const auto at = from.find(item);
      if (at != from.end()) made_.ties.push_back({at->second, bar, ring, item, frees});
    };
    std::visit(Overloaded{
                   [&](const kernel::Acquire& a) {
                     const std::size_t ring = ring_of(a.channel.name, seen);
                     ++counts_[ring].acquired;
                     tie(counts_[ring].last_release_of, seen.item - made_.rings[ring].depth, ring, true);
                   },
                   [&](const kernel::Publish& p) {
                     Counts& counts = counts_[ring_of(p.channel.name, seen)];
                     ++counts.published;
                     counts.publish_of[seen.item] = bar;
                   },
                   [&](const kernel::Receive& r) {
                     const std::size_t ring = ring_of(r.channel.name, seen);
                     tie(counts_[ring].publish_of, seen.item, ring, false);
                   },
                   [&](const kernel::Release& r) {
                     Counts& counts = counts_[ring_of(r.channel.name, seen)];
                     const std::size_t by = counts.released.size() > 1 ? static_cast<std::size_t>(seen.group) : 0;
                     counts.released[by] = seen.item + 1;
                     counts.last_release_of[seen.item] = bar;
                   },
                   [](const auto&) {},
               },
               seen.statement->op);
  }

  const kernel::Kernel& k_;
  RoleTimeline made_;
  std::vector<Counts> counts_;  ///< by ring
  std::map<std::pair<Symbol, std::size_t>, std::size_t> numbers_;
  std::vector<std::optional<std::size_t>> open_wait_;  ///< by lane
  std::map<std::int64_t, std::size_t> flight_of_;      ///< by token
  std::map<const kernel::Statement*, std::string> texts_;
};

// ---- small sizes ----

const Step* step_with(const Compilation& compilation, const std::string& id) {
  for (const Step& each : compilation.record.steps)
    if (each.id == id && each.after.level == Level::kernel) return &each;
  return nullptr;
}

/// What has to stay as it is for the small program to be the same plan: all but ranges of loops and of the work.
std::string shape_of(const kernel::Module& module) {
  std::string shape;
  const auto add = [&](const std::string& part) { shape += part + ";"; };
  const auto extents = [&](const std::vector<Expr>& box) {
    for (const Expr each : box) add(fathom::print(each));
  };
  for (const kernel::Kernel& k : module.kernels) {
    add(k.name.text());
    for (const kernel::TileAxis& axis : k.axes)
      for (const kernel::AxisPart& part : axis.parts) add(part.name.text() + ":" + fathom::print(part.extent));
    for (const kernel::AtomUse& atom : k.atoms) add(atom.atom.text());
    for (const kernel::Channel& c : k.channels) {
      add(c.name.text() + " " + fathom::print(c.depth));
      extents(c.box);
    }
    for (const kernel::Turn& turn : k.turns) add(turn.name.text());
    for (const kernel::Role& role : k.roles) add(role.name.text() + (role.groups ? " " + fathom::print(role.groups) : ""));
  }
  return shape;
}

std::int64_t largest_tile(const Compilation& compilation) {
  std::int64_t largest = 1;
  for (const Decision& decision : compilation.record.decisions)
    if (decision.kind == "tile") largest = std::max<std::int64_t>(largest, std::strtoll(decision.choice.c_str(), nullptr, 10));
  return largest;
}

using Compiled = std::shared_ptr<const Compilation>;

/// Dimensions of one size together first, for conditions tie them; then each by itself. One, or else a few tiles.
Compiled made_small(const Compilation& document, const std::string& id) {
  constexpr std::int64_t tiles = 3;
  const Step* const step = step_with(document, id);
  const std::string wanted = shape_of(step->after.module());
  Inputs inputs = document.inputs;
  inputs.trace = document.record.trace;
  Compiled best;
  const auto try_sizes = [&](const std::vector<std::string>& dims, std::int64_t size) {
    Inputs smaller = inputs;
    for (const std::string& dim : dims) smaller.dims[dim] = size;
    const auto compiled = compile(smaller);
    if (!compiled) return false;
    const Step* const same = step_with(**compiled, id);
    if (same == nullptr || shape_of(same->after.module()) != wanted) return false;
    inputs = std::move(smaller);
    best = *compiled;
    return true;
  };
  std::map<std::int64_t, std::vector<std::string>, std::greater<>> by_size;
  for (const auto& [dim, size] : math::default_dims(document.program)) by_size[size].push_back(dim.text());
  const std::int64_t few = tiles * largest_tile(document);
  const auto shrink = [&](const std::vector<std::string>& dims, std::int64_t size) {
    return (size > 1 && try_sizes(dims, 1)) || (size > few && try_sizes(dims, few));
  };
  for (const auto& [size, dims] : by_size) {
    if (shrink(dims, size) || dims.size() < 2) continue;
    for (const std::string& dim : dims) (void)shrink({dim}, size);
  }
  if (best == nullptr) (void)try_sizes({}, 0);
  return best;
}

}  // namespace

bool has_roles(const kernel::Module& module) {
  return std::any_of(module.kernels.begin(), module.kernels.end(), [](const kernel::Kernel& k) { return has_roles(k); });
}

Result<RoleTimeline> role_timeline(const kernel::Module& module, const interp::Arrays& inputs, const DimValues& dims) {
  const auto k = std::find_if(module.kernels.begin(), module.kernels.end(), [](const kernel::Kernel& each) { return has_roles(each); });
  if (k == module.kernels.end()) return refuse("no kernel has several roles, a channel or a turn", {});
  Recorder recorder(*k);
  bool is_enough = false;
  interp::RunOptions options;
  options.dims = dims;
  options.work_limit = 2'000'000'000;
  options.watcher = [&](const interp::Operation& seen) {
    is_enough = !recorder.add(seen);
    return !is_enough;
  };
  const auto ran = interp::run_module(module, Level::kernel, inputs, options);
  if (!ran && !is_enough) return tl::unexpected(ran.error());
  return recorder.take();
}

Result<RoleTimeline> role_timeline(const Compilation& document, std::size_t step) {
  const Step& asked = document.record.steps.at(step);
  if (asked.after.level != Level::kernel || !has_roles(asked.after.module()))
    return refuse("The program after this step has one role, without channels: one group does everything in the order of the text.", {});
  const Compiled small = made_small(document, asked.id);
  const Step* const same = small == nullptr ? nullptr : step_with(*small, asked.id);
  if (same == nullptr) return refuse("The program cannot be compiled again at small sizes.", {});
  const DimValues dims = math::default_dims(small->program);
  auto made = role_timeline(same->after.module(), interp::make_inputs(small->program, dims, "gaussian", 1), dims);
  if (!made) return made;
  for (const auto& [dim, size] : dims) made->sizes += fmt::format("{}{} = {}", made->sizes.empty() ? "" : ", ", dim.text(), size);
  return made;
}

}  // namespace fathom::session
