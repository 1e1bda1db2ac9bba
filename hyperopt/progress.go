package hyperopt

import (
	"math"
	"time"

	"gpfit/device"
	"gpfit/hyperopt/descent"
	"gpfit/internal/pace"
)

// FitProgress is how far a fit is.
type FitProgress struct {
	// Evaluation is the number of the value under way in the present stage, from 1. Expected is about how
	// many values the stage takes, 0 if that is not known.
	Evaluation, Expected int
	// Part is the share of this value that is done, as far as long evaluations report it.
	Part float64
	// Share is the share of the values of all stages that is done, out of about Values, both 0 if that is not known. It does
	// not fall.
	Share  float64
	Values int
	// Left is about how much time the fit takes from now on, 0 if that is not known yet.
	Left time.Duration
	// Iteration is the latest iteration, if one has Begun.
	Iteration descent.Iteration
	Begun     bool
}

// Follower follows a fit of the given stages by its iterations and the progress of its evaluations. The
// zero value follows a fit whose stages are unknown.
type Follower struct {
	Stages []Expectation
	// it is the latest iteration.
	it    descent.Iteration
	begun bool // the first iteration is done
	// done counts the values of the stage. part is the share of the value under way, and
	// under is its last report, if any.
	done  int
	part  float64
	under device.Progress
	// since is when the stage began, after its first values.
	since time.Time
	first int
	// before is the time of a value in the stage before, over beforeRows rows; 0 if that is not known.
	before     float64
	beforeRows int
	share      pace.Share
}

// Progress returns how far the fit is.
func (f *Follower) Progress(now time.Time) FitProgress {
	p := FitProgress{Evaluation: f.done + 1, Part: f.part, Left: f.left(now), Iteration: f.it, Begun: f.begun}
	if earlier, values, later := f.expected(); len(f.Stages) > 0 {
		p.Expected, p.Values = values, valuesOf(earlier)+values+valuesOf(later)
		p.Share = f.share.Of(float64(valuesOf(earlier)+f.done)+f.part, float64(p.Values))
	}
	return p
}

func share(p device.Progress) float64 { return min(1, p.Done/max(p.Total, 1)) }

// Accept takes over an iteration.
func (f *Follower) Accept(it descent.Iteration, now time.Time) {
	if !f.begun || it.Rows != f.it.Rows || it.Total.Value < f.it.Total.Value {
		if done := f.done - f.first; f.begun && done > 0 && f.it.Rows > 0 && f.it.Rows < it.Rows {
			f.before, f.beforeRows = now.Sub(f.since).Seconds()/float64(done), f.it.Rows
		}
		f.since, f.first = now, it.Total.Value
	}
	f.begun, f.it = true, it
	f.done, f.part, f.under = it.Total.Value, 0, device.Progress{}
}

// Advance takes over the progress of an evaluation: a third of its operations are in the
// factorization, and two thirds in the gradient.
func (f *Follower) Advance(p device.Progress) {
	switch p.Stage {
	case "factor":
		if f.under.Stage == "gradient" || f.under.Stage != "" && p.Done <= f.under.Done {
			f.done++ // a value after which no iteration was accepted
		}
		f.part = share(p) / 3
	case "gradient":
		f.part = 1.0/3 + share(p)*2/3
	default:
		return
	}
	f.under = p
}

// valuesOf returns about how many values some stages take.
func valuesOf(stages []Expectation) (sum int) {
	for _, s := range stages {
		sum += s.Values
	}
	return sum
}

// expected returns about how many values the stage takes, and the stages before and after it.
func (f *Follower) expected() (earlier []Expectation, values int, later []Expectation) {
	for i, s := range f.Stages {
		// An iteration has 0 rows if it has all of them. Halves may lack a row.
		here := !f.begun || f.it.Rows > 0 && s.Rows >= f.it.Rows
		if here || i == len(f.Stages)-1 {
			earlier, values, later = f.Stages[:i], s.Values, f.Stages[i+1:]
			break
		}
	}
	// A stage that takes more values than usual is near its end, but nobody knows.
	return earlier, max(values, f.done+max(1, f.done/8)), later
}

// left returns about how much time is left, or 0 if that is not known yet.
func (f *Follower) left(now time.Time) time.Duration {
	done := float64(f.done-f.first) + f.part
	if !f.begun || len(f.Stages) == 0 || done < 0.2 || now.Sub(f.since) < time.Second {
		return 0
	}
	var rate pace.Rate
	rate.Add(done, now.Sub(f.since).Seconds())
	_, values, later := f.expected()
	each, seconds := rate.Seconds(1), rate.Seconds(max(0, float64(values-f.done)-f.part))
	power := f.power(each)
	for _, s := range later {
		seconds += each * math.Pow(float64(s.Rows)/float64(f.it.Rows), power) * float64(s.Values)
	}
	return time.Duration(seconds * float64(time.Second))
}

// power returns the power of the number of rows by which the time of a value grows: 3, as with a matrix of all rows, or
// less if this stage and the one before show that the method takes less.
func (f *Follower) power(each float64) float64 {
	if f.before == 0 || f.it.Rows <= f.beforeRows {
		return 3
	}
	return min(3, max(1, math.Log(each/f.before)/math.Log(float64(f.it.Rows)/float64(f.beforeRows))))
}
