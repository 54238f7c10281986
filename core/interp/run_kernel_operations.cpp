// Operations of a process: values, copies and products in flight, channels, turns, and what all groups of a role do together.
#include <algorithm>

#include "interp/run_kernel_body.hpp"

namespace fathom::interp::tiles {

void Process::run_op(const Step& step, const kernel::Value&) {
  if (step.meets) {
    Meeting& meeting = workgroup_.meetings[&step];
    Evaluation places(frame_, step.formula);
    for (std::size_t i = 0; i < meeting.result.size(); ++i) {
      if (!step.targets[i].stored) {
        assign(step.targets[i], meeting.result[i]);
      } else if (group_ == 0 || !step.targets[i].once) {
        store(places, step, step.targets[i], meeting.result[i]);
      }
    }
    leave(meeting);
    return;
  }
  assign_all(step, fill_of(step));
}

TileRef Process::fill_of(const Step& step) {
  if (step.otherwise < 0) return nullptr;
  TileRef fill = Evaluation(frame_, step.formula).value(step.otherwise);
  if (!fill->axes.empty()) stop("the value of `else` must be uniform");
  return fill;
}

void Process::run_op(const Step& step, const kernel::Let&) { assign_all(step, nullptr); }

// ---- in flight ----

TokenRef Process::token(Symbol name) { return frame_.binding(frame_.slot(name)).token; }

void Process::issue(const Step& step, Symbol name) {
  auto token = std::make_shared<Token>();
  token->owner = this;
  token->step = &step;
  token->number = run_.next_token();
  noted_.tokens = {token->number};
  token->names = frame_.bindings();
  frame_.binding(frame_.slot(name)) = {nullptr, {}, nullptr, token};
  const auto over = [](const TokenRef& each) { return each->progress == Token::Progress::landed; };
  issued_.erase(std::remove_if(issued_.begin(), issued_.end(), over), issued_.end());
  issued_.push_back(token);
  if (!run_.lot()) advance(*token, Token::Progress::read);
}

void Process::run_op(const Step& step, const kernel::Copy& copy) {
  issue(step, copy.token);
  const TokenRef& token = issued_.back();
  if (token->progress == Token::Progress::read && !run_.lot()) advance(*token, Token::Progress::landed);
}

void Process::run_op(const Step& step, const kernel::Mma& mma) {
  issue(step, mma.token);
  const Step::Target& acc = step.targets[0];
  if (!acc.stored && !mask_) frame_.binding(acc.slot) = {};
}

namespace {
/// The names as they were at the issue, until the end of the scope. Given back after a fault, too: a token among its own names would keep
/// itself alive.
class NamesAtIssue {
 public:
  NamesAtIssue(Frame& frame, Bindings& names) : frame_(frame), names_(names) { frame_.exchange(names_); }
  ~NamesAtIssue() { frame_.exchange(names_); }
  NamesAtIssue(const NamesAtIssue&) = delete;
  NamesAtIssue& operator=(const NamesAtIssue&) = delete;

 private:
  Frame& frame_;
  Bindings& names_;
};
}  // namespace

void Process::advance(Token& token, Token::Progress to) {
  if (token.progress >= to) return;
  const bool is_copy = std::holds_alternative<kernel::Copy>(token.step->from->op);
  {
    const NamesAtIssue as_issued(frame_, token.names);
    Evaluation evaluation(frame_, token.step->formula, fill_of(*token.step));
    if (token.progress == Token::Progress::issued) token.values = right_sides(evaluation, *token.step);
    token.progress = to;
    if (is_copy && to == Token::Progress::landed) store(evaluation, *token.step, token.step->targets[0], token.values[0]);
  }
  if (!is_copy || to == Token::Progress::landed) token.names.clear();
}

void Process::run_op(const Step&, const kernel::Await& await) {
  const TokenRef waited = token(await.token);
  if (!waited) {
    if (await.acc) stop("`" + await.token.text() + "` is awaited, but nothing is in flight", {await.token.text()});
    return;  // `done`
  }
  noted_.tokens = {waited->number};
  const Step& issued = *waited->step;
  const bool is_copy = std::holds_alternative<kernel::Copy>(issued.from->op);
  waited->sources_awaited = waited->sources_awaited || await.source_only;
  advance(*waited, await.source_only || !is_copy ? Token::Progress::read : Token::Progress::landed);
  if (is_copy || !await.acc) return;
  waited->progress = Token::Progress::landed;
  const Step::Target& acc = issued.targets[0];
  if (acc.stored) {
    Evaluation places(frame_, issued.formula);
    store(places, issued, acc, waited->values[0]);
  } else {
    assign(acc, waited->values[0]);
  }
}

std::string Process::end_in_flight() {
  for (const TokenRef& each : issued_) {
    if (each->progress == Token::Progress::landed) continue;
    const auto* copy = std::get_if<kernel::Copy>(&each->step->from->op);
    if (copy != nullptr && each->progress == Token::Progress::read && each->sources_awaited) {
      advance(*each, Token::Progress::landed);
      continue;
    }
    return copy != nullptr ? copy->token.text() : std::get<kernel::Mma>(each->step->from->op).token.text();
  }
  return {};
}

// ---- channels and turns ----

std::size_t Ring::all_released() const { return *std::min_element(released.begin(), released.end()); }

std::size_t Process::number_of_ring(const Step& step, Symbol channel) {
  const std::vector<Ring>& rings = workgroup_.rings.at(channel);
  std::int64_t at = rings.size() > 1 ? group_ : 0;
  if (!step.subscripts.empty())
    at = uniform_integer(Evaluation(frame_, step.formula).value(step.subscripts[0]), "the group of channel `" + channel.text() + "`");
  if (at < 0 || at >= static_cast<std::int64_t>(rings.size()))
    stop("channel `" + channel.text() + "` has no group " + std::to_string(at), {channel.text()});
  return static_cast<std::size_t>(at);
}

Ring& Process::ring(const Step& step, Symbol channel) {
  const std::size_t at = noted_.ring = number_of_ring(step, channel);
  return workgroup_.rings.at(channel)[at];
}

std::size_t Process::receiver(Symbol channel) const {
  return workgroup_.rings.at(channel)[0].received.size() > 1 ? static_cast<std::size_t>(group_) : 0;
}

void Process::run_op(const Step& step, const kernel::Acquire& acquire) {
  Ring& r = ring(step, acquire.channel.name);
  noted_.item = static_cast<std::int64_t>(r.acquired);
  const std::size_t at = r.acquired++ % r.slots.size();
  for (const TokenRef& token : r.reading[at]) token->owner->advance(*token, Token::Progress::read);
  r.reading[at].clear();
  poison(r.slots[at]);
  frame_.bind(acquire.slot, &r.slots[at]);
}

void Process::run_op(const Step& step, const kernel::Publish& publish) {
  Ring& r = ring(step, publish.channel.name);
  if (r.published >= r.acquired)
    stop("channel `" + publish.channel.name.text() + "` publishes a slot that it did not acquire", {publish.channel.name.text()});
  noted_.item = static_cast<std::int64_t>(r.published);
  std::vector<TokenRef>& filling = r.filling[r.published++ % r.slots.size()];
  filling.clear();
  for (const kernel::TokenUse& use : publish.after) {
    if (const TokenRef each = token(use.token)) filling.push_back(each), noted_.tokens.push_back(each->number);
  }
}

void Process::run_op(const Step& step, const kernel::Receive& receive) {
  Ring& r = ring(step, receive.channel.name);
  noted_.item = static_cast<std::int64_t>(r.received[receiver(receive.channel.name)]);
  const std::size_t at = r.received[receiver(receive.channel.name)]++ % r.slots.size();
  for (const TokenRef& token : r.filling[at]) {
    token->owner->advance(*token, Token::Progress::landed);
    noted_.tokens.push_back(token->number);
  }
  frame_.bind(receive.slot, &r.slots[at]);
}

void Process::run_op(const Step& step, const kernel::Release& release) {
  Ring& r = ring(step, release.channel.name);
  const std::size_t by = receiver(release.channel.name);
  if (r.released[by] >= r.received[by])
    stop("channel `" + release.channel.name.text() + "` releases a slot that it did not receive", {release.channel.name.text()});
  noted_.item = static_cast<std::int64_t>(r.released[by]);
  const std::size_t before = r.all_released(), at = r.released[by]++ % r.slots.size();
  for (const kernel::TokenUse& use : release.after) {
    if (const TokenRef each = token(use.token)) r.reading[at].push_back(each);
  }
  if (r.all_released() > before && r.reading[at].empty()) poison(r.slots[at]);
}

void Process::run_op(const Step&, const kernel::Take&) {}

void Process::run_op(const Step&, const kernel::Pass& pass) {
  int& holder = workgroup_.turns[pass.turn];
  if (holder != group_) stop("turn `" + pass.turn.text() + "` is passed by a group that has not taken it", {pass.turn.text()});
  holder = (holder + 1) % code_.groups;
}

// ---- together ----

/// True when all groups are here.
bool Process::meet(const Step& step) {
  Meeting& meeting = workgroup_.meetings[&step];
  if (arrived_ != &step) {
    if (meeting.left > 0) return false;  // the others have not left the meeting before
    arrive(step, meeting);
  }
  return meeting.arrived == static_cast<std::size_t>(code_.groups);
}

void Process::arrive(const Step& step, Meeting& meeting) {
  if (mask_) stop("all groups do this together, but it stands under a condition on parts of a tile: `" + kernel::print(*step.from) + "`");
  arrived_ = &step;
  meeting.parts.resize(static_cast<std::size_t>(code_.groups));
  std::vector<TileRef>& own = meeting.parts[static_cast<std::size_t>(group_)];
  own.clear();
  const bool reduces = std::holds_alternative<kernel::Value>(step.from->op);
  Evaluation evaluation(frame_, step.formula, fill_of(step));
  for (const int value : step.values) {
    if (!reduces) break;
    for (const int operand : step.formula.nodes[static_cast<std::size_t>(value)].args) own.push_back(evaluation.value(operand));
  }
  if (++meeting.arrived < static_cast<std::size_t>(code_.groups)) return;
  const auto* atomic = std::get_if<kernel::Atomic>(&step.from->op);
  if (atomic != nullptr) {
    meeting.result = {update(step, *atomic)};
  } else {
    meeting.result = together(step, meeting);
  }
}

void Process::leave(Meeting& meeting) {
  arrived_ = nullptr;
  if (++meeting.left == static_cast<std::size_t>(code_.groups)) meeting = {};
}

/// The parts of all groups along the axis of the groups, then the statement as it stands.
std::vector<TileRef> Process::together(const Step& step, const Meeting& meeting) {
  Evaluation evaluation(frame_, step.formula);
  std::size_t at = 0;
  for (const int value : step.values) {
    for (const int operand : step.formula.nodes[static_cast<std::size_t>(value)].args) {
      std::vector<TileRef> parts;
      for (const std::vector<TileRef>& group : meeting.parts) parts.push_back(group[at]);
      evaluation.preset(operand, stacked(parts));
      ++at;
    }
  }
  return right_sides(evaluation, step);
}

TileRef Process::stacked(const std::vector<TileRef>& parts) {
  Shape shape = joint_shape(parts);
  const auto place = std::lower_bound(shape.axes.begin(), shape.axes.end(), code_.group_axis) - shape.axes.begin();
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < shape.axes.size(); ++i) (static_cast<std::ptrdiff_t>(i) < place ? outer : inner) *= shape.extents[i];
  const auto groups = static_cast<std::int64_t>(parts.size());
  frame_.budget().spend(outer * inner * groups);
  Data out(static_cast<std::size_t>(outer * inner * groups));
  Kind kind = Kind::boolean;
  for (std::int64_t group = 0; group < groups; ++group) {
    const Tile& part = *parts[static_cast<std::size_t>(group)];
    kind = std::max(kind, part.kind);
    const Walk walk{shape.extents, {strides_along(part, shape.axes)}};
    walk.rows([&](std::int64_t to, const std::int64_t* offsets) {
      for (std::int64_t i = 0; i < walk.length(); ++i) {
        const std::int64_t element = to + i;
        out[static_cast<std::size_t>((element / inner * groups + group) * inner + element % inner)] =
            (*part.data)[static_cast<std::size_t>(offsets[0] + i * walk.step(0))];
      }
    });
  }
  shape.axes.insert(shape.axes.begin() + place, code_.group_axis);
  shape.extents.insert(shape.extents.begin() + place, groups);
  return make_tile(kind, std::move(shape.axes), std::move(shape.extents), std::move(out));
}

void Process::run_op(const Step& step, const kernel::Atomic& atomic) {
  if (!step.meets) return assign(step.targets[0], update(step, atomic));
  Meeting& meeting = workgroup_.meetings[&step];
  assign(step.targets[0], meeting.result[0]);
  leave(meeting);
}

/// The value that was there before.
TileRef Process::update(const Step& step, const kernel::Atomic& atomic) {
  Evaluation evaluation(frame_, step.formula);
  const Node& node = step.formula.nodes[static_cast<std::size_t>(step.targets[1].place)];
  Memory* memory = frame_.binding(step.targets[1].slot).memory;
  const Evaluation::Place place = evaluation.place(node, nullptr);
  const auto first = place.first_element();
  const std::string& name = atomic.place.name.text();
  if (memory == nullptr || memory->input != nullptr || !first || !place.shape.axes.empty())
    stop("an atomic operation acts on one element of a workspace, not on `" + name + "`", {name});
  std::int64_t at = 0;
  for (std::size_t d = 0; d < first->size(); ++d) {
    if ((*first)[d] < 0 || (*first)[d] >= memory->shape[d]) stop("an atomic operation outside of `" + name + "`", {name});
    at = at * memory->shape[d] + (*first)[d];
  }
  double& cell = memory->own[static_cast<std::size_t>(at)];
  const double before = cell, operand = only_value(*evaluation.value(step.values[0]));
  const std::string& operation = atomic.operation.text();
  if (operation == "inc_wrap") {
    cell = before >= operand ? 0 : before + 1;
  } else if (operation == "add") {
    cell = before + operand;
  } else if (operation == "max") {
    cell = std::max(before, operand);
  } else if (operation == "min") {
    cell = std::min(before, operand);
  } else {
    stop("there is no atomic operation `" + operation + "`", {operation}, "there are inc_wrap, add, max and min");
  }
  cell = stored_as(memory->dtype, cell);
  return scalar(kind_of(memory->dtype), before);
}

}  // namespace fathom::interp::tiles
