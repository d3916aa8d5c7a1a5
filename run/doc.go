// Package run makes the trials of a study's plan: with workers that ask models
// and hand what happened to a recorder (paper, sections 4 and 5). It is where audit and
// navigate meet. What it makes it can make again: a stopped run goes on from its
// finished calls, and a finished one is verified and scored again from its
// stored replies.
//
// It declares the recorder it writes to and makes no table of what came out.
package run
