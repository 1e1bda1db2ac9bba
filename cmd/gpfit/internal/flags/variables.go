package flags

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/option"
	"gpfit/internal/suggest"
)

// others matches the variables that are no options: variables of the program, which package reference
// lists for users, and variables of tests, builds and campaigns.
var others = regexp.MustCompile(`^GPFIT_(CPU|CUDA_.*|EMU_.*|EMULATED|PARENT.*|CALIBRATION|LONG|CAMPAIGN|KILLS|SOAK|CLOCK|BILL|BINARY|RELEASED|REVISION|TARGET|PYTHON|SKIP_CU|HEADERS|PTXAS|ASSEMBLERS|PROBLEMS|FUZZ_.*|TOOLKIT.*|TEST_.*|MEASURE_.*|RELIABILITY_.*|BINDINGS_.*|.*_REQUIRED|FAULTS.*)$`)

// checkVariables returns an error for each GPFIT_ variable of an environment that is none of gpfit: a
// misspelt one would leave an option as it is. The table has the options of all commands.
func checkVariables(environment []string, table option.Entries) error {
	var known []string
	for _, o := range table {
		for _, name := range []string{o.Name, o.Former} {
			if name != "" && o.Variable() != "" && !slices.Contains(known, option.Variable(name)) {
				known = append(known, option.Variable(name))
			}
		}
	}
	var mistakes []error
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "GPFIT_") || slices.Contains(known, name) || others.MatchString(name) {
			continue
		}
		hint := suggest.DidYouMean(name, known)
		mistakes = append(mistakes, exit.Usagef("environment variable %s: no option has this variable%s", name, hint))
	}
	slices.SortFunc(mistakes, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(mistakes...)
}
