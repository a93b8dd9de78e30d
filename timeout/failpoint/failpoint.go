// Package failpoint lets a test break a process at a chosen statement, as a
// power cut or kill -9 would, and set its clock wrong.
//
// A program built with the tag failpoint reads two variables:
//
//	TIDEMALL_FAILPOINT=name or name:n   kill -9 of the own process at the first, or the nth, Hit of that name
//	TIDEMALL_CLOCK_OFFSET=-5m           the process's wall clock is so far off the real one
//
// In every other build both functions do nothing and cost nothing.
//
// The names are where they are hit, as literals: "part.step", the step being
// what has just been done. A test of the program walks the sources for them
// and kills a process at each, so that a new one cannot be forgotten.
package failpoint

// The variables that a build with the tag failpoint reads.
const (
	EnvPoint       = "TIDEMALL_FAILPOINT"
	EnvClockOffset = "TIDEMALL_CLOCK_OFFSET"
)
