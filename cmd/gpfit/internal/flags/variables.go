package flags

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/suggest"
	"gpfit/option"
)

// others matches the variables that are no options: variables of the program, which package reference
// lists for users, and variables of tests, builds and campaigns.
var others = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^GPFIT_(CPU|SCRATCH|CUDA_(LIB|DRIVER|STEPS|TOOLKIT|INCLUDE)|EMU_.*|EMULATED|PARENT.*|CALIBRATION|LONG|CAMPAIGN|KILLS|SOAK|CLOCK|MPI_(LIBRARY|SCALAPACK|ENGINE|GRID|BLOCK|PLUGIN)|BILL|BINARY|RELEASED|REVISION|TARGET|PYTHON|SKIP_CU|HEADERS|PTXAS|ASSEMBLERS|PROBLEMS|FUZZ_.*|TOOLKIT.*|TEST_.*|MEASURE_.*|RELIABILITY_.*|BINDINGS_.*|.*_REQUIRED|FAULTS.*)$`)
})

// checkVariables returns an error for each GPFIT_ variable of an environment that is none of gpfit: a
// misspelt one would leave an option as it is. own has the options of the command; a variable of
// another command is no mistake.
func checkVariables(environment []string, own option.Entries) error {
	var asked []string
	for _, entry := range environment {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "GPFIT_") && !others().MatchString(name) {
			asked = append(asked, name)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	known := map[string]bool{}
	for _, o := range slices.Concat(option.All(), own) {
		if o.Variable() == "" {
			continue
		}
		known[o.Variable()] = true
		if o.Former != "" {
			known[option.Variable(o.Former)] = true
		}
	}
	slices.Sort(asked)
	var mistakes []error
	for _, name := range asked {
		if !known[name] {
			hint := suggest.DidYouMean(name, slices.Sorted(maps.Keys(known)))
			mistakes = append(mistakes, exit.Usagef("environment variable %s: no option has this variable%s", name, hint))
		}
	}
	return errors.Join(mistakes...)
}
