// Package bench measures the timeout module against what else could be used in
// its place. It is a module of its own, so that the product depends on none of
// them. Ratios travel from one machine to another, absolute figures do not:
// every comparison measures both sides in the same run, in turns.
//
// `make bench-peers` runs it.
package bench
