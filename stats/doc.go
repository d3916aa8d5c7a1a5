// Package stats turns numbers into numbers: the tests, intervals, effect sizes
// and power calculations of the paper's section 5.1 (Inference) and those that
// its readers asked for. docs/statistics.md says which to use when.
//
// It stands beside the data flow, used by analysis and report, and knows
// nothing of agents, lakes or runs. The caller decides what a unit is (here: a
// seed, whose episodes are averaged first) and what is paired with what.
//
// Three rules hold for every function:
//
//   - Bad input (NaN, an infinity, unequal lengths, an impossible option) is an
//     *InputError that names the argument and the index. Nothing is dropped
//     silently.
//   - What is undefined is a nil pointer (null in JSON), never NaN, 0 or 1, and
//     a Warning says why. Only [Mean] and [StdDev] return NaN, as documented.
//   - Randomness is an argument. A function that draws takes a Seed and is a
//     pure function of its arguments, on every machine and at any concurrency.
//
// Small p-values are computed as sums of small numbers or by functions of the
// tail itself, never as one minus something close to one, so that 1e-14 is
// 1e-14. Differences closer than the rounding of a float64 count as equal (see
// [Differences]).
//
// The package refuses to choose: it does not pick a test by looking at the
// data, and where a method cannot be used it names the one used instead in
// Method and in a Warning.
package stats
