package messages

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gpfit/device"
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

// TestFitting follows the counts, the share and the time left through a fit whose
// evaluations take two seconds each on all 2,000 rows and an eighth of that on half.
func TestFitting(t *testing.T) {
	now := time.Unix(0, 0)
	f := &fitting{Follower: hyperopt.Follower{Stages: []hyperopt.Expectation{{Rows: 1000, Values: 18}, {Rows: 2000, Values: 11}}}}
	f.Advance(device.Progress{Stage: "factor", Done: 1, Total: 2})
	most := 0.0
	check := func(want string) {
		t.Helper()
		if p := f.Progress(now); p.Share < most || p.Share == 0 || p.Share >= 1 || p.Values < 29 {
			t.Errorf("%v of %d values after %v", p.Share, p.Values, most)
		} else {
			most = p.Share
		}
		if got := f.text(now); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check("evaluation 1 of about 18, 17 %")
	step := func(rows, value int, each time.Duration) {
		now = now.Add(each)
		f.Accept(descent.Iteration{Rows: rows, Total: descent.Evaluations{Value: value}}, now)
	}
	for i := 1; i <= 9; i++ {
		step(1000, i, 250*time.Millisecond)
	}
	// 9 values of a quarter of a second are left, then 11 of two seconds: 24 s.
	check("evaluation 10 of about 18; about 25s left; 1000 rows; NLML 0.000000")
	f.then = "the folds"
	check("evaluation 10 of about 18; about 25s left of the tuning, then the folds; 1000 rows")
	f.then = ""
	step(0, 1, 2*time.Second)
	check("evaluation 2 of about 11; NLML")
	now = now.Add(time.Second)
	f.Advance(device.Progress{Stage: "factor", Done: 2, Total: 2})
	f.Advance(device.Progress{Stage: "gradient", Done: 1, Total: 4})
	check("evaluation 2 of about 11, 50 %; about 20s left; NLML") // 9.5 of two seconds
	// A step of the line search that is not accepted is followed by another factorization.
	f.Advance(device.Progress{Stage: "factor", Done: 1, Total: 2})
	check("evaluation 3 of about 11, 17 %;")
	for i := 2; i <= 16; i++ {
		step(0, i, 2*time.Second)
	}
	check("evaluation 17 of about 18;") // longer than usual
}

// TestFittingGrowth follows a fit whose values take ten times as long on ten times the rows: the time of the stage that
// is left grows like that, too.
func TestFittingGrowth(t *testing.T) {
	now := time.Unix(0, 0)
	f := &fitting{Follower: hyperopt.Follower{Stages: []hyperopt.Expectation{{Rows: 1000, Values: 10}, {Rows: 10_000, Values: 10}, {Rows: 100_000, Values: 10}}}}
	for stage, rows := range []int{1000, 10_000} {
		for i := 1; i <= 6; i++ {
			now = now.Add(time.Duration(rows) * time.Millisecond)
			f.Accept(descent.Iteration{Rows: rows, Total: descent.Evaluations{Value: i}}, now)
		}
		// 4 values of the stage are left. Before the second stage shows how time grows, it counts as n³.
		want := []time.Duration{(4 + 10*1000 + 10*1_000_000) * time.Second, (4*10 + 10*100) * time.Second}[stage]
		if got := f.Progress(now).Left; got < want*9/10 || got > want*11/10 {
			t.Errorf("stage %d: %v left, not %v", stage, got, want)
		}
	}
}
