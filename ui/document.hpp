// What is open: the text as it stands in the editor, the last state of it that compiled, its checks as they arrive. Changes are made
// beside the frames, in order, each on the session that the one before it left.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "known_checks.hpp"
#include "session/plans.hpp"
#include "session/provenance.hpp"
#include "session/session.hpp"
#include "tasks.hpp"

namespace fathom::ui {

/// A compiled state and what every panel reads of it; immutable.
struct Shown {
  explicit Shown(session::Session s)
      : session(std::move(s)),
        provenance(session.now()),
        fingerprint(session::fingerprint(session.now().inputs)),
        sizes(session::sizes_of(session.now())) {}
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;
  session::Session session;
  session::Provenance provenance;
  std::string fingerprint, sizes;  ///< of the text; of all dimensions
  [[nodiscard]] const session::Compilation& compilation() const { return session.now(); }
  [[nodiscard]] const std::vector<Step>& steps() const { return session.now().record.steps; }
};

/// What another choice at a site would give: computed beside the frames, dropped when nobody looks at it any more.
struct Preview {
  std::string site, choice;
  std::shared_ptr<const Shown> shown;  ///< empty: not there yet, or refused
  std::string refused;                 ///< why
};

/// What a sentence in the status line tells of.
enum class Said : unsigned char { plain, done, failed };

class Document {
 public:
  using Edit = std::function<Checked<void>(session::Session&)>;

  /// `give_way` is called on the thread of the checks, which may wait for all others.
  Document(const std::function<void()>& wake, const std::function<void()>& give_way)
      : wake_(wake), compiling_(std::make_unique<Lane>(wake)), checking_(wake, give_way), previewing_(wake) {}

  /// Replaces everything; the text is kept even where it does not compile. `is_kept`: some file has it as it is.
  void open(session::Inputs, bool is_kept = true);
  /// A session file's content: states, history, choices, and the text as it was typed. What is open stays where it is none.
  /// `then` runs when it is open. An empty `path`: it belongs to no file yet.
  void open_session(std::string json, std::string path, std::string typed, std::function<void()> then = {});
  void go_to_state(std::size_t place);
  /// Recompiles with the change; where that is refused the state stays and `message` says why.
  void change(Edit);
  /// Asks for a preview; the same question again changes nothing.
  void preview(const std::string& site, const std::string& choice);
  void end_preview();
  [[nodiscard]] const Preview* previewed() const { return preview_ ? &*preview_ : nullptr; }
  /// What is typed: compiled as soon as nothing newer is there.
  void type(std::string text);
  /// Text that does not compile counts as the newest state: undo brings back the last that did, and redo the text.
  void undo();
  void redo();
  [[nodiscard]] bool can_undo() const;
  [[nodiscard]] bool can_redo() const;

  /// Takes over what has arrived; true where something did.
  bool collect();
  [[nodiscard]] bool is_compiling() const { return compiling_->is_busy(); }
  /// A session is on its way: what is typed or chosen meanwhile would be lost, and is refused.
  [[nodiscard]] bool is_opening() const { return openings_ > 0; }
  [[nodiscard]] bool is_checking() const { return checking_.is_busy(); }

  /// Was something asked for, and nothing came of it?
  [[nodiscard]] bool is_empty() const { return !message_.empty() && shown_ == nullptr && text_.empty() && !is_compiling(); }
  [[nodiscard]] const Shown* shown() const { return shown_.get(); }
  /// For work beside the frames, which may outlast it.
  [[nodiscard]] std::shared_ptr<const Shown> shared() const { return shown_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const Diagnostics& diagnostics() const { return diagnostics_; }
  /// Of the step at this place; pending until it has been checked.
  [[nodiscard]] const Check& check(std::size_t step) const;
  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] Said said() const { return said_; }
  void dismiss_message() { message_.clear(); }
  void say(std::string message, Said what = Said::failed) { message_ = std::move(message), said_ = what; }
  [[nodiscard]] const session::Inputs& inputs() const { return inputs_; }
  /// The session file that was opened or saved last; empty: none.
  [[nodiscard]] const std::string& opened_from() const { return opened_from_; }
  void saved_to(std::string path) { opened_from_ = std::move(path), saved_version_ = version_, saved_text_ = text_; }
  /// A file has the program's text, and there is nothing else to save.
  void text_saved() { saved_version_ = version_, saved_text_ = text_; }
  /// Is anything there that the file has not?
  [[nodiscard]] bool is_changed() const { return version_ != saved_version_ || text_ != saved_text_; }
  /// Counts published states: panels that keep something of a state look at it.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] double compile_ms() const { return compile_ms_; }

 private:
  /// The state that the next change starts from.
  struct Head {
    std::optional<session::Session> session;
    bool typed = false;  ///< what is typed in one go is one state of the history
    std::chrono::steady_clock::time_point when;
  };
  enum class Kind : std::uint8_t {
    text,    ///< what is wrong is wrong with the text
    choice,  ///< what is wrong is said in the message; the text stays as it is typed
    state    ///< brings its text with it
  };
  /// A session that is being opened.
  struct Opening {
    std::string path, typed;
    std::function<void()> then;
  };
  using Make = std::function<Checked<session::Session>(const Head&)>;
  void start(Kind, std::string key, Make, std::optional<Opening> = std::nullopt);
  /// A new state is there: what of the document belongs to it.
  void settle(Kind, const session::Session&, const std::optional<Opening>&);
  [[nodiscard]] bool has_dropped_text() const;
  void publish(session::Session);
  void check_again();

  session::Inputs inputs_;  ///< as opened
  std::string text_, opened_from_, saved_text_;
  Diagnostics diagnostics_;
  std::string message_;
  Said said_ = Said::plain;
  int openings_ = 0;     ///< sessions that are being opened
  bool is_new_ = false;  ///< the program was opened and has not been shown yet
  /// Text that did not compile when undo took it away, and the state over which it stood.
  struct Dropped {
    std::string text;
    std::size_t place = 0;
  };
  std::optional<Dropped> dropped_;
  std::shared_ptr<const Shown> shown_;
  std::optional<Preview> preview_;
  std::vector<Check> checks_;
  std::shared_ptr<KnownChecks> known_checks_ = std::make_shared<KnownChecks>();  ///< the checking lane's thread's alone
  std::uint64_t version_ = 0, saved_version_ = 0;
  double compile_ms_ = 0;
  std::shared_ptr<Head> head_ = std::make_shared<Head>();  ///< read and written by the compiling lane's thread alone
  std::function<void()> wake_;
  std::unique_ptr<Lane> compiling_;
  std::vector<std::unique_ptr<Lane>> left_compiling_;  ///< what nobody waits for any more, until it ends
  Lane checking_, previewing_;
};

}  // namespace fathom::ui
