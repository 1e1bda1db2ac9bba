package messages

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
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

// TestInterrupted checks that a signal is named once.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fmt.Errorf("%w: interrupt signal received", context.Canceled))
	err := errors.Join(context.Cause(ctx), ctx.Err())
	if got, want := errorText(err), "interrupted: interrupt signal received"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := errorText(context.Canceled), "context canceled"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFitting checks what a fit says, with a part of the work besides it.
func TestFitting(t *testing.T) {
	var out strings.Builder
	m := New(&out, false)
	m.interval = 0
	check := func(want string) {
		t.Helper()
		text := strings.TrimSpace(out.String())
		if _, got, _ := strings.Cut(text, "] "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		out.Reset()
	}
	m.Within(0, 0.5, "")
	m.Fit(hyperopt.FitProgress{Share: 0.5, Best: math.Inf(1)})
	check("25 %; evaluation 1")
	m.Fit(hyperopt.FitProgress{Share: 0.9, Best: -3, Evaluations: 7, Begun: true, Iteration: descent.Iteration{Rows: 10, F: 2, GradientNorm: 1}})
	check("45 %; best NLML -3.000000; evaluation 8; 10 rows; now 2.000000; gradient 1; start 0, iteration 0")
	m.Status("posterior: %d iterations", 3)
	check("45 %; posterior: 3 iterations; best NLML -3.000000; evaluation 8")
	m.Part(0.75, "fold 2 of 2")
	check("75 %; fold 2 of 2; best NLML -3.000000; evaluation 8")
	m.Part(1, "")
	check("100 %; best NLML -3.000000")
	if s := m.state(""); s.Done != 100 || s.Total != 100 || *s.Best != -3 || s.SecondsLeft != 0 {
		t.Errorf("%+v", s)
	}
}
