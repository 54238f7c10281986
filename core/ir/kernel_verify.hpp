// Internal to ir: the verifier of Tile and Kernel modules. Stops at the first fault and says it in a sentence.
// What a name stands for is tracked along the text: blocks hide what they define, slots live from acquire to publish and from receive to
// release, an accumulator is gone between mma and await.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/trips.hpp"

namespace fathom::kernel {

/// How much of the model a module may use.
enum class Subset : std::uint8_t { tile, sequential, whole };

class Verifier {
 public:
  Verifier(const Module& module, Subset subset, const KnownMachine* machine) : m_(module), subset_(subset), machine_(machine) {}
  Result<void> run();

 private:
  enum class Means : std::uint8_t {
    dimension,
    parameter,
    result,
    workspace,
    uniform,
    scalar,
    tile,
    tag,
    buffer,
    slot,
    axis,
    channel,
    turn,
    atom,
    token
  };
  struct Info {
    Means means = Means::uniform;
    std::vector<Symbol> axes;               ///< of a tile
    std::size_t rank = 0;                   ///< of memory
    std::set<Symbol> depends;               ///< of a let: loop variables and the work variable
    int depth = 0;                          ///< of the block that defined it
    bool fresh = false;                     ///< defined, not read since
    bool readable = true, writable = true;  ///< of a slot; an accumulator in flight is not readable
    bool filled = false;                    ///< of an acquired slot or a buffer
    bool arrival = false;                   ///< of the result of an atomic
    bool carried = false;                   ///< of a token: from one trip to the next
    Symbol channel;                         ///< of a slot
  };
  static Info of(Means means) {
    Info info;
    info.means = means;
    return info;
  }
  /// Of a channel, or of what it is for one group.
  struct ChannelState {
    int acquired = 0, published = 0, received = 0, released = 0;
    std::deque<Symbol> filling, reading;  ///< the slots' names, oldest first
  };
  /// An operation between its issue and its await.
  struct InFlight {
    const Mma* mma = nullptr;
    const Copy* copy = nullptr;
    std::set<Symbol> uses;    ///< what must stay as it is until its sources have been read
    std::set<Symbol> stores;  ///< what nobody reads or writes until it is over
    std::size_t depth = 0;    ///< of the block that issued it
    Expr handed;              ///< the ring that it was published with: its receivers wait for it
    int number = 0;           ///< of that publish
  };
  struct BlockKind {
    bool loop = false, part = false;    ///< body of a for, of an if
    bool staged = false;                ///< of a for with stages
    bool one_of_several = false;        ///< of a for: as the tags of one range make it
    const Access* condition = nullptr;  ///< of an if
    const std::vector<Carry>* carry = nullptr;
    Symbol variable;
    const For* trips = nullptr;  ///< of a for
    std::size_t range = 0;       ///< of it
    int when = 0;                ///< number of the `when` it is, 0: none
  };
  using Axes = std::set<Symbol>;
  struct ReadScope {
    std::map<Expr, Axes> known;
    std::set<Symbol> ranged;  ///< indices of reductions with a range of their own
  };

  // module and declarations (kernel_verify.cpp)
  bool module();
  bool globals();
  bool reducer(const Reducer& r);
  bool kernel(const Kernel& k, std::size_t position);
  bool subset(const Kernel& k);
  bool sequential_subset(const Kernel& k);
  bool machine_has(const Kernel& k);
  bool work(const Kernel& k);
  bool axes(const Kernel& k);
  bool places(const Kernel& k);
  bool role(const Role& r);
  bool results_stored();
  bool declare(Symbol name, Info info);
  // expressions (kernel_verify_expr.cpp)
  bool expression(Expr e, ReadScope& scope, Axes& axes);
  bool check_expression(Expr e, ReadScope& scope, Axes& axes);
  bool uniform(Expr e, const std::string& what);
  bool axes_of(Expr e, Axes& axes);
  bool bare_name(Expr e);
  bool reading(Expr e, ReadScope& scope, Axes& axes);
  bool tile_subscript(Symbol tile, Symbol axis, Expr subscript, ReadScope& scope, Axes& axes);
  bool tuple_subscript(Expr e, Axes& axes, std::string* extent);
  bool subscript(Expr e, ReadScope& scope, Axes& axes);
  bool own_place(Symbol name, Expr first);
  bool within_parts(Symbol axis, const Axes& kept, const std::string& what);
  [[nodiscard]] bool is_own_group(Expr e) const;
  [[nodiscard]] bool filled_by_another(Symbol buffer) const;
  bool reduction(Expr e, ReadScope& scope, Axes& axes);
  [[nodiscard]] std::string extent_of(Symbol axis) const;
  [[nodiscard]] bool is_axis(Symbol name) const { return extents_.count(name) > 0; }
  void symbols_in(Expr e, std::set<Symbol>& names) const;
  // statements (kernel_verify_body.cpp)
  bool block(const Block& body, const BlockKind& kind);
  bool sequence(const std::vector<const Statement*>& body, const BlockKind& kind);
  bool bodies(const For& f, const BlockKind& kind);
  bool statement(const Statement& s);
  bool check(const Value& v);
  bool check(const Let& l);
  bool check(const Mma& m);
  bool check(const Await& a);
  bool check(const Acquire& a);
  bool check(const Receive& r);
  bool check(const Publish& p);
  bool check(const Release& r);
  bool check(const For& f);
  bool check(const When& w);
  bool check(const If& i);
  bool check(const Copy&);
  bool check(const Atomic&);
  bool check(const Take&);
  bool check(const Pass&);
  bool loop_carry(const For& f);
  bool carried_token(const For& f, const Carry& c);
  bool groups_meet(const Value& v);
  bool assigned(const std::vector<Access>& targets, const std::vector<Axes>& values);
  bool define(const Access& place, const Axes& value);
  bool redefine(const Access& place, Info& old, const std::vector<Symbol>& axes);
  bool counts_agree(std::size_t targets, const std::vector<Expr>& values);
  bool covers_parts(const Access& place, const Axes& axes);
  [[nodiscard]] bool acts_on(const Access& condition, const Axes& axes) const;
  [[nodiscard]] bool is_part(Symbol part, Symbol axis) const;
  bool store(const Access& place, const Axes& value, bool by_copy = false);
  bool result_store(const Access& place);
  bool operand(const Access& access, Axes& axes);
  bool axes_of_states(Expr reduce, std::vector<Axes>& values);
  // channels, turns, what is in flight (kernel_verify_channels.cpp)
  const Channel* channel(const Access& access, bool produces);
  Expr ring(const Access& access) const {
    const Access own = ring_of(*k_, *role_, access);
    return read(own.name, own.subscripts);
  }
  ChannelState& state_of(const Access& access) { return channels_[ring(access)]; }
  bool tokens_of(const Publish& p, Symbol slot);
  bool may_store(Symbol name, bool by_copy);
  [[nodiscard]] std::string stored_by(Symbol name) const;
  [[nodiscard]] std::string in_use(Symbol name) const;
  void add_memory_of(Expr e, std::set<Symbol>& names) const;
  bool balanced_since(const std::map<Expr, ChannelState>& before, const std::map<Symbol, int>& turns);
  // loops with stages (kernel_verify_trips.cpp)
  bool stages(const For& f);
  bool quiet(const For& f);
  bool quiet_now(Symbol written);
  void find_quiet_operands(const Block& body);
  bool over_since(const std::map<Symbol, InFlight>& before, const BlockKind& kind);
  bool products_over(const std::string& where);
  [[nodiscard]] const Info* find(Symbol name) const;

  bool fail(std::string reason, std::vector<std::string> nodes = {}, std::string hint = {});
  bool later(const std::string& what, const std::string& node);

  const Module& m_;
  Subset subset_;
  const KnownMachine* machine_;
  std::optional<Refusal> refusal_;
  // of the kernel
  const Kernel* k_ = nullptr;
  const Role* role_ = nullptr;
  std::map<Symbol, Info> names_;
  std::map<Symbol, Expr> extents_;  ///< of axes and parts
  std::map<Symbol, const TileAxis*> wholes_;
  std::map<Expr, ChannelState> channels_;
  std::map<Symbol, int> turns_;  ///< taken and not passed
  std::vector<BlockKind> blocks_;
  std::map<Symbol, InFlight> in_flight_;
  std::set<Symbol> quiet_operands_;               ///< of the role: operands in registers of atoms that want them quiet
  std::set<Symbol> stored_here_;                  ///< places that the kernel stores to
  std::map<Symbol, const KnownAtom*> atom_rows_;  ///< by the kernel's name
  int whens_ = 0;
  std::size_t steps_ = 0;  ///< statements looked at, once for each range around
  bool in_work_ = false, in_condition_ = false;
  // of the module
  struct ResultStore {
    std::size_t kernel;
    bool kernel_conditional;
    std::vector<int> whens;
    bool part = false;  ///< under an `if`
    Access place;
    std::vector<std::pair<const For*, std::size_t>> loops;
  };
  static bool at_one_place(const ResultStore& a, const ResultStore& b);
  std::map<Symbol, std::vector<ResultStore>> stores_;
  std::set<Symbol> written_;  ///< workspaces and results that an earlier kernel, or this one, writes
  std::size_t kernel_number_ = 0;
};

}  // namespace fathom::kernel
