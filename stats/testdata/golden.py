"""Makes golden.json, the values that package stats is tested against.

    python3 -m venv /tmp/golden && . /tmp/golden/bin/activate
    pip install -r stats/testdata/requirements.txt
    python stats/testdata/golden.py > stats/testdata/golden.json

Versions are pinned in requirements.txt and checked below. Each value is
SciPy's, and statsmodels' where SciPy has none. Where neither has a right one
it is computed here, in exact integer arithmetic or by numerical integration,
and compared with SciPy on the cases that SciPy can do: the exact Wilcoxon test
with ties beyond a few values or beyond 53 of them, the sign-flip test beyond
2^16 patterns, small tails of the noncentral t, the power of equivalence.
"""

import json
import math
import sys
import warnings
from fractions import Fraction

import mpmath
import numpy as np
import scipy
import statsmodels
from scipy import integrate, optimize, special, stats
from statsmodels.stats import multitest, power, proportion, weightstats

PINNED = {"numpy": "2.4.6", "scipy": "1.17.1", "statsmodels": "0.15.0", "mpmath": "1.4.1"}
ALTERNATIVES = ["two-sided", "less", "greater"]
rng = np.random.default_rng(20240)


def close(a, b, tol=1e-11):
    """Two values agree to tol, relatively."""
    return a == b or abs(a - b) <= tol * max(abs(a), abs(b))


# --- exact null distributions ------------------------------------------------


def flip_tail(weights, t):
    """P(sum of lost weights <= t) as a Fraction; weights are ints >= 0."""
    counts = {0: 1}
    for w in weights:
        after = {}
        for s, c in counts.items():
            after[s] = after.get(s, 0) + c
            after[s + w] = after.get(s + w, 0) + c
        counts = after
    hit = sum(c for s, c in counts.items() if s <= t)
    return Fraction(hit, 2 ** len(weights))


def sided(weights, plus, minus):
    """p for each alternative."""
    less, greater = flip_tail(weights, plus), flip_tail(weights, minus)
    both = min(Fraction(1), 2 * min(less, greater))
    return dict(zip(ALTERNATIVES, (float(both), float(less), float(greater))))


# --- Wilcoxon ----------------------------------------------------------------


def signed_ranks(d, zeros):
    d = np.asarray(d)
    kept = d[d != 0] if zeros == "wilcox" else d
    doubled = np.rint(2 * stats.rankdata(np.abs(kept))).astype(int)
    minus = [int(r) for r, v in zip(doubled, kept) if v < 0]
    plus = [int(r) for r, v in zip(doubled, kept) if v > 0]
    return plus, minus


def wilcoxon_exact(d, zeros):
    plus, minus = signed_ranks(d, zeros)
    p = sided(plus + minus, sum(plus), sum(minus))
    check_against_scipy(d, zeros, p)
    return p


def check_against_scipy(d, zeros, p):
    d = np.asarray(d)
    kept = d[d != 0]
    plain = len(set(np.abs(d))) == len(d) and len(kept) == len(d)
    for alt in ALTERNATIVES:
        if plain and len(d) <= 50:
            theirs = stats.wilcoxon(d, zero_method=zeros, alternative=alt, method="exact").pvalue
            assert close(theirs, p[alt], 1e-12), (d, alt, theirs, p)
        elif len(d) <= 10 and len(kept):
            method = stats.PermutationMethod(n_resamples=2 ** len(d))
            theirs = stats.wilcoxon(d, zero_method=zeros, alternative=alt, method=method).pvalue
            assert close(theirs, p[alt], 1e-12), (d, zeros, alt, theirs, p)


def wilcoxon_case(name, d):
    d = [float(v) for v in d]
    case = {"name": name, "d": d, "zeros": {}}
    for zeros in ["wilcox", "pratt", "zsplit"]:
        plus, minus = signed_ranks(d, zeros)
        out = {"exact": wilcoxon_exact(d, zeros), "normal": {}, "continuity": {}, "statistic": {}}
        for alt in ALTERNATIVES:
            for key, correction in [("normal", False), ("continuity", True)]:
                if not any(d):
                    # SciPy: nan (0/0), or for zsplit 1; zsplit is checked in Go by hand.
                    out[key][alt] = None
                    continue
                r = stats.wilcoxon(d, zero_method=zeros, correction=correction, alternative=alt, method="asymptotic")
                out[key][alt] = float(r.pvalue)
                out["statistic"][alt] = float(r.statistic)
        total = sum(plus) + sum(minus)
        if zeros == "wilcox":
            case["rank_biserial"] = (sum(plus) - sum(minus)) / total if total else None
        case["zeros"][zeros] = out
    return case


def wilcoxon_cases():
    for n in range(1, 61):
        yield wilcoxon_case(f"continuous {n}", rng.normal(0.3, 1, n).round(6))
        yield wilcoxon_case(f"ties and zeros {n}", rng.integers(-3, 6, n) / 8)
        if n % 6 == 0:
            yield wilcoxon_case(f"all one way {n}", rng.uniform(0.1, 1, n).round(6))
            yield wilcoxon_case(f"all one way, tied {n}", -rng.integers(1, 4, n) / 4)
            yield wilcoxon_case(f"all equal {n}", np.full(n, 0.25))
            yield wilcoxon_case(f"all zero {n}", np.zeros(n))
            yield wilcoxon_case(f"mostly zero {n}", np.where(np.arange(n) % 5 == 0, 0.5, 0.0))
            yield wilcoxon_case(f"balanced {n}", np.where(np.arange(n) % 2 == 0, 0.5, -0.5))


# --- sign flips --------------------------------------------------------------


def signflip_lattice(name, ks, unit):
    """Differences k*unit; exact in integers."""
    ks = [int(k) for k in ks]
    p = sided([abs(k) for k in ks if k], sum(k for k in ks if k > 0), -sum(k for k in ks if k < 0))
    d = [k * unit for k in ks]
    if 1 < len(d) <= 12 and any(ks):
        for alt in ALTERNATIVES:
            assert close(scipy_flip(np.array(ks, float), alt), p[alt], 1e-12), (name, alt)
    return {"name": name, "d": d, "p": p, "exact": True}


def scipy_flip(d, alt):
    return float(
        stats.permutation_test(
            (d,), lambda x, axis: np.sum(x, axis=axis), permutation_type="samples",
            vectorized=True, n_resamples=np.inf, alternative=alt,
        ).pvalue
    )


def signflip_reals(name, d):
    """SciPy's own exact permutation test; no two sums of such data are equal."""
    d = np.asarray(d)
    return {"name": name, "d": d.tolist(), "p": {alt: scipy_flip(d, alt) for alt in ALTERNATIVES}, "exact": True}


def signflip_fine(name, ks, unit):
    """A lattice too fine for the exact method: the exact p, which Go must enclose."""
    ks = np.asarray(ks, dtype=np.int64)
    sizes = np.abs(ks)
    tail = {}
    for key, t in [("less", ks[ks > 0].sum()), ("greater", -ks[ks < 0].sum())]:
        p = np.zeros(int(sizes.sum()) + 1)
        p[0] = 1.0
        for k in sizes:
            shifted = np.zeros_like(p)
            shifted[k:] = p[:-k]
            p = (p + shifted) / 2
        tail[key] = float(math.fsum(p[: int(t) + 1]))
    tail["two-sided"] = min(1.0, 2 * min(tail.values()))
    return {"name": name, "d": (ks * unit).tolist(), "p": tail, "exact": False}


def signflip_cases():
    for n in range(1, 61):
        yield signflip_lattice(f"fifths {n}", rng.integers(-3, 6, n), 0.2)
        if n % 5 == 0:
            yield signflip_lattice(f"thirds, all one way {n}", rng.integers(1, 4, n), 1 / 3)
            yield signflip_lattice(f"all equal {n}", np.full(n, -2), 0.05)
            yield signflip_lattice(f"all zero {n}", np.zeros(n), 0.2)
            yield signflip_lattice(f"strong {n}", rng.integers(-1, 8, n), 0.04)
            yield signflip_lattice(f"balanced {n}", np.where(np.arange(n) % 2 == 0, 1, -1), 0.2)
    for n in range(2, 17):
        yield signflip_reals(f"reals {n}", rng.normal(0.4, 1, n))
    for n, shift in [(45, 0), (50, 30_000), (50, 60_000), (60, 100_000)]:
        ks = rng.integers(-80_000, 80_000, n) + shift
        ks[ks == 0] = 1
        yield signflip_fine(f"fine {n} {shift}", ks, 1 / 7_340_033)


# --- correlations ------------------------------------------------------------


def correlation_cases():
    for n in list(range(3, 21)) + [30, 50, 60]:
        for kind, slope in [("weak", 0.1), ("strong", 3.0), ("negative", -1.0)]:
            x = rng.normal(0, 1, n)
            y = slope * x + rng.normal(0, 1, n)
            if kind == "weak":
                x, y = x.round(1), (y * 2).round() / 2  # ties
                if len(set(x)) == 1 or len(set(y)) == 1:
                    continue
            yield correlation_case(f"{kind} {n}", x, y)


def correlation_case(name, x, y):
    case = {"name": name, "x": x.tolist(), "y": y.tolist(), "pearson": {}, "spearman": {}}
    for alt in ALTERNATIVES:
        pr, sr = stats.pearsonr(x, y, alternative=alt), stats.spearmanr(x, y, alternative=alt)
        case["pearson"][alt], case["spearman"][alt] = float(pr.pvalue), float(sr.pvalue)
    case["r"], case["rho"] = float(pr.statistic), float(sr.statistic)
    if len(x) > 3:
        ci = stats.pearsonr(x, y).confidence_interval(0.95)
        case["interval"] = [float(ci.low), float(ci.high)]
    if len(x) > 3 and abs(case["rho"]) < 1:
        z, q = np.arctanh(case["rho"]), special.ndtri(0.975)
        for key, v in [("bonett-wright", 1 + case["rho"] ** 2 / 2), ("fieller", 1.06), ("fisher", 1)]:
            se = math.sqrt(v / (len(x) - 3))
            case[key] = [math.tanh(z - q * se), math.tanh(z + q * se)]
    return case


# --- bootstrap ---------------------------------------------------------------


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


def bootstrap_case(name, hits, totals, draws, seed, level):
    """Ratio of sums over units (totals all 1: a mean), read off by SciPy."""
    hits, totals = np.asarray(hits, float), np.asarray(totals, float)
    n = len(hits)
    gen = GoPCG(seed, 0x626F6F74)
    indices = np.array([[gen.below(n) for _ in range(n)] for _ in range(draws)])

    def ratio(i, axis=-1):
        i = np.asarray(i, dtype=int)
        return hits[i].sum(axis=axis) / totals[i].sum(axis=axis)

    earlier = stats._resampling.BootstrapResult(
        confidence_interval=None, bootstrap_distribution=ratio(indices), standard_error=None
    )
    case = {
        "name": name, "hits": hits.tolist(), "totals": totals.tolist(), "seed": seed, "level": level,
        "indices": ["".join(chr(33 + v) for v in row) for row in indices.tolist()],
    }
    for key, method in [("percentile", "percentile"), ("bca", "BCa")]:
        r = stats.bootstrap(
            (np.arange(n),), ratio, n_resamples=0, bootstrap_result=earlier, vectorized=True,
            confidence_level=level, method=method,
        )
        case[key] = [float(r.confidence_interval.low), float(r.confidence_interval.high)]
        case["se"] = float(r.standard_error)
    return case


def bootstrap_cases():
    yield bootstrap_case("eighths 10", rng.integers(0, 9, 10) / 8, np.ones(10), 499, 1, 0.95)
    yield bootstrap_case("skewed 12", rng.integers(0, 64, 12) ** 2 / 64, np.ones(12), 499, 2, 0.90)
    yield bootstrap_case("reals 20", rng.normal(0, 1, 20), np.ones(20), 299, 3, 0.95)
    yield bootstrap_case("negative skew 30", -rng.exponential(1, 30), np.ones(30), 299, 2**63 + 11, 0.99)
    totals = rng.integers(1, 12, 25)
    yield bootstrap_case("pooled 25", rng.binomial(totals, 0.8), totals, 299, 5, 0.95)
    yield bootstrap_case("near one 50", np.where(np.arange(50) < 3, 0.75, 1.0), np.ones(50), 299, 6, 0.95)


# --- the rest ----------------------------------------------------------------


def holm_cases():
    for n in [1, 2, 3, 8, 16, 48]:
        p = rng.uniform(0, 1, n) ** 4
        if n > 4:
            p[1] = p[3]
            p[0] = 3e-15
        reject, adjusted, _, _ = multitest.multipletests(p, alpha=0.05, method="holm")
        yield {"p": p.tolist(), "adjusted": adjusted.tolist(), "reject": reject.tolist()}


def equivalence_cases():
    for n in [2, 3, 5, 10, 20, 50, 60]:
        for sd in [0.02, 0.1, 0.4]:
            d = rng.normal(0.01, sd, n)
            p, lower, upper = weightstats.ttost_paired(d, np.zeros(n), -0.1, 0.1)
            # statsmodels' p for "larger" is a survival function: its tail is right.
            low, high = weightstats.DescrStatsW(d).tconfint_mean(alpha=0.1)
            yield {
                "d": d.tolist(), "p": float(p), "lower": float(lower[1]), "upper": float(upper[1]),
                "interval": [float(low), float(high)],
                "power": equivalence_power(n, float(np.std(d, ddof=1)), 0.05, 0.1, 0.0),
            }


def equivalence_power(n, sd, alpha, margin, diff):
    """Both one-sided t tests reject: integrate over the sample's deviation."""
    df = n - 1
    t = stats.t.isf(alpha, df)
    root = math.sqrt(n) / sd
    end = margin * root / t

    def inside(s):
        lo, hi = t * s - (margin + diff) * root, (margin - diff) * root - t * s
        if lo > 0:
            return special.ndtr(-lo) - special.ndtr(-hi)
        return special.ndtr(hi) - special.ndtr(lo)

    dist = stats.chi(df, scale=1 / math.sqrt(df))
    ends = [0.0] + [float(dist.ppf(q)) for q in (1e-12, 1e-6, 0.01, 0.2, 0.5, 0.8, 0.99, 1 - 1e-6)] + [float(dist.isf(1e-14))]
    cuts = sorted({min(e, end) for e in ends})
    parts = [
        integrate.quad(lambda s: inside(s) * dist.pdf(s), a, b, epsabs=1e-15, epsrel=1e-13, limit=400)[0]
        for a, b in zip(cuts, cuts[1:])
    ]
    return math.fsum(parts)


def effect_cases():
    for n in [3, 4, 10, 30, 50]:
        d = (rng.normal(0.2, 0.5, n) * 8).round() / 8
        if np.std(d) == 0:
            d[0] += 1
        dz = np.mean(d) / np.std(d, ddof=1)
        df = n - 1
        j = math.exp(special.gammaln(df / 2) - special.gammaln((df - 1) / 2)) / math.sqrt(df / 2)
        ranks = stats.rankdata(np.abs(d[d != 0]))
        sign = np.sign(d[d != 0])
        yield {
            "d": d.tolist(), "dz": float(dz), "g": float(dz * j),
            "rank_biserial": float((ranks * sign).sum() / ranks.sum()) if len(ranks) else None,
        }


def cluster_cases():
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    for groups, sizes in [(5, (3, 3)), (50, (5, 5)), (12, (1, 6)), (8, (2, 4))]:
        clusters = []
        for _ in range(groups):
            k = int(rng.integers(sizes[0], sizes[1] + 1))
            clusters.append((rng.normal(0, 0.7) + rng.normal(0, 1, k)).round(4).tolist())
        values = [v for c in clusters for v in c]
        labels = [str(i) for i, c in enumerate(clusters) for _ in c]
        table = anova_lm(ols("v ~ C(g)", {"v": values, "g": labels}).fit())
        msb, msw = float(table["mean_sq"].iloc[0]), float(table["mean_sq"].iloc[1])
        n = len(values)
        k = (n - sum(len(c) ** 2 for c in clusters) / n) / (groups - 1)
        yield {
            "clusters": clusters, "msb": msb, "msw": msw, "k": k, "between": max(0.0, (msb - msw) / k),
            "icc1": (msb - msw) / (msb + (k - 1) * msw), "icc_mean": (msb - msw) / msb,
        }


def proportion_cases():
    tables = [
        (3, 10, 7, 12), (0, 5, 5, 5), (1, 1, 0, 1), (10, 10, 9, 10), (2, 4, 2, 4), (0, 7, 0, 9), (8, 8, 9, 9),
        (404, 437, 83, 5800), (20, 436, 290, 5800), (20, 437, 297, 5964), (412, 436, 77, 121), (6, 200, 5, 6200),
        (90, 100, 10, 100), (45, 50, 44, 50), (1, 3000, 12, 3000), (26, 30, 4, 30), (30, 30, 0, 30),
    ]
    for a, na, b, nb in tables:
        case = {"a": a, "na": na, "b": b, "nb": nb, "fisher": {}, "chi": None, "chi_yates": None}
        for alt in ALTERNATIVES:
            case["fisher"][alt] = fisher(a, na, b, nb, alt)
        if 0 < a + b < na + nb:
            for key, correction in [("chi", False), ("chi_yates", True)]:
                r = stats.chi2_contingency([[a, na - a], [b, nb - b]], correction=correction)
                case[key] = [float(r.statistic), float(r.pvalue)]
        case["wilson"] = [float(v) for v in proportion.proportion_confint(a, na, 0.05, "wilson")]
        case["newcombe"] = [float(v) for v in proportion.confint_proportions_2indep(a, na, b, nb, method="newcomb")]
        yield case


def fisher(a, na, b, nb, alt):
    """Fisher's p in whole numbers, compared with SciPy's."""
    hits = a + b
    tables = {k: math.comb(na, k) * math.comb(nb, hits - k) for k in range(max(0, hits - nb), min(hits, na) + 1)}
    chosen = {
        "less": [c for k, c in tables.items() if k <= a],
        "greater": [c for k, c in tables.items() if k >= a],
        "two-sided": [c for c in tables.values() if c <= tables[a]],
    }[alt]
    p = float(Fraction(sum(chosen), sum(tables.values())))
    theirs = float(stats.fisher_exact([[a, na - a], [b, nb - b]], alternative=alt).pvalue)
    assert close(p, theirs, 1e-8) or abs(p - theirs) < 1e-12, (a, na, b, nb, alt, p, theirs)
    return p


def noncentral_sf(x, df, nc):
    """P(T > x). SciPy's value has errors near 1e-16, absolutely: small tails are integrated with 30 digits."""
    theirs = float(stats.nct.sf(x, df, nc))
    if theirs > 1e-3:
        return theirs
    with mpmath.workdps(30):
        v = mpmath.mpf(df)
        root, norm = mpmath.sqrt(v), (v / 2 - 1) * mpmath.log(2) + mpmath.loggamma(v / 2)

        def density(c):  # of the chi distribution, times the normal tail beyond
            return mpmath.erfc((x * c / root - nc) / mpmath.sqrt(2)) / 2 * mpmath.exp((v - 1) * mpmath.log(c) - c * c / 2 - norm)

        cuts = [mpmath.mpf("1e-25")] + [root + k / 2 for k in range(-24, 25) if root + k / 2 > 0.001]
        p = float(mpmath.quad(density, cuts))
    assert abs(p - theirs) < 1e-14, (x, df, nc, p, theirs)
    return p


def power_cases():
    solver = power.TTestPower()
    names = {"two-sided": "two-sided", "greater": "larger", "less": "smaller"}
    for n, sd, diff, alpha in [
        (2, 0.1, 0.1, 0.05), (5, 0.3, 0.2, 0.05), (10, 0.25, 0.2, 0.05), (10, 0.3, 0.1, 0.001), (20, 0.2, 0.15, 0.01),
        (50, 0.29, 0.1, 0.05), (50, 0.29, 0.1, 0.001), (50, 0.2, 0.15, 0.05), (60, 0.4, 0.02, 0.05), (200, 0.3, 0.05, 0.05),
    ]:
        case = {"n": n, "sd": sd, "diff": diff, "alpha": alpha, "power": {}}
        for alt, theirs in names.items():
            case["power"][alt] = float(solver.power(diff / sd, n, alpha, alternative=theirs))
            if case["power"][alt] < 1e-3:  # only "less" is: the other way round it is one upper tail
                assert alt == "less"
                case["power"][alt] = noncentral_sf(stats.t.isf(alpha, n - 1), n - 1, -diff / sd * math.sqrt(n))
        need = None
        if diff / sd >= 0.25:
            k = 2
            while solver.power(diff / sd, k, alpha, alternative="two-sided") < 0.8:
                k += 1
            need = k
        case["needed"] = need
        effect = detectable(solver, n, alpha)
        case["detectable"] = None if effect is None else sd * effect
        case["equivalence"] = equivalence_power(n, sd, min(alpha, 0.05), 0.15, 0.05)
        yield case


def detectable(solver, n, alpha):
    """The effect with power 0.8: a root of statsmodels' own power function."""

    def missing(d):
        return solver.power(d, n, alpha, alternative="two-sided") - 0.8

    high = 0.1
    while missing(high) < 0:
        high *= 1.2
    if math.isnan(missing(high)):  # SciPy's noncentral t is nan far out
        return None
    return optimize.brentq(missing, high / 1.2, high, xtol=1e-15, rtol=1e-14)


def tails():
    """Tails of the distributions."""
    t = [[x, df, float(stats.t.sf(x, df))] for df in (1, 2, 3, 8, 29, 48, 58, 199, 6398)
         for x in (-30.0, -3.0, -0.5, -1e-6, 0.0, 1e-6, 0.3, 0.99, 1.01, 2.5, 6.0, 12.0, 30.0)]
    q = [[p, df, float(stats.t.isf(p, df))] for df in (1, 2, 9, 49, 300) for p in (1e-14, 1e-6, 0.0005, 0.025, 0.05, 0.3, 0.4999)]
    nct = [[x, df, nc, noncentral_sf(x, df, nc)] for df in (1, 2, 9, 49, 199) for nc in (-2.0, 0.0, 0.7, 3.0, 9.0)
           for x in (-1.0, 0.0, 0.5, 2.0, 4.0, 9.0)]
    norm = [[z, float(stats.norm.sf(z))] for z in (-8.0, -1.0, 0.0, 0.5, 3.0, 7.6, 8.3, 20.0, 37.0)]
    chi = [[x, float(stats.chi2.sf(x, 1))] for x in (0.0, 1e-8, 0.5, 3.84, 30.0, 60.0, 1000.0)]
    return {"t": t, "t_quantile": q, "noncentral": nct, "normal": norm, "chi": chi}


def main():
    have = {"numpy": np.__version__, "scipy": scipy.__version__, "statsmodels": statsmodels.__version__,
            "mpmath": mpmath.__version__}
    if have != PINNED:
        sys.exit(f"golden values are made with {PINNED}, and here is {have}: pip install -r requirements.txt")
    warnings.simplefilter("ignore")
    groups = {
        "wilcoxon": wilcoxon_cases(), "signflip": signflip_cases(), "correlation": correlation_cases(),
        "bootstrap": bootstrap_cases(), "holm": holm_cases(), "equivalence": equivalence_cases(),
        "effect": effect_cases(), "cluster": cluster_cases(), "proportion": proportion_cases(), "power": power_cases(),
    }
    # One case a line, so that a change shows in a diff.
    lines = ['"versions": ' + json.dumps(PINNED), '"tails": ' + json.dumps(tails())]
    for name, cases in groups.items():
        body = ",\n".join(json.dumps(c, allow_nan=False) for c in cases)
        lines.append(f'"{name}": [\n{body}\n]')
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main()
