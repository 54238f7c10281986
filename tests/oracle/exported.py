#!/usr/bin/python3
"""Runs reference.py of exported folders and compares with the reference of core/interp: exported.py CASES.json

CASES is a list of {"id", "module", "inputs", "expected"}, arrays as in evaluate.py. Every result is asked for whole, and row by row in parts as
small as they get. Prints what differs; exit status 1 if anything does.
"""
import json
import math
import sys

import numpy as np


def numbers(data):
    return np.array([float(x) for x in data])


def differences(case):
    module = {}
    exec(compile(case["module"], case["id"], "exec"), module)
    types = {p["name"]: p["dtype"] for p in module["PARAMETERS"]}
    inputs = {n: module["encoded"](numbers(a["data"]).reshape(a["shape"]), types[n]) for n, a in case["inputs"].items()}
    if not module["holds"](module["Evaluation"](inputs, module["DIMS"])):
        yield f"{case['id']}: the operator's conditions do not hold"
    for most in (module["MOST"], 4):
        module["MOST"] = most
        evaluation = module["Evaluation"](inputs, module["DIMS"])
        shapes = module["extents"](evaluation)
        for name, expected in case["expected"].items():
            if tuple(shapes[name]) != tuple(expected["shape"]):
                yield f"{case['id']}: {name} is {shapes[name]} here, {expected['shape']} in the reference"
                continue
            got = evaluation.at(name, *np.ix_(*(np.arange(n) for n in shapes[name])))
            got = np.broadcast_to(got, shapes[name]).astype(float).reshape(-1)
            wanted, bound = numbers(expected["data"]), numbers(expected["bound"])
            for k in range(wanted.size):
                same = got[k] == wanted[k] or (math.isnan(got[k]) and math.isnan(wanted[k]))
                near = abs(got[k] - wanted[k]) <= 1e-3 * bound[k] + 1e-12 * abs(wanted[k])
                if not (same or near or expected["undetermined"][k]):
                    yield f"{case['id']}: {name}[{k}] is {got[k]} here, {wanted[k]} in the reference"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)
    found = [difference for case in cases for difference in differences(case)]
    print("\n".join(found[:20]))
    print(len(cases), "cases,", len(found), "differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
