// Package oracle checks our clients of models' wire protocols against the
// official ones: the same call written by both must be the same request, and the
// same answer read by both the same reply. It is a module of its own, so that
// neither their size nor their build time is in ours, and has tests only.
//
// A further protocol is a file of tests: Twins compares requests, and Answers
// reads the answers that the protocol's package keeps as test data.
package oracle
