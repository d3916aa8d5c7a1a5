"""Recomputes the tables of tests from a run's export, without this program.

    spatialstale run paper --seeds 12 --episodes 3 \\
        --model 'ref/mixed?trust=0.6&tpr=0.8&fpr=0.03' --model ref/reader --prompts study/prompts/0.1 --out runs/tested
    spatialstale export runs/tested --format jsonl --out tested
    pip install -r stats/testdata/requirements.txt
    python cmd/spatialstale/testdata/tests/tests.py tested > cmd/spatialstale/testdata/tests/tests.json

With a second argument, the output of `spatialstale report RUN --format json`,
it compares that with what it finds, and says how far apart the two are at most.

Rates are exact fractions here. P-values of permutation tests are counted in
whole numbers, and compared with SciPy's where SciPy can count them; everything
else is SciPy's, with the resamples of the bootstrap drawn as the program draws
them. What a run has lost is not in an export: this is for whole runs.
"""

import collections
import itertools
import json
import math
import pathlib
import sys
from fractions import Fraction

import numpy as np
import scipy
from scipy import integrate, special, stats
from statsmodels.stats import multitest, weightstats

PINNED = {"numpy": "2.4.6", "scipy": "1.17.1", "statsmodels": "0.15.0"}
CONTRASTS = [
    ("no-filter", "no-memory"), ("self-verify", "no-filter"), ("self-verify", "no-memory"), ("omcd", "no-filter"),
    ("omcd", "self-verify"), ("omcd", "no-memory"), ("oracle", "no-filter"), ("oracle", "omcd"),
]
MEASURES, ALPHA, MARGIN = ["success", "death"], 0.05, Fraction(1, 10)
DRAWS, SEED, LEVEL = 9_999, 2024, 0.95


# --- reading -----------------------------------------------------------------


def lines(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            yield json.loads(line)


class Run:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.ends = collections.defaultdict(lambda: collections.defaultdict(list))  # place, strategy -> seed -> ends
        self.counts = collections.defaultdict(dict)  # model, regime, modality -> seed -> (tp, fp, fn)
        self.models, of = [], {}
        for t in lines(folder / "trials.jsonl"):
            if t["model"] not in self.models:
                self.models.append(t["model"])
            assert t["outcome"] != "failed", "this is for whole runs"
            if t["task"] == "navigate":
                self.ends[t["model"], t["modality"], t["regime"], t["strategy"]][t["seed"]].append(t["outcome"])
            else:
                self.counts[t["model"], t["regime"], t["modality"]][t["seed"]] = (t["tp"], t["fp"], t["fn"])
                of[t["trial"]] = t
        # model, regime, modality, is the claim false -> seed -> [flagged, entries], of SAFE claims
        self.flags = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
        for j in lines(folder / "judgments.jsonl"):
            t = of.get(j["trial"])
            if t is None or j["claim"] != "SAFE":
                continue
            regimes = [t["regime"]] + (["L1+L2"] if t["regime"] in ("L1", "L2") else [])
            for regime in regimes:
                cell = self.flags[t["model"], regime, t["modality"], j["truth"]][t["seed"]]
                cell[0] += j["verdict"] == "stale"
                cell[1] += 1


# --- tests of differences ----------------------------------------------------


def whole(values):
    """The values as whole numbers of one unit, and that unit."""
    unit = math.lcm(*(v.denominator for v in values)) if values else 1
    return [int(v * unit) for v in values], unit


def tails(weights):
    """How many patterns of signs give each sum of the weights that are lost."""
    counts = {0: 1}
    for w in weights:
        after = collections.Counter()
        for s, c in counts.items():
            after[s] += c
            after[s + w] += c
        counts = after
    return counts


def two_sided(weights, plus, minus):
    low = min(plus, minus)
    hit = sum(c for s, c in tails(weights).items() if s <= low)
    return float(min(Fraction(1), Fraction(2 * hit, 2 ** len(weights))))


def sign_flip(d):
    """None where the patterns are too many to count without a common unit."""
    ints, _ = whole(d)
    ints = [i for i in ints if i]
    if len(ints) > 20 and len(set(map(abs, ints))) > 15:
        return None
    p = two_sided([abs(i) for i in ints], sum(i for i in ints if i > 0), -sum(i for i in ints if i < 0))
    if 2 <= len(ints) <= 12:
        scipys = stats.permutation_test(
            (np.array(ints, float),), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
        ).pvalue
        assert abs(p - scipys) < 1e-12, (p, scipys)
    return p


def signed_rank(d):
    ints, _ = whole([v for v in d if v])
    if not ints:
        return 1.0, None
    sizes = sorted(set(map(abs, ints)))  # SciPy's floats could not hold every size
    ranks = [int(2 * r) for r in stats.rankdata([sizes.index(abs(i)) for i in ints])]
    plus = sum(r for r, i in zip(ranks, ints) if i > 0)
    minus = sum(r for r, i in zip(ranks, ints) if i < 0)
    p = two_sided(ranks, plus, minus)
    if 2 <= len(ints) <= 12:
        scipys = stats.wilcoxon([r if i > 0 else -r for r, i in zip(ranks, ints)], method=stats.PermutationMethod(n_resamples=np.inf)).pvalue
        assert abs(p - scipys) < 1e-12, (p, scipys)
    return p, (plus - minus) / (plus + minus)


class GoPCG:
    """Go's math/rand/v2 PCG (PCG-DXSM), to draw the same resamples."""

    MASK = (1 << 128) - 1
    MUL = (2549297995355413924 << 64) | 4865540595714422341
    INC = (6364136223846793005 << 64) | 1442695040888963407

    def __init__(self, seed1, seed2):
        self.state = (seed1 << 64) | seed2

    def uint64(self):
        self.state = (self.state * self.MUL + self.INC) & self.MASK
        hi, lo = self.state >> 64, self.state & ((1 << 64) - 1)
        hi ^= hi >> 32
        hi = hi * 0xDA942042E4DD58B5 & ((1 << 64) - 1)
        hi ^= hi >> 48
        return hi * (lo | 1) & ((1 << 64) - 1)

    def below(self, n):
        while True:
            product = self.uint64() * n
            if product & ((1 << 64) - 1) >= (1 << 64) % n:
                return product >> 64


drawn = {}


def resamples(n):
    if n not in drawn:
        gen = GoPCG(SEED, 0x626F6F74)
        drawn[n] = np.array([[gen.below(n) for _ in range(n)] for _ in range(DRAWS)])
    return drawn[n]


def interval(d):
    """By the method that it names; ties are exact in whole numbers."""
    n = len(d)
    if len(set(d)) == 1:
        q = 1 - (1 - LEVEL) ** (1 / n)
        v = float(d[0])
        return [v - q * (v + 1), v + q * (1 - v), "exact bound for units that are all equal"]
    ints, unit = whole(d)
    if max(map(abs, ints)) > 2**40:
        ints, unit = [float(v) for v in d], 1
    values = np.array(ints, float)

    def mean(i, axis=-1):
        return values[np.asarray(i, dtype=int)].sum(axis=axis)

    earlier = stats._resampling.BootstrapResult(
        confidence_interval=None, bootstrap_distribution=mean(resamples(n)), standard_error=None
    )
    r = stats.bootstrap(
        (np.arange(n),), mean, n_resamples=0, bootstrap_result=earlier, vectorized=True, confidence_level=LEVEL, method="BCa"
    )
    low, high = r.confidence_interval
    return [float(low) / unit / n, float(high) / unit / n, "BCa bootstrap"]


def paired(a, b):
    """B less A, on the seeds where both are defined."""
    seeds = sorted(set(a) & set(b))
    d = [b[s] - a[s] for s in seeds if a[s] is not None and b[s] is not None]
    f = [float(v) for v in d]
    p_wilcoxon, rank_biserial = signed_rank(d)
    low, high, method = interval(d)
    sd = float(np.std(f, ddof=1)) if len(set(d)) > 1 else 0.0
    return {
        "seeds": len(seeds), "n": len(d), "difference": float(sum(d, Fraction(0)) / len(d)), "sd": sd,
        "low": low, "high": high, "method": method, "p": sign_flip(d), "p_wilcoxon": p_wilcoxon,
        "dz": float(np.mean(f)) / sd if sd else None, "rank_biserial": rank_biserial,
    }


def holm(rows):
    if any(r["p"] is None for r in rows):
        return
    for r, adjusted in zip(rows, multitest.multipletests([r["p"] for r in rows], alpha=ALPHA, method="holm")[1]):
        r["p_holm"] = float(adjusted)


# --- tables ------------------------------------------------------------------


def rate(ends, measure):
    return {seed: Fraction(sum(e == measure for e in es), len(es)) for seed, es in ends.items()}


def contrasts(run):
    places = sorted({k[:3] for k in run.ends}, key=lambda k: (run.models.index(k[0]), k[1], k[2]))
    out = []
    for model in run.models:
        for measure in MEASURES:
            family = []
            for place in places:
                if place[0] != model:
                    continue
                for a, b in CONTRASTS:
                    if (*place, a) in run.ends and (*place, b) in run.ends:
                        row = paired(rate(run.ends[*place, b], measure), rate(run.ends[*place, a], measure))
                        family.append({"model": model, "measure": measure, "modality": place[1], "regime": place[2], "contrast": f"{a} minus {b}", **row})
            holm(family)
            out += family
    return out


def tost_power(n, sd):
    """Chance that both one-sided t tests reject if the true difference is 0."""
    df, margin = n - 1, float(MARGIN)
    t, root = stats.t.isf(ALPHA, df), math.sqrt(n) / sd

    def inside(s):  # s: the estimated over the true standard deviation
        both = special.ndtr(margin * root - t * s) - special.ndtr(-margin * root + t * s)
        return both * math.exp(math.log(2 * df * s) + stats.chi2.logpdf(df * s * s, df)) if s > 0 else 0.0

    end = margin * root / t
    points = [x for x in (1 - 3 / math.sqrt(2 * df), 1.0, 1 + 3 / math.sqrt(2 * df)) if 0 < x < end]
    cuts = [0.0, *points, end]
    return sum(integrate.quad(inside, lo, hi, epsabs=1e-14, epsrel=1e-13, limit=400)[0] for lo, hi in itertools.pairwise(cuts) if hi > lo)


def equivalence(run):
    out = []
    for key in run.ends:
        if key[3] != "oracle" or (*key[:3], "omcd") not in run.ends:
            continue
        for measure in MEASURES:
            a, b = rate(run.ends[*key[:3], "omcd"], measure), rate(run.ends[key], measure)
            d = [b[s] - a[s] for s in sorted(a)]
            row = {"model": key[0], "measure": measure, "modality": key[1], "regime": key[2], "contrast": "oracle minus omcd"}
            f = np.array([float(v) for v in d])
            n, mean = len(f), float(f.mean())
            # What n seeds could hide: were a share q of all seeds to differ by
            # the whole range, they would show none with a chance of (1-q)^n.
            hidden_lower = max(0.0, 1 - min(1.0, (float(MARGIN) + mean) / (1 + mean))) ** n if mean > -float(MARGIN) else 1.0
            hidden_upper = max(0.0, 1 - min(1.0, (float(MARGIN) - mean) / (1 - mean))) ** n if mean < float(MARGIN) else 1.0
            share = 1 - ALPHA ** (1 / n)
            low, high = mean - share * (1 + mean), mean + share * (1 - mean)
            if len(set(d)) == 1:
                row |= {"p_lower": hidden_lower, "p_upper": hidden_upper, "low": low, "high": high, "power": None}
            else:
                _, lower, upper = weightstats.DescrStatsW(f).ttost_mean(-float(MARGIN), float(MARGIN))
                row["p_lower"], row["p_upper"] = max(float(lower[1]), hidden_lower), max(float(upper[1]), hidden_upper)
                sd = float(np.std(f, ddof=1))
                half = stats.t.isf(ALPHA, n - 1) * sd / math.sqrt(n)
                row |= {"low": min(low, mean - half), "high": max(high, mean + half), "power": float(tost_power(n, sd))}
            if (1 - float(MARGIN)) ** n > ALPHA:
                row["power"] = 0.0
            p = max(row["p_lower"], row["p_upper"])
            row["verdict"] = "equivalent" if p <= ALPHA else "not shown"
            out.append(row)
    return out


def f1(counts):
    tp, fp, fn = counts
    return Fraction(2 * tp, 2 * tp + fp + fn) if 2 * tp + fp + fn else None


def sight(run):
    out = []
    for model in run.models:
        family = []
        for regime in ["L1", "L2", "L3"]:
            text, vision = run.counts.get((model, regime, "text")), run.counts.get((model, regime, "vision"))
            if text and vision:
                row = paired({s: f1(c) for s, c in text.items()}, {s: f1(c) for s, c in vision.items()})
                family.append({"model": model, "regime": regime, **row})
        holm(family)
        out += family
    return out


def variance(run):
    out = []
    for (model, modality, regime, strategy), ends in run.ends.items():
        for measure in MEASURES:
            x = np.array([[e == measure for e in ends[s]] for s in sorted(ends)], float)
            n, k = x.shape
            row = {"model": model, "modality": modality, "regime": regime, "strategy": strategy, "measure": measure, "mean": float(x.mean())}
            if k > 1:
                between, within = k * float(x.mean(axis=1).var(ddof=1)), float(x.var(axis=1, ddof=1).mean())
                if x.min() != x.max():  # SciPy's F is the ratio of the two
                    f = stats.f_oneway(*x).statistic if within else math.inf
                    assert not within or abs(between / within - f) < 1e-9 * max(1, f)
                icc = (between - within) / (between + (k - 1) * within) if between + (k - 1) * within else None
                row |= {
                    "within": within, "between": max(0.0, (between - within) / k), "icc": icc,
                    "reliability": (between - within) / between if between > 1e-15 else None,
                    "design_effect": 1 + (k - 1) * icc if icc is not None else None,
                }
            out.append(row)
    return out


def flags(run):
    out = []
    for model, regime, modality, false in list(run.flags):
        if not false:
            continue
        deadly, safe = run.flags[model, regime, modality, True], run.flags[model, regime, modality, False]
        share = lambda cells: {s: Fraction(*c) if c[1] else None for s, c in cells.items()}
        d, s = (np.sum(list(cells.values()), axis=0) for cells in (deadly, safe))
        table = [[int(d[0]), int(d[1] - d[0])], [int(s[0]), int(s[1] - s[0])]]
        row = {"model": model, "regime": regime, "modality": modality, **paired(share(safe), share(deadly)), "p_fisher": float(stats.fisher_exact(table).pvalue)}
        row["p_chi_square"] = float(stats.chi2_contingency(table, correction=False).pvalue) if min(np.sum(table, axis=0)) else None
        out.append(row)
    return out


# --- comparison --------------------------------------------------------------

KEYS = ["model", "measure", "modality", "regime", "strategy", "contrast"]
CELLS = {"low": ("interval", "low"), "high": ("interval", "high"), "method": ("interval", "method"), "sd": ("difference", "sd"), "n": ("difference", "n")}


def compare(tables, report):
    """Prints, for each table, how far the report is from what was found."""
    theirs = {t["id"]: t for t in json.load(open(report, encoding="utf-8"))["tables"]}
    bad = 0
    for name, rows in tables.items():
        at = {tuple(r[k] for k in KEYS if k in rows[0]): r for r in theirs[name]["rows"]}
        worst, values, skipped = 0.0, 0, 0
        for row in rows:
            other = at.pop(tuple(row[k] for k in KEYS if k in row))
            for key, want in row.items():
                if key in KEYS:
                    continue
                cell, part = CELLS.get(key, (key, "value"))
                got = other[cell][part] if isinstance(other[cell], dict) else other[cell]
                if key == "p" and want is None:
                    skipped += 1
                    continue
                values += 1
                if isinstance(want, float) and isinstance(got, (int, float)):
                    worst = max(worst, abs(want - got))
                    if abs(want - got) > 1e-10:
                        bad += 1
                        print(name, row["model"], row.get("regime"), row.get("contrast"), key, want, got)
                elif want != got:
                    bad += 1
                    print(name, row, key, want, got)
        print(f"{name}: {len(rows)} rows, {values} values, greatest difference {worst:.2g}; {skipped} p-values not counted out, {len(at)} rows of the report not recomputed")
        bad += len(at)
    sys.exit(bad > 0)


def main():
    import statsmodels

    found = {"numpy": np.__version__, "scipy": scipy.__version__, "statsmodels": statsmodels.__version__}
    if found != PINNED:
        sys.exit(f"want {PINNED}, found {found}")
    run = Run(sys.argv[1])
    tables = {"contrasts": contrasts(run), "equivalence": equivalence(run), "vision-text": sight(run), "variance": variance(run), "flags-test": flags(run)}
    if len(sys.argv) > 2:
        compare(tables, sys.argv[2])
    out = [f"{json.dumps(name)}: [\n" + ",\n".join("  " + json.dumps(r) for r in rows) + "\n ]" for name, rows in tables.items()]
    print('{"made with": ' + json.dumps(found) + ",\n " + ",\n ".join(out) + "\n}")


main()
