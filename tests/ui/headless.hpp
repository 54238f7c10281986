// The explorer without a window: frames are drawn into nothing, input is fed as events, the mirror says what the screen holds.
#pragma once

#include <gtest/gtest.h>
#include <imgui.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "app.hpp"
#include "command.hpp"
#include "fonts.hpp"
#include "mirror.hpp"
#include "session/text_diff.hpp"
#include "session_files.hpp"
#include "start.hpp"

namespace fathom::ui::tests {

/// Dear ImGui with fonts and no renderer.
class Screen {
 public:
  explicit Screen(float width = 1280, float height = 800) {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;  // as OpenGL 3 has
    io.DisplaySize = {width, height};
    io.DeltaTime = 1.0F / 60;
    build_fonts(*io.Fonts, 1);
    apply_theme(Theme::dark, 1);
  }
  ~Screen() { ImGui::DestroyContext(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  template <class Draw>
  void frame(Draw draw) {
    ImGui::NewFrame();
    ImGui::PushFont(font(Font::body));
    draw();
    ImGui::PopFont();
    ImGui::Render();
  }
};

/// An empty folder that is the current one for a while: what a test types as the name of a file is written there.
class OwnFolder {
 public:
  OwnFolder() : path_(std::filesystem::temp_directory_path() / ("fathom-ui-" + std::to_string(std::random_device()()))) {
    std::filesystem::create_directories(path_);
    std::filesystem::current_path(path_);
  }
  ~OwnFolder() {
    std::error_code ignored;
    std::filesystem::current_path(before_, ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

 private:
  std::filesystem::path before_ = std::filesystem::current_path(), path_;
};

/// A back end that "makes" one instruction for each line of the Kernel program.
inline Result<CodeText> one_instruction_a_line(const kernel::Module& module) {
  CodeText code{"a test", {}, {}};
  const std::string printed = print(module);
  for (std::size_t i = 0; i < session::lines_of(printed).size(); ++i) {
    code.assembly.text += "\tinstruction" + std::to_string(i + 1) + "\n";
    code.assembly.lines.push_back(static_cast<int>(i) + 1);
  }
  return code;
}

class Explorer {
 public:
  explicit Explorer(float width = 1280, float height = 800) : screen(width, height), app([] {}) {
    app.copy = [this](std::string text) { copied = std::move(text); };
  }

  void open(const std::string& sample, const std::string& target = "x86-64") {
    Start start;
    start.file = sample;
    start.target = target;
    open_start(app, start);
    settle();
  }
  void open_text(const std::string& file, const std::string& text) {
    session::Inputs inputs;
    inputs.file_name = file;
    inputs.source = text;
    inputs.target = "x86-64";
    app.document.open(inputs);
    settle();
  }
  void frame() {
    screen.frame([&] { app.frame(); });
  }
  /// Until nothing is compiled any more; checks may go on.
  void settle() {
    constexpr int most_waits = 6000;
    for (int i = 0; i < most_waits; ++i) {
      frame();
      if (!app.document.is_compiling() && i > 2) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_FALSE(app.document.is_compiling());
    frame();
    frame();
  }
  void until_checked() {
    constexpr int most_waits = 12000;
    for (int i = 0; i < most_waits && app.document.is_checking(); ++i) {
      frame();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_FALSE(app.document.is_checking());
    frame();
  }

  void key(ImGuiKey key, ImGuiKey modifier = ImGuiKey_None) {
    ImGuiIO& io = ImGui::GetIO();
    if (modifier != ImGuiKey_None) io.AddKeyEvent(modifier, true);
    io.AddKeyEvent(key, true);
    frame();
    io.AddKeyEvent(key, false);
    if (modifier != ImGuiKey_None) io.AddKeyEvent(modifier, false);
    frame();
    frame();
  }
  void type(const std::string& text) {
    for (const char c : text) {
      ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(c));
      frame();
    }
    frame();
  }
  void click_at(ImVec2 place) {
    ImGuiIO& io = ImGui::GetIO();
    io.AddMousePosEvent(place.x, place.y);
    frame();
    frame();
    io.AddMouseButtonEvent(0, true);
    frame();
    io.AddMouseButtonEvent(0, false);
    frame();
    frame();
  }
  /// The item's middle; false where the screen has no such item.
  bool click(const std::string& item) {
    const MirrorItem* found = mirror().find(item);
    if (found == nullptr) return false;
    click_at({(found->min.x + found->max.x) / 2, (found->min.y + found->max.y) / 2});
    return true;
  }

  OwnFolder folder;
  Screen screen;
  std::string copied;
  App app;  ///< last: its threads end before what they wake
};

}  // namespace fathom::ui::tests
