#!/usr/bin/python3
"""The command line's contract (docs/command-line.md), tested from outside: python3 cli_test.py PATH_OF_FATHOM.

Statuses 0, 1 and 2; one JSON document on standard output with the fields that other tools rely on; messages on standard error only, each
with what to do. Commands that run code are tested where the CPU back end is built.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

FATHOM = None
COMMANDS = ["compile", "steps", "show", "explain", "decisions", "check", "run", "time", "export", "samples", "targets", "doctor", "demo",
            "open", "diff", "completion"]
SMALL = ["--dim", "B=1", "--dim", "H=1", "--dim", "S=24", "--dim", "T=40", "--dim", "D=32"]
TINY = "dim N = 40\noperator total(x: f32[N]) -> (y: f32)\n{\n  y = sum[i](x[i])\n}\n"
TWO = TINY + "operator largest(x: f32[N]) -> (y: f32)\n{\n  y = max[i](x[i])\n}\n"
BROKEN = "dim N = 40\noperator total(x: f32[N]) -> (y: f32)\n{\n  y = sum[i](z[i])\n  w = nothing(3)\n}\n"
WIDE_PRODUCT = """dim M = 64, N = 64, K = 64
operator product(a: f64[M, K], b: f64[K, N]) -> (y: f64[M, N])
{
  y[i,j] = sum[k](a[i,k] * b[k,j])
}
"""  # no atom of a warp computes in f64


def fathom(*arguments, cwd=None, env=None):
    return subprocess.run([FATHOM, *arguments], capture_output=True, text=True, errors="replace", timeout=240, cwd=cwd, env=env, check=False)


class Contract(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        return path

    def document(self, *arguments, status=0):
        """The one JSON document that the command printed; NaN and Infinity are no JSON."""
        done = fathom(*arguments, "--json")
        self.assertEqual(done.returncode, status, f"{arguments}: {done.stderr}")

        def refuse(word):
            raise ValueError(f"{word} is no JSON")
        return json.loads(done.stdout, parse_constant=refuse)

    def assert_fails(self, status, words, *arguments):
        """Nothing on standard output, one clear message on standard error."""
        done = fathom(*arguments)
        self.assertEqual(done.returncode, status, f"{arguments}: {done.stdout[:200]} {done.stderr}")
        self.assertEqual(done.stdout, "", f"{arguments}: messages belong to standard error")
        for word in words:
            self.assertIn(word, done.stderr, f"{arguments}")
        self.assertNotIn("internal error", done.stderr)
        return done.stderr


class Help(Contract):
    def test_overview_lists_every_command_and_option(self):
        for arguments in ([], ["help"], ["--help"], ["-h"]):
            done = fathom(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for command in COMMANDS:
                self.assertRegex(done.stdout, rf"(?m)^ +{command} ")
            for option in ("--dim", "--target", "--set", "--trace", "--precision", "--deterministic", "--unsound", "--json", "-o OUT"):
                self.assertIn(option, done.stdout)
            self.assertIn("Exit status", done.stdout)

    def test_the_explorer_without_a_display_says_what_works_without_one(self):
        env = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        done = fathom("open", env=env)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"the explorer is not built here.*\./run open|no window can be opened here.*fathom demo")

    def test_every_command_has_help(self):
        for command in COMMANDS:
            for arguments in (["help", command], [command, "--help"]):
                done = fathom(*arguments)
                self.assertEqual((done.returncode, done.stderr), (0, ""), command)
                self.assertIn(f"usage: fathom {command}", done.stdout)

    def test_version(self):
        done = fathom("--version")
        self.assertRegex(done.stdout, r"^fathom \d+\.\d+\.\d+\n$")


class Usage(Contract):
    def test_unknown_commands_and_options(self):
        self.assert_fails(2, ["nonsense", "fathom help"], "nonsense")
        self.assert_fails(2, ["nonsense"], "help", "nonsense")
        self.assert_fails(2, ["--bogus", "fathom help steps"], "steps", "softmax", "--bogus")

    def test_a_missing_file(self):
        for command in ("compile", "steps", "explain", "decisions", "check", "run", "time", "export", "diff"):
            self.assert_fails(2, [command, "FILE"], command)
            self.assert_fails(2, ["no-such.fathom", "fathom samples"], command, "no-such.fathom")
        self.assert_fails(2, [""], "explain", self.folder.name)

    def test_options_without_or_with_wrong_values(self):
        for value in ("S", "S=", "S=x", "=4", "S=-1", "S=4.5", "S=99999999999999999999"):
            self.assert_fails(2, ["--dim", "NAME=SIZE"], "explain", "attention", "--dim", value)
        self.assert_fails(1, ["there is no dimension `Q`", "the dimensions are B, H, Hk, S, T, D"], "explain", "attention", "--dim", "Q=3")
        self.assertEqual(fathom("help", "help").stdout, fathom("help").stdout)
        for value in ("x", "=4", "o/j/tile="):
            self.assert_fails(2, ["--set", "site=choice"], "explain", "attention", "--set", value)
        self.assert_fails(2, ["no target named moon", "x86-64", "blackboard"], "explain", "attention", "--target", "moon")
        self.assert_fails(2, ["exact", "matrix", "fast"], "explain", "attention", "--precision", "sloppy")
        self.assert_fails(2, ["batch"], "explain", "attention", "--deterministic", "always")
        self.assert_fails(2, ["--agent"], "explain", "attention", "--agent", "somewhere:1")
        self.assert_fails(2, ["math, loop, tile, kernel, code or asm"], "compile", "softmax", "--emit", "poem")
        self.assert_fails(2, ["html", "trace"], "export", "softmax", "--as", "pdf")
        self.assert_fails(2, ["--dim"], "explain", "attention", "--dim")

    def test_messages_say_who_speaks(self):
        for arguments in (("compile", "softmax", "--emit", "poem"), ("export", "softmax", "--as", "pdf"), ("compile", "softmax", "--dim", "x"),
                          ("run", "softmax", "--threads", "0"), ("compile", self.file("wide.fathom", WIDE_PRODUCT), "--target", "sm_80")):
            self.assertRegex(fathom(*arguments).stderr, r"(?m)^fathom( \w+)?: ", arguments)

    def test_threads_are_few_and_some(self):
        for threads in ("-1", "0", "100000", "x"):
            self.assert_fails(2, ["--threads"], "run", "softmax", "--threads", threads)

    def test_what_a_command_does_not_take_is_not_ignored(self):
        for arguments in (["compile", "softmax", "rmsnorm"], ["check", "softmax", "rmsnorm"], ["show", "softmax", "0", "rmsnorm"],
                          ["diff", "softmax", "softmax", "rmsnorm"], ["samples", "softmax", "rmsnorm"], ["targets", "rmsnorm"],
                          ["doctor", "rmsnorm"]):
            self.assert_fails(2, ["`rmsnorm`", "too many"], *arguments)

    def test_a_dimension_that_the_file_lacks(self):
        self.assert_fails(1, ["Q"], "explain", "attention", "--dim", "Q=4")

    def test_traces_that_cannot_be_read(self):
        self.assert_fails(2, ["none.trace", "No such file"], "explain", "softmax", "--trace", "none.trace")
        trace = self.file("bad.trace", "fathom-trace 1\no/j/tile\n")
        self.assert_fails(2, ["bad.trace:2:1", "site = choice"], "explain", "softmax", "--trace", trace)
        trace = self.file("old.trace", "o/j/tile = 4\n")
        self.assert_fails(2, ["fathom-trace 1"], "explain", "softmax", "--trace", trace)

    def test_a_step_that_there_is_not(self):
        self.assert_fails(2, ["which step", "fathom steps"], "show", "softmax")
        self.assert_fails(2, ["no step `nowhere`", "fathom steps softmax"], "show", "softmax", "nowhere")
        self.assert_fails(2, ["no step `9999`"], "show", "softmax", "9999")
        self.assert_fails(2, ["no step `-1`"], "show", "softmax", "--", "-1")

    def test_a_place_that_cannot_be_written(self):
        self.assert_fails(2, ["cannot write"], "compile", "softmax", "-o", os.path.join(self.folder.name, "no", "where"))


class StandardOutput(Contract):
    def shell(self, script):
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=240, check=False, cwd=self.folder.name,
                              env={**os.environ, "FATHOM": FATHOM})

    def test_what_cannot_be_written_is_said(self):
        tiny = self.file("tiny.fathom", TINY)
        for command in ("samples softmax", "help", "help run", "--version", "targets", "completion", "compile attention", f"check {tiny} --json",
                        "explain softmax", "steps softmax --quick", "decisions softmax", "doctor", "demo", "export softmax --quick"):
            for place in (">/dev/full", ">&-"):
                done = self.shell(f'"$FATHOM" {command} {place}')
                self.assertEqual(done.returncode, 2, f"{command} {place}: {done.stderr}")
                self.assertIn("cannot write to standard output", done.stderr, f"{command} {place}")
                self.assertEqual(done.stderr.count("cannot write"), 1, f"{command} {place}")

    def test_a_reader_that_has_enough_ends_it_quietly(self):
        for command in ("compile attention", "samples attention", "help"):
            done = self.shell(f'"$FATHOM" {command} | head -1')
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout.count("\n"), 1)

    def test_a_closed_output_does_not_matter_to_a_file(self):
        done = self.shell('"$FATHOM" compile softmax -o plan.txt >&- && cat plan.txt')
        self.assertEqual((done.returncode, done.stdout), (0, fathom("compile", "softmax").stdout))

    def test_a_dash_is_standard_output(self):
        self.assertEqual(self.shell('"$FATHOM" compile softmax -o - && ls').stdout, fathom("compile", "softmax").stdout)


class Programs(Contract):
    def test_diagnostics_name_line_column_and_both_errors(self):
        path = self.file("broken.fathom", BROKEN)
        text = self.assert_fails(1, ["broken.fathom:4:", "broken.fathom:5:", "z[i]", "^"], "explain", path)
        self.assertEqual(text.count("error:"), 2)
        for command in ("compile", "steps", "decisions", "check", "run", "time", "export"):
            self.assert_fails(1, ["broken.fathom:4:"], command, path)

    def test_no_input_crashes(self):
        for name, content in (("empty", ""), ("noise", "\x01\x02\ufffd\n" * 50), ("deep", "operator f() -> (y: f32) { y = " + "(" * 20000),
                              ("unclosed", "operator f(")):
            self.assert_fails(1, [name], "explain", self.file(name, content))
        path = os.path.join(self.folder.name, "bytes")
        with open(path, "wb") as stream:
            stream.write(bytes(range(256)) * 40)
        self.assert_fails(1, ["bytes:1:1"], "explain", path)

    def test_a_file_of_two_operators_needs_a_name(self):
        path = self.file("two.fathom", TWO)
        self.assert_fails(1, ["2 operators", "FILE:OPERATOR", "total", "largest"], "explain", path)
        self.assert_fails(1, ["no operator `third`", "total, largest"], "explain", path + ":third")
        self.assertEqual(self.document("explain", path + ":largest")["program"], "largest")

    def test_samples_print_themselves_and_stand_for_files(self):
        done = fathom("samples")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name in ("attention", "attention_nomask", "attention_dynamic", "softmax", "logsumexp", "rmsnorm", "matmul_bias_gelu",
                     "cross_entropy"):
            self.assertRegex(done.stdout, rf"(?m)^{name} ")
            text = fathom("samples", name).stdout
            self.assertIn("operator ", text)
            path = self.file(name + ".fathom", text)
            self.assertEqual(fathom("compile", path).stdout, fathom("compile", name).stdout, name)
        self.assert_fails(2, ["no sample `poem`", "fathom samples"], "samples", "poem")

    def test_targets_list_what_there_is(self):
        done = fathom("targets")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name in ("x86-64", "blackboard", "sm_80", "sm_90a"):
            self.assertRegex(done.stdout, rf"(?m)^{name} ")
        for name in ("gfx90a", "gfx942", "gfx1100"):
            self.assertRegex(done.stdout, rf"(?m)^{name} .*compiled and emulated, not run on AMD hardware")
        self.assertLessEqual(max(len(line) for line in done.stdout.splitlines()), 140)

    def test_a_declared_dimension_may_be_set_before_and_after_the_file(self):
        path = self.file("unused.fathom", "dim K = 5\n" + TINY)
        expected = fathom("compile", path, "--dim", "N=7", "--dim", "K=7")
        self.assertEqual((expected.returncode, expected.stderr), (0, ""))
        self.assertIn("f32[7]", expected.stdout)
        self.assertEqual(fathom("compile", "--dim", "N=7", "--dim", "K=7", path).stdout, expected.stdout)
        self.assertEqual(fathom("compile", "--set", "y/i/tile=8", path, "--dim", "N=7").returncode, 0)

    def test_a_division_by_zero_has_a_place(self):
        path = self.file("zero.fathom", "dim T = 4\nconst c = 1 // 0\noperator f(x: f32[T]) -> (y: f32[T]) { y[j] = x[j] * c }\n")
        self.assert_fails(1, ["zero.fathom:2:11", "`1 // 0` divides by 0"], "explain", path)
        text = self.assert_fails(1, ["`H // Hk` divides by 0 (Hk = 0)", "--dim"], "explain", "attention", "--dim", "H=0", "--dim", "Hk=0")
        self.assertNotIn("run-time", text)


class Documents(Contract):
    def test_explain(self):
        document = self.document("explain", "attention", *SMALL, "--dim", "Hk=1")
        for fusion in document["fusions"]:
            self.assertGreaterEqual(set(fusion), {"consumer", "producers", "kind", "rank", "folds", "fold", "repair", "guard", "derivation"})
            self.assertIn(fusion["kind"], ("classic", "factored", "absorbed", "repaired"))
            self.assertIn(fusion["fold"], ("rolling", "split-k", "both", None))
            for line in fusion["derivation"]:
                self.assertGreaterEqual(set(line), {"rule", "before", "after"})
        consumers = [fusion["consumer"] for fusion in document["fusions"]]
        self.assertEqual(consumers, ["s.sum", "p.m", "p.sum", "o"])
        last = document["fusions"][-1]
        self.assertEqual((last["kind"], last["rank"], last["producers"], last["repair"]),
                         ("repaired", 1, ["p.m", "p.sum"], "acc * exp(p.m - p.m')"))
        self.assertEqual(document["fusions"][0]["rank"], None)
        self.assertRegex(last["certificate"], r"^Tested .*folded in order and as trees")
        self.assertIn(last["certificate"], fathom("explain", "attention", *SMALL, "--dim", "Hk=1").stdout)
        for refusal in document["refusals"]:
            self.assertGreaterEqual(set(refusal), {"consumer", "reason"})

    def test_naive_softmax_is_refused_by_range_in_text_and_json(self):
        document = self.document("explain", "attention_nomask")
        reasons = {refusal["consumer"]: refusal["reason"] for refusal in document["refusals"]}
        for consumer in ("p.sum", "o"):
            self.assertIn("range", reasons[consumer])
        self.assertRegex(fathom("explain", "attention_nomask").stdout, r"refused +range: ")
        kernel = fathom("compile", "attention_nomask").stdout
        for exponential in re.findall(r"exp2?\(([^\n]*)", kernel):
            self.assertIn(" - ", exponential, "an exponential without its reference")

    def test_steps(self):
        document = self.document("steps", "attention_nomask", *SMALL)
        self.assertEqual((document["program"], document["target"]), ("attention_nomask", "x86-64"))
        ids = [step["id"] for step in document["steps"]]
        self.assertEqual(len(ids), len(set(ids)))
        for step in document["steps"]:
            self.assertGreaterEqual(set(step), {"id", "pass", "level", "title", "changed", "decision", "says", "check", "cost", "ms"})
            self.assertIn(step["level"], ("math", "loop", "tile", "kernel"))
            self.assertIn(step["check"]["status"], ("passed", "failed", "inconclusive", "skipped"))
            self.assertGreaterEqual(set(step["check"]), {"status", "max_error", "bound"})
            self.assertGreaterEqual(set(step["cost"]), {"flops", "bytes", "exps", "on_chip_bytes"})
            if step["decision"] is not None:
                self.assertGreaterEqual(set(step["decision"]), {"site", "choice", "origin"})
            self.assertNotEqual(step["check"]["status"], "failed", step["id"])
        self.assertIn("passed", [step["check"]["status"] for step in document["steps"]])
        quick = self.document("steps", "attention_nomask", *SMALL, "--quick")
        self.assertEqual([step["id"] for step in quick["steps"]], ids)
        self.assertIsNone(quick["steps"][0]["check"]["max_error"])

    def test_a_step_that_renames_says_what(self):
        step = self.document("steps", "attention", *SMALL, "--dim", "Hk=1", "--quick")["steps"][3]
        self.assertEqual((step["id"], step["says"]), ("name-apart", "Six axes; d of o and o.sum is now d.o."))

    def test_decisions(self):
        document = self.document("decisions", "attention_nomask")
        for decision in document["decisions"]:
            self.assertGreaterEqual(set(decision),
                                    {"site", "kind", "choice", "origin", "locked", "predicted_ms", "reason", "alternatives"})
            self.assertEqual(decision["origin"], "default")
            self.assertIn(decision["choice"], [each["choice"] for each in decision["alternatives"]])
            for each in decision["alternatives"]:
                self.assertEqual(("predicted_ms" in each) + ("refused" in each), 1)
                if "refused" in each:
                    self.assertIsInstance(each["refused"], str)
        overridden = self.document("decisions", "attention_nomask", "--set", "o/j/tile=32")
        at = {decision["site"]: decision for decision in overridden["decisions"]}
        self.assertEqual((at["o/j/tile"]["choice"], at["o/j/tile"]["origin"]), ("32", "user"))

    def test_check(self):
        path = self.file("tiny.fathom", TINY)
        document = self.document("check", path)
        self.assertEqual(document["failed"], 0)
        self.assertGreater(len(document["checks"]), 10)
        for check in document["checks"]:
            self.assertGreaterEqual(set(check), {"step", "level", "shape", "dtype", "max_error", "bound", "status"})
            self.assertIsInstance(check["shape"], dict)
        text = fathom("check", path).stdout
        self.assertRegex(text, r"0 failed, \d+ inconclusive of \d+ cases\n")

    def test_a_check_that_checked_nothing_says_why(self):
        path = self.file("open.fathom", "dim T = runtime 8, U = runtime 8\noperator f(x: f32[T]) -> (y: f32[T]) where T == U\n"
                                        "{\n  y[j] = x[j] + j // (T - U)\n}\n")
        done = fathom("check", path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("nothing was checked", done.stderr)
        self.assertIn("has no value", done.stderr)

    def test_diff(self):
        document = self.document("diff", "attention_nomask", "--set", "o/j/tile=32")
        change = {step["id"]: step["change"] for step in document["steps"]}
        self.assertEqual(change["o/j/tile"], "changed")
        self.assertEqual(change["open-prelude"], "equal")
        self.assertEqual(document["total"], len(document["steps"]))
        self.assert_fails(2, ["--set", "second file"], "diff", "attention_nomask")
        self.assertEqual(self.document("diff", "softmax", "softmax")["equal"], self.document("diff", "softmax", "softmax")["total"])

    def test_lists_and_texts_too(self):
        self.assertIn("attention", [sample["name"] for sample in self.document("samples")["samples"]])
        self.assertIn("blackboard", [target["target"] for target in self.document("targets")["targets"]])
        self.assertEqual(self.document("compile", "softmax", "--emit", "loop")["text"], fathom("compile", "softmax", "--emit", "loop").stdout)
        step = self.document("show", "softmax", "open-prelude")
        self.assertEqual(step["id"], "open-prelude")
        self.assertNotEqual(step["before"], step["after"])

    def test_output_goes_to_a_file(self):
        for command, extra in (("compile", []), ("explain", ["--json"]), ("decisions", []), ("export", ["--as", "trace"])):
            path = os.path.join(self.folder.name, command)
            direct = fathom(command, "softmax", *extra)
            done = fathom(command, "softmax", *extra, "-o", path)
            self.assertEqual((done.returncode, done.stdout), (0, ""))
            with open(path, encoding="utf-8") as stream:
                self.assertEqual(stream.read(), direct.stdout)


class Levels(Contract):
    def test_every_level_is_printed(self):
        for level, words in (("math", ["operator"]), ("loop", ["fold j"]), ("tile", ["module", "carry"]), ("kernel", ["module", "role"])):
            done = fathom("compile", "attention_nomask", "--emit", level)
            self.assertEqual((done.returncode, done.stderr), (0, ""), level)
            for word in words:
                self.assertIn(word, done.stdout)
        self.assertEqual(fathom("compile", "softmax").stdout, fathom("compile", "softmax", "--emit", "kernel").stdout)

    def test_the_same_arguments_give_the_same_bytes(self):
        for level in ("loop", "kernel"):
            self.assertEqual(fathom("compile", "attention", "--emit", level).stdout, fathom("compile", "attention", "--emit", level).stdout)

    def test_a_step_is_shown_by_number_and_by_id_with_its_diff(self):
        by_id = fathom("show", "attention_nomask", "o.sum/j/fuse")
        self.assertEqual((by_id.returncode, by_id.stderr), (0, ""))
        ids = [step["id"] for step in self.document("steps", "attention_nomask", "--quick")["steps"]]
        self.assertEqual(fathom("show", "attention_nomask", str(ids.index("o.sum/j/fuse"))).stdout, by_id.stdout)
        diff = fathom("show", "attention_nomask", "o.sum/j/fuse", "--diff").stdout
        self.assertRegex(diff, r"(?m)^- ")
        self.assertRegex(diff, r"(?m)^\+ ")
        self.assertIn("place", diff)

    def test_a_level_that_a_target_does_not_reach(self):
        wide = self.file("wide.fathom", WIDE_PRODUCT)
        done = fathom("compile", wide, "--target", "sm_80", "--emit", "tile")
        self.assertEqual(done.returncode, 0)
        for level in ("kernel", "code"):
            done = fathom("compile", wide, "--target", "sm_80", "--emit", level)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("sm_80", done.stderr)

    def test_code_for_a_gpu_is_one_file(self):
        done = fathom("compile", "attention", "--target", "sm_80", "--emit", "code")
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in ("__global__", "attention_launch", "mma_m16n8k16_f16", "copy_async"):
            self.assertIn(word, done.stdout)
        self.assertNotIn("#include", done.stdout)
        document = json.loads(fathom("compile", "softmax", "--target", "sm_90a", "--emit", "code", "--json").stdout)
        self.assertEqual(document["level"], "code")
        self.assertIn("softmax_rows_launch", document["text"])

    def test_code_for_amd_says_that_it_was_not_run(self):
        for target, instruction in (("gfx90a", "mfma_m16n16k16_f16"), ("gfx942", "mfma_m16n16k16_f16"), ("gfx1100", "wmma_m16n16k16_f16")):
            done = fathom("compile", "attention", "--target", target, "--emit", "code")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout.startswith("// compiled and emulated, not run on AMD hardware\n"), target)
            for word in (f"--offload-arch={target}", "__global__", "attention_launch", instruction):
                self.assertIn(word, done.stdout)
        done = fathom("compile", "softmax", "--target", "gfx942", "--emit", "asm")
        self.assertEqual(done.returncode, 1)
        self.assertIn("made by clang", done.stderr)
        done = fathom("compile", "matmul_bias_gelu", "--target", "gfx1100", "--emit", "code")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no atom of gfx1100", done.stderr)


class Traces(Contract):
    def test_a_refused_override_says_so_on_standard_error_and_the_default_stands(self):
        plain = fathom("compile", "attention_nomask")
        for site, choice, words in (("o/j/tile", "7", "multiple of"), ("o/j/fold", "zigzag", "rolling, split-k"),
                                    ("no/such/site", "4", "fathom decisions")):
            done = fathom("compile", "attention_nomask", "--set", f"{site}={choice}")
            self.assertEqual(done.returncode, 0)
            self.assertEqual(done.stdout, plain.stdout)
            self.assertRegex(done.stderr, rf"(?m)^refused: .*{site}")
            self.assertIn(words, done.stderr)

    def test_an_exported_trace_replays_to_the_same_kernel(self):
        for choice in ("o/j/tile=32", "o/j/fold=split-k", "o.sum/j/fuse=no"):
            trace = os.path.join(self.folder.name, "plan.trace")
            self.assertEqual(fathom("export", "attention_nomask", "--set", choice, "--as", "trace", "-o", trace).returncode, 0)
            again = fathom("compile", "attention_nomask", "--trace", trace)
            self.assertEqual((again.returncode, again.stderr), (0, ""))
            self.assertEqual(again.stdout, fathom("compile", "attention_nomask", "--set", choice).stdout)

    def test_a_derived_repair_of_ones_own_is_told(self):
        shown = fathom("show", "attention", "o.sum/j/fuse", "--set", "o.sum/j/repair=exp(p.m - p.m') * acc").stdout
        self.assertIn("The repair as it was written, exp(p.m - p.m') * acc, is derived: the same in other words.", shown)

    def test_an_unsound_plan_carries_its_mark_everywhere(self):
        repair = ("--set", "o.sum/j/repair=acc * exp(p.m' - p.m)")
        plain = ("attention_nomask", *SMALL)
        unsound = (*plain, *repair, "--unsound")
        for emit in ("loop", "tile", "kernel"):
            done = fathom("compile", *unsound, "--emit", emit)
            self.assertRegex(done.stdout, r"^# UNSOUND: o\.sum/j/repair = ")
            self.assertIn("UNSOUND", done.stderr)
        self.assertRegex(self.document("compile", *unsound)["text"], r"^# UNSOUND: ")
        marks = [each["site"] for each in self.document("decisions", *unsound)["decisions"] if each["unsound"]]
        self.assertEqual(marks, ["o.sum/j/repair"])
        self.assertIn("UNSOUND", fathom("steps", *unsound, "--quick").stdout)
        self.assertNotIn("UNSOUND", fathom("compile", *plain).stdout)
        refused = fathom("compile", *plain, *repair)  # without the flag the derived repair stands
        self.assertEqual(refused.stdout, fathom("compile", *plain).stdout)
        self.assertRegex(refused.stderr, "^refused: ")

    def test_set_comes_after_the_trace_and_locks_survive(self):
        trace = self.file("plan.trace", "fathom-trace 1\no/j/tile = 16\nlock gone/j/tile = 8  # of another program\n")
        done = fathom("export", "attention_nomask", "--trace", trace, "--set", "o/j/tile=32", "--as", "trace")
        self.assertIn("\no/j/tile = 32\n", done.stdout)
        self.assertIn("\nlock gone/j/tile = 8\n", done.stdout)
        self.assertIn("gone/j/tile is locked to 8", done.stderr)


class Report(Contract):
    def test_the_page_is_one_self_contained_file(self):
        path = os.path.join(self.folder.name, "report.html")
        done = fathom("export", "softmax", "--as", "html", "--quick", "-o", path)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        with open(path, encoding="utf-8") as stream:
            page = stream.read()
        self.assertTrue(page.lstrip().lower().startswith("<!doctype html>"))
        self.assertNotRegex(page, r"""(src|href)=["']?(https?:)?//""")
        self.assertIn("</html>", page)


class Completion(Contract):
    def complete(self, *words):
        script = ("source <(\"$FATHOM\" completion) && PATH=$(dirname \"$FATHOM\"):$PATH && COMP_WORDS=(fathom \"$@\") && "
                  "COMP_CWORD=$# && _fathom && printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "FATHOM": FATHOM})
        self.assertNotIn("syntax error", done.stderr)
        return done.stdout.split()

    def test_loads_in_bash_and_completes(self):
        self.assertLessEqual(set(COMMANDS), set(self.complete("")))
        self.assertEqual(self.complete("dec"), ["decisions"])
        self.assertIn("attention", self.complete("steps", "att"))
        self.assertIn("blackboard", self.complete("steps", "softmax", "--target", "b"))
        self.assertEqual(self.complete("compile", "softmax", "--emit", "ker"), ["kernel"])
        self.assertEqual(self.complete("steps", "softmax", "--prec"), ["--precision"])
        self.assertIn("o/j/tile=", self.complete("steps", "attention", "--set", "o/j"))


class OnThisMachine(Contract):
    def setUp(self):
        super().setUp()
        if fathom("doctor").returncode != 0:
            self.skipTest("the CPU back end is not built")

    def test_run_and_time(self):
        for command in ("run", "time"):
            document = self.document(command, "attention_nomask", *SMALL, "--threads", "1")
            self.assertGreaterEqual(set(document),
                                    {"status", "device", "max_error", "cold_ms", "warm_ms", "p20", "p80", "n", "conditions"})
            self.assertEqual(document["status"], "ok")
            self.assertLessEqual(document["max_error"], document["bound"])
            self.assertLessEqual(document["p20"], document["warm_ms"])
            self.assertLessEqual(document["warm_ms"], document["p80"])
            self.assertGreaterEqual(document["n"], 3)
            self.assertIsInstance(document["conditions"], dict)
            self.assertEqual(document["conditions"]["rows"], 24)
            self.assertEqual(document["conditions"]["checked_rows"], 24)
            self.assertEqual(document["conditions"]["checked_elements"], 24 * 32)

    def test_two_plans_are_timed_in_turn(self):
        default = self.file("default.trace", "fathom-trace 1\n")
        other = self.file("other.trace", "fathom-trace 1\no/j/tile = 16\n")
        document = self.document("time", "attention_nomask", *SMALL, "--against", default)
        ratio = document["ratio"]
        self.assertGreaterEqual(ratio["pairs"], 6)
        self.assertLessEqual(ratio["low"], ratio["median"])
        self.assertLessEqual(ratio["median"], ratio["high"])
        self.assertGreaterEqual(set(document["against"]), {"status", "max_error", "bound", "cold_ms", "warm_ms", "p20", "p80", "n"})
        self.assertEqual((document["status"], document["against"]["status"]), ("ok", "ok"))
        self.assertEqual(document["n"], ratio["pairs"])
        done = fathom("time", "attention_nomask", *SMALL, "--against", other)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"([AB] is \d\.\d+× as fast as [AB]|No difference between A and B can be seen: \d\.\d+×) \[\d\.\d+, \d\.\d+\]")

    def test_the_ratio_of_two_plans_says_the_faster_one(self):
        """Where four of five times of A are above four of five of B, at least three of five pairs are: no clock can make this fail."""
        default = self.file("default.trace", "fathom-trace 1\n")
        slow = self.file("slow.trace", "fathom-trace 1\no.sum/j/fuse = no\np.sum/j/fuse = no\n")
        plans = ("attention_nomask", "--dim", "B=1", "--dim", "H=2", "--dim", "S=256", "--dim", "T=256", "--dim", "D=64")
        for first, second in ((slow, default), (default, slow)):
            document = self.document("time", *plans, "--trace", first, "--against", second)
            if document["p20"] > document["against"]["p80"]:
                self.assertGreaterEqual(document["ratio"]["median"], 1)
            if document["p80"] < document["against"]["p20"]:
                self.assertLessEqual(document["ratio"]["median"], 1)

    def test_a_wrong_plan_is_not_compared(self):
        wrong = self.file("wrong.trace", "fathom-trace 1\no.sum/j/repair = acc * exp(p.m' - p.m)\n")
        long = ("--dim", "B=1", "--dim", "H=1", "--dim", "S=24", "--dim", "T=2048", "--dim", "D=32")  # more than one tile: the repair acts
        document = self.document("time", "attention_nomask", *long, "--unsound", "--against", wrong, status=1)
        self.assertEqual((document["status"], document["against"]["status"], document["ratio"]), ("wrong_result", "wrong_result", None))
        self.assertTrue(document["against"]["unsound"])

    def test_what_cannot_be_compared(self):
        self.assert_fails(2, ["--against", "none.trace"], "time", "softmax", "--against", "none.trace")
        self.assert_fails(2, ["fathom run", "--against", "fathom time"], "run", "softmax", "--against", "none.trace")

    def test_run_compares_the_same_64_rows_of_each_head_where_there_are_more(self):
        arguments = ("run", "attention_nomask", "--dim", "B=1", "--dim", "H=3", "--dim", "S=300", "--dim", "T=40", "--dim", "D=32")
        first, second = (self.document(*arguments)["conditions"] for _ in range(2))
        self.assertEqual((first["checked_rows"], first["rows"]), (3 * 64, 3 * 300))
        self.assertEqual((second["checked_rows"], second["checked_elements"]), (first["checked_rows"], first["checked_elements"]))

    def test_counts_of_several_results_add_up(self):
        path = self.file("two.fathom", "dim R = 10, C = 33\noperator two(x: f32[R,C]) -> (y: f32[R], z: f32[R,C])\n"
                                       "{ y[i] = sum[j](x[i,j])\n  z[i,j] = y[i] - max[k](y[k]) + x[i,j] }\n")
        conditions = self.document("run", path)["conditions"]
        self.assertEqual((conditions["checked_elements"], conditions["checked_rows"], conditions["rows"]), (10 + 10 * 33, 20, 20))

    def test_arguments_lie_as_they_are_declared(self):
        for sizes in ("", "runtime "):
            path = self.file("stored.fathom",
                             f"dim A = {sizes}3, B = {sizes}6, C = {sizes}50\n"
                             "operator f(x: f32[A,B,C] stored(C,A,B), w: f32[B]) -> (y: f32[A,C] stored(C,A), z: f32[A,B,C] stored(B,A,C))\n"
                             "{ y[a,c] = sum[b](x[a,b,c] * w[b])\n  z[a,b,c] = x[a,b,c] + a }\n")
            self.assertEqual(self.document("run", path)["status"], "ok", sizes)

    def test_a_few_undetermined_elements_of_one_block_of_rows_do_not_judge_them_all(self):
        """Results near 0 have wide bounds: of 64 elements of two rows 3 are undetermined here, of all 2048 less than 2 %."""
        done = fathom("run", "attention_nomask", "--dim", "B=1", "--dim", "H=1", "--dim", "S=64", "--dim", "T=32768", "--dim", "D=32")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("(2048 elements in 64 of 64 rows", done.stdout)

    def test_every_fold_and_the_unfused_plan_run(self):
        for choice in ("o/j/fold=split-k", "o.sum/j/fuse=no"):
            done = fathom("run", "attention_nomask", "--dim", "S=64", "--dim", "T=512", "--dim", "H=2", "--set", choice, "--json")
            self.assertEqual((done.returncode, done.stderr), (0, ""), choice)
            self.assertEqual(json.loads(done.stdout)["status"], "ok")

    def test_code_and_assembly(self):
        for emit, word in (("code", "define"), ("asm", ".globl")):
            done = fathom("compile", "softmax", "--emit", emit)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(word, done.stdout)

    def test_a_size_that_does_not_fit_is_refused_before_it_is_tried(self):
        path = self.file("tiny.fathom", TINY)
        size = ("--dim", "N=1099511627776")
        for command in ("run", "time"):
            self.assert_fails(1, ["4.00 TiB", "available", "--dim N="], command, path, *size)
        document = self.document("run", path, *size, status=1)
        self.assertEqual(document["status"], "resource_limit")
        self.assertIn("4.00 TiB", document["detail"])

    def test_the_columns_of_the_demo_stand_under_each_other(self):
        done = fathom("demo", *SMALL, "--dim", "Hk=1", cwd=self.folder.name)
        self.assertEqual(done.returncode, 0, done.stderr)
        places = [re.match(r"  (\S+ )+ +", line).end() for line in done.stdout.split("Try next:\n")[1].splitlines()]
        self.assertEqual((len(places), len(set(places))), (4, 1), done.stdout)

    def test_another_machines_plan_does_not_run_here(self):
        self.assert_fails(1, ["--target", "fathom check"], "run", "softmax", "--dim", "R=8", "--dim", "C=64", "--target", "blackboard")


class WithoutBackEnd(Contract):
    def test_says_what_is_missing(self):
        env = {**os.environ, "FATHOM_CPU_PLUGIN": os.path.join(self.folder.name, "none.so")}
        for command in (["run", "softmax", "--dim", "R=8", "--dim", "C=64"], ["doctor"]):
            done = fathom(*command, env=env)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("none.so", done.stdout + done.stderr)
        self.assertEqual(fathom("explain", "softmax", env=env).returncode, 0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: cli_test.py PATH_OF_FATHOM [unittest options]")
    FATHOM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=1)
