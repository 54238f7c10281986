// The desktop: one window by GLFW and OpenGL 3. It sleeps until there is input or something has arrived, and draws nothing else.
#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>
#include <imgui_internal.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "app.hpp"
#include "command.hpp"
#include "fonts.hpp"
#include "mirror.hpp"
#include "platform/child_runner.hpp"
#include "platform/cpu_code.hpp"
#include "platform/end_signals.hpp"
#include "platform/home.hpp"
#include "platform/picture.hpp"
#include "platform/priority.hpp"
#include "platform/system_theme.hpp"
#include "start.hpp"
#include "theme.hpp"
#include "tour.hpp"

namespace {

using fathom::ui::App;

constexpr double caret_seconds = 5;      // without input: then it stands still, and the program sleeps
constexpr double tooltip_seconds = 0.8;  // more than the delay of tooltips (theme.cpp)
constexpr int settling_frames = 4;       // Dear ImGui answers an input in the frame after it

/// Something has arrived on a lane: said from its thread. An empty event alone could be taken for the end of a wait.
std::atomic<bool> has_arrived = false;
void wake() {
  has_arrived = true;
  glfwPostEmptyEvent();
}

struct Window {
  GLFWwindow* handle = nullptr;
  float scale = 0;  ///< that fonts and theme were made for
  fathom::ui::Theme theme{};
  fathom::ui::SystemTheme system_theme;
  int frames_due = settling_frames;
  double awake_until = 0;  ///< of glfwGetTime: tooltips come while the mouse rests
  double last_event = 0;
  bool keeps_settings = false;
  std::optional<fathom::ui::Settings> kept_settings;  ///< what the file holds
  std::string mirror_file;                            ///< written whenever the screen has settled; empty: not at all
  /// A line a frame, in milliseconds: the event that came last, begin, end (drawn, not only asked for); then the document's version.
  std::ofstream frames;
};

void on_error(int, const char* text) { std::fprintf(stderr, "fathom: the window system says: %s\n", text); }

float screen_scale(GLFWwindow* window) {
  float x = 1, y = 1;
  glfwGetWindowContentScale(window, &x, &y);
  return x;
}

void follow_settings(Window& window, App& app) {
  if (app.settings.follows_system) app.settings.theme = window.system_theme();
  const float scale = screen_scale(window.handle) * app.settings.scale;
  if (scale != window.scale) {
    fathom::ui::build_fonts(*ImGui::GetIO().Fonts, scale);
    ImGui_ImplOpenGL3_DestroyFontsTexture();
    ImGui_ImplOpenGL3_CreateFontsTexture();
  } else if (app.settings.theme == window.theme) {
    return;
  }
  window.scale = scale;
  window.theme = app.settings.theme;
  fathom::ui::apply_theme(window.theme, scale);
}

void draw(Window& window, App& app) {
  const double begin = glfwGetTime();
  follow_settings(window, app);
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  ImGui::NewFrame();
  ImGui::PushFont(fathom::ui::font(fathom::ui::Font::body));
  app.frame();
  ImGui::PopFont();
  ImGui::Render();
  int width = 0, height = 0;
  glfwGetFramebufferSize(window.handle, &width, &height);
  glViewport(0, 0, width, height);
  const ImVec4 ground = ImGui::ColorConvertU32ToFloat4(fathom::ui::colour(fathom::ui::Role::canvas));
  glClearColor(ground.x, ground.y, ground.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  if (app.picture && --app.picture->frames_to_wait <= 0) {
    const auto error = fathom::ui::take_picture(*app.picture, width, height);
    app.document.say(error ? *error : "Saved: " + app.picture->path, error ? fathom::ui::Said::failed : fathom::ui::Said::done);
    app.picture.reset();
    window.frames_due = settling_frames;  // the sentence is to be seen
  }
  glfwSwapBuffers(window.handle);
  if (window.frames.is_open()) {
    glFinish();
    window.frames << window.last_event * 1e3 << ' ' << begin * 1e3 << ' ' << glfwGetTime() * 1e3 << ' ' << app.document.version() << '\n'
                  << std::flush;
  }
}

void write_mirror(const Window& window) {
  if (window.mirror_file.empty()) return;
  const std::string next = window.mirror_file + ".next";
  std::ofstream(next) << fathom::ui::mirror().json();
  std::rename(next.c_str(), window.mirror_file.c_str());  // readers never see half a file
}

/// A size on trial is not kept: the next start would have it.
void keep_settings(Window& window, const App& app) {
  if (!window.keeps_settings || app.scale_trial || window.kept_settings == app.settings) return;
  window.kept_settings = app.settings;
  fathom::ui::write_settings(app.settings);
}

/// Until there is input or a lane has something; only for a moment while a tooltip, a caret or a playback waits.
void sleep(Window& window, const App& app) {
  constexpr double moment = 0.25;
  const double now = glfwGetTime();
  const bool caret_blinks = ImGui::GetIO().WantTextInput && now < window.last_event + caret_seconds;
  if (now < window.awake_until || caret_blinks || app.is_animating()) {
    glfwWaitEventsTimeout(moment);
    if (glfwGetTime() >= now + moment * 0.9) return;  // nothing came: one frame is enough
  } else if (app.is_counting()) {
    constexpr double second = 1;
    glfwWaitEventsTimeout(second);
    if (glfwGetTime() >= now + second * 0.9) return;
  } else {
    glfwWaitEvents();
  }
  window.last_event = glfwGetTime();
  window.frames_due = settling_frames;
}

void loop(Window& window, App& app, fathom::ui::Recovery& recovery, const fathom::ui::EndSignals& end) {
  while (!app.wants_to_quit && !end.have_come()) {
    if (glfwWindowShouldClose(window.handle)) {
      glfwSetWindowShouldClose(window.handle, GLFW_FALSE);
      fathom::ui::run_command(app, "app.quit");
      window.frames_due = settling_frames;
    }
    if (window.frames_due > 0)
      glfwPollEvents();
    else
      sleep(window, app);
    if (has_arrived.exchange(false)) window.frames_due = settling_frames;
    draw(window, app);
    const ImVec2 moved = ImGui::GetIO().MouseDelta;
    if (moved.x != 0 || moved.y != 0) window.awake_until = glfwGetTime() + tooltip_seconds;
    // Dear ImGui takes one press of a key a frame: what was typed faster waits in its queue, and nobody else will wake us for it.
    if (ImGui::GetCurrentContext()->InputEventsQueue.Size > 0) window.frames_due = settling_frames;
    if (window.frames_due > 0 && --window.frames_due == 0) {
      write_mirror(window);
      keep_settings(window, app);
      recovery.keep(app);
    }
  }
}

void on_drop(GLFWwindow* handle, int count, const char** paths) {
  if (count > 0)
    fathom::ui::leave(*static_cast<App*>(glfwGetWindowUserPointer(handle)),
                      [path = std::string(paths[0])](App& app) { fathom::ui::open_file(app, path); });
}

}  // namespace

int main(int count, char** arguments) {
  const auto start = fathom::ui::parse_start({arguments + 1, arguments + count});
  if (!start) {
    std::fprintf(stderr, "%s\n", start.error().c_str());
    return 2;
  }
  const fathom::ui::EndSignals end([] { glfwPostEmptyEvent(); });  // before GLFW and OpenGL start threads
  glfwSetErrorCallback(on_error);
  if (glfwInit() == 0) {
    std::fprintf(stderr, "fathom: no window can be opened here. `fathom demo` and `fathom help` work without a screen.\n");
    return 2;
  }
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
  Window window;
  window.handle = glfwCreateWindow(start->width, start->height, "Fathom", nullptr, nullptr);
  if (window.handle == nullptr) {
    std::fprintf(stderr, "fathom: this screen has no OpenGL 3.3. `fathom demo` and `fathom help` work without it.\n");
    glfwTerminate();
    return 2;
  }
  glfwMakeContextCurrent(window.handle);
  glfwSwapInterval(1);
  ImGui::CreateContext();
  ImGui::GetIO().IniFilename = nullptr;
  {
    App app(wake, fathom::ui::give_way);
    app.copy = [&](const std::string& text) { glfwSetClipboardString(window.handle, text.c_str()); };
    app.machine_code.generate = fathom::ui::cpu_code;
    app.trials.runner = fathom::ui::make_child_runner(fathom::ui::sibling_program("fathom"));
    const auto kept = fathom::ui::read_settings();
    app.settings = start->has_look ? start->settings : kept.value_or(fathom::ui::Settings{});
    if (!start->has_look) window.kept_settings = kept;
    window.keeps_settings = !start->has_look;
    app.takes_pictures = true;
    if (!start->has_look && !kept) fathom::ui::begin_tour(app);  // the very first start
    window.mirror_file = start->mirror_file;
    if (!start->frames_file.empty()) window.frames.open(start->frames_file);
    glfwSetWindowUserPointer(window.handle, &app);
    glfwSetDropCallback(window.handle, on_drop);
    ImGui_ImplGlfw_InitForOpenGL(window.handle, true);
    ImGui_ImplOpenGL3_Init("#version 150");
    fathom::ui::Recovery recovery;
    app.left_behind = recovery.left_behind();
    fathom::ui::open_start(app, *start);
    loop(window, app, recovery, end);
    keep_settings(window, app);
    if (end.have_come()) recovery.leave(app);
    glfwHideWindow(window.handle);  // work that runs may take a while to stop
  }
  ImGui_ImplOpenGL3_Shutdown();
  ImGui_ImplGlfw_Shutdown();
  ImGui::DestroyContext();
  glfwDestroyWindow(window.handle);
  glfwTerminate();
  return 0;
}
