package exit

import (
	"fmt"
	"strings"
)

// Status is an exit code with its meaning: in a few words, and in the words of the
// reference.
type Status struct {
	Code           int
	Short, Meaning string
}

// Statuses returns every exit code of the program, in ascending order.
func Statuses() []Status {
	return []Status{
		{0, "success", "success"},
		{Failure, "failure", "failure of the disk, of the system, or of the numbers at given parameters"},
		{Usage, "usage", "mistake on the command line or in a spec"},
		{SomeFailed, "some jobs of a batch failed", "some jobs of a batch failed, or will fail"},
		{Data, "bad input data", "bad input data: a table, a model, a checkpoint or a run"},
		{InUse, "run directory in use", "another process uses the run directory"},
		{Device, "device unavailable, too small or lost", "the device is missing, too small or lost, or a limit of the system leaves too little memory"},
		{Interrupted, "interrupted by Ctrl-C, SIGTERM or SIGHUP", "interrupted by Ctrl-C, SIGTERM or SIGHUP; the best model so far is written"},
	}
}

// Summary returns the exit codes with their meaning as one list.
func Summary() string {
	var parts []string
	for _, s := range Statuses() {
		parts = append(parts, fmt.Sprintf("%d %s", s.Code, s.Short))
	}
	return strings.Join(parts, ", ")
}
