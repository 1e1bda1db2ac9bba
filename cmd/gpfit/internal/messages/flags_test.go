package messages

import (
	"errors"
	"strings"
	"testing"

	"gpfit/fit/problem"
)

// TestFlags checks that only options of the table become flags in messages.
func TestFlags(t *testing.T) {
	for text, want := range map[string]string{
		"option restarts -1: must be from 0 to 10000":       "--restarts -1: must be from 0 to 10000",
		"leave out option noise none, or option max-jitter": "leave out --noise none, or --max-jitter",
		"an option that is none; adoption set":              "an option that is none; adoption set",
		"option mean-fits":                                  "option mean-fits",
		"nothing here":                                      "nothing here",
	} {
		if got := Flags(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestUnfinished checks that parameters to continue from become flags to copy, and that
// the text around the error stays as it is.
func TestUnfinished(t *testing.T) {
	err := &problem.UnfinishedError{Err: errors.New("lost; allow option max-jitter"), Best: "NLML 3.25",
		Parameters: []problem.Assignment{{Name: "lengthscale[0]", Value: 0.5}, {Name: "noise_variance", Value: 1e-3}}}
	quoted := &problem.UnfinishedError{Err: errors.New("lost"), Parameters: []problem.Assignment{{Name: `lengthscale["it's b"]`, Value: 2}}}
	if got, want := errorText(quoted), `--set 'lengthscale["it'\''s b"]=2'`; !strings.Contains(got, want) {
		t.Errorf("%s, want %s for a shell", got, want)
	}
	if got, want := err.Error(), "lost; allow option max-jitter\nbest so far: NLML 3.25; to continue from there: set lengthscale[0]=0.5, noise_variance=0.001"; got != want {
		t.Errorf("library: %q, want %q", got, want)
	}
	joined := errors.Join(err, errors.New("more"))
	if got, want := errorText(joined), "lost; allow --max-jitter\nbest so far: NLML 3.25; to continue from there: --set 'lengthscale[0]=0.5' --set 'noise_variance=0.001'\nmore"; got != want {
		t.Errorf("command: %q, want %q", got, want)
	}
}
