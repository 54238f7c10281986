#include "glossary.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace fathom::ui {
namespace {

constexpr std::array terms = std::to_array<Term>({
    {"absorbed", "",
     "A fusion in which a running condition is taken into the sum: an element counts only as long as everything so far was allowed."},
    {"arithmetic", "", "Multiplications, additions and the like that the whole program does. Exponentials are counted apart."},
    {"atom", "atoms",
     "One instruction of the machine that takes whole small tiles, a matrix product for example. The target's table lists them."},
    {"bank", "banks",
     "Shared memory has 32 banks of 4 bytes each, which give one word at a time. Lanes that ask one bank for different words wait for each "
     "other."},
    {"bound", "bounds", "The largest error that rounding can explain for these data. An error beyond it fails the check."},
    {"carried", "carries carry", "Kept from one iteration of a loop to the next."},
    {"certificate", "certificates",
     "What was tested before a derived form is believed: exact values at random points, and small arrays in floating point. The rules take "
     "no part in it."},
    {"channel", "channels",
     "A queue of a few slots between two parts of a kernel: one fills them with tiles, the other reads them in order."},
    {"classic", "", "A fusion that needs nothing new: the reduction reads no value that is still running in its loop."},
    {"consumer", "consumers",
     "A reduction that reads the results of others over the same index. It is the one that has to be brought into their loop."},
    {"decision", "decisions",
     "A place where more than one way is right. It lists the alternatives, and you may take another than the scheduler did."},
    {"elementwise", "", "Every element of the result depends on single elements of what is read, not on a whole row of them."},
    {"exponentials", "exponential", "Calls of exp, log, tanh and their like. A machine takes longer for one than for a multiplication."},
    {"factored", "", "A fusion in which what is still running stands outside of the sum, so that it is applied once, at the end."},
    {"fold", "folds", "A loop whose iterations build on each other: it carries running values from tile to tile."},
    {"fusion", "fusions fuse fused fuses",
     "Bringing a reduction into the loop of what it reads. The value between them is then never stored as a whole."},
    {"gauge", "gauges", "The running value that a carried sum is measured against, written m~. Whenever it moves, the sum is repaired."},
    {"guard", "guards guarded",
     "A condition under which a safe value takes the place of a formula: a row that is masked entirely gives 0 and not NaN."},
    {"identity", "identities", "The value that changes nothing when it is combined with others: 0 for a sum, -inf for a maximum."},
    {"intermediates", "intermediate", "Values that the program makes for itself: neither its arguments nor its results."},
    {"kernel", "kernels", "One program that the machine runs at once over the whole work, without coming back between."},
    {"lane", "lanes",
     "One of the threads that do the same instruction at once. Each has its own registers: it holds some elements of a tile."},
    {"level", "levels",
     "How close the program is to the machine. Math says what, Loop in which order, Tile in which blocks, Kernel on which units, Code in "
     "which words."},
    {"main_memory", "", "The large, slow memory of the machine. What is stored there has to be written and read again: that is traffic."},
    {"mask", "masks masked",
     "A condition that leaves elements out. A score that is left out counts as -inf, so that its exponential is 0."},
    {"normal_form", "normal_forms",
     "The program rewritten so that equal formulas look equal. What does not vary with an index stands behind the reduction over it."},
    {"occupancy", "", "How many groups of threads a unit of the machine holds at once. While one waits for memory, another computes."},
    {"on_chip", "", "In memory beside the arithmetic units: fast, and small. A tile that stays there costs no traffic."},
    {"override", "overrides overridden", "A choice of yours in place of the scheduler's. It is marked with a square."},
    {"prefix", "prefixes", "The elements that a loop has seen so far. A running value must be right on every one of them."},
    {"prelude", "",
     "The functions that every program may call. They are written in the notation itself, so that opening one shows plain statements."},
    {"producer", "producers", "A reduction whose result others read over the same index, while it is still running."},
    {"rank", "ranks finite_rank",
     "How many terms a factor is a sum of, each a part that may stand outside of the sum times one that stays inside. Each is carried by "
     "itself."},
    {"reducer", "reducers",
     "How two partial results become one, and which value changes nothing. Sum and max come with the notation; a program may declare "
     "others."},
    {"reduction", "reductions",
     "A statement that makes one value of all elements along an index: a sum, a maximum, or a reducer of your own."},
    {"reference", "references", "What the program as written gives in wider arithmetic. Every step is compared with it."},
    {"registers", "register", "The fastest and smallest storage: each thread or core has some of its own."},
    {"repair", "repairs repaired", "The factor that puts a running sum right when the value that it was computed with has changed."},
    {"role", "roles",
     "A part of a kernel that some of its warps do by themselves: one loads, others compute. Several groups of warps may have the same "
     "role."},
    {"rolling", "rolling_fold",
     "A fold that goes through the index in order and corrects its running values as it goes: one pass, nothing stored between."},
    {"scheduler", "", "The part of the compiler that chooses wherever you do not, by the time that it predicts."},
    {"split-k", "", "A long fold cut into parts that run side by side. Their results are brought to one gauge and merged at the end."},
    {"tile", "tiles tiled", "A block of a tensor that is worked on at once: small enough to stay on chip, large enough to be moved well."},
    {"traffic", "", "Bytes that the whole program moves to and from main memory, as predicted."},
    {"warp", "warps", "The lanes that go through a program together, 32 of them on the GPUs that are known here."},
});

char small_letter(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool begins_word(std::string_view text, std::size_t at) {
  if (at == 0) return true;
  const char before = text[at - 1];
  return before == ' ' || before == '\n' || before == '(' || before == '"';
}

/// Behind a word stand blanks or the signs of a sentence; a point inside a name is none.
bool ends_word(std::string_view text, std::size_t at) {
  if (at == text.size()) return true;
  const char c = text[at];
  const bool is_last = at + 1 == text.size() || text[at + 1] == ' ' || text[at + 1] == '\n';
  return c == ' ' || c == '\n' || c == ')' || c == '"' || ((c == '.' || c == ',' || c == ':' || c == ';' || c == '?') && is_last);
}

/// Lines of the form stand for blanks.
bool stands_at(std::string_view text, std::size_t at, std::string_view form) {
  if (text.size() - at < form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i)
    if (small_letter(text[at + i]) != (form[i] == '_' ? ' ' : form[i])) return false;
  return ends_word(text, at + form.size());
}

using Form = std::pair<std::string_view, std::size_t>;  ///< and the term that it is of

/// All forms, the longest first.
const std::vector<Form>& forms() {
  static const std::vector<Form> all = [] {
    std::vector<Form> made;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      made.emplace_back(terms[i].word, i);
      for (std::size_t at = 0; at < terms[i].forms.size();) {
        const std::size_t end = std::min(terms[i].forms.find(' ', at), terms[i].forms.size());
        made.emplace_back(terms[i].forms.substr(at, end - at), i);
        at = end + 1;
      }
    }
    std::stable_sort(made.begin(), made.end(), [](const Form& a, const Form& b) { return a.first.size() > b.first.size(); });
    return made;
  }();
  return all;
}

}  // namespace

std::span<const Term> glossary() { return terms; }

const Term* term_named(std::string_view word) {
  const auto at = std::find_if(terms.begin(), terms.end(), [&](const Term& term) { return term.word == word; });
  return at == terms.end() ? nullptr : &*at;
}

std::vector<Mention> mentions_in(std::string_view text) {
  std::vector<Mention> found;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!begins_word(text, at)) continue;
    const auto form = std::find_if(forms().begin(), forms().end(), [&](const Form& each) { return stands_at(text, at, each.first); });
    if (form == forms().end()) continue;
    found.push_back({at, at + form->first.size(), form->second});
    at += form->first.size() - 1;
  }
  return found;
}

}  // namespace fathom::ui
