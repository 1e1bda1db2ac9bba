package messages

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/internal/option"
)

// named matches the form in which the library names an option.
var named = regexp.MustCompile(`\boption ([a-z]+(?:-[a-z]+)*)`)

// Flags returns a text of the library with its options as flags: "option restarts"
// becomes "--restarts".
func Flags(text string) string {
	if !strings.Contains(text, "option ") {
		return text
	}
	table := option.All()
	return named.ReplaceAllStringFunc(text, func(match string) string {
		name := strings.TrimPrefix(match, "option ")
		if !table.Has(name) {
			return match
		}
		return "--" + name
	})
}

// AllFlags is Flags for every text of a list, in place.
func AllFlags(texts []string) {
	for i := range texts {
		texts[i] = Flags(texts[i])
	}
}

// errorText returns the text of an error for the command line. It writes options, and
// parameters to continue from, as flags.
func errorText(err error) string {
	text := err.Error()
	var unfinished *problem.UnfinishedError
	if errors.As(err, &unfinished) {
		var set strings.Builder
		for i, a := range unfinished.Parameters {
			if i > 0 {
				set.WriteByte(' ')
			}
			fmt.Fprintf(&set, "--set '%s=%.10g'", strings.ReplaceAll(a.Name, "'", `'\''`), a.Value)
		}
		text = strings.Replace(text, unfinished.Error(), unfinished.Err.Error()+"\n"+unfinished.Found()+set.String(), 1)
	}
	var unavailable *device.UnavailableError
	if errors.As(err, &unavailable) {
		text += "; 'gpfit devices' lists what gpfit found"
	}
	return Flags(text)
}
