// Package pace estimates how long work takes from the time that other work took, and says how much of it is done.
package pace

import "time"

// Rate relates the work that has been done, in any unit, to the seconds that it took. The zero value knows nothing.
type Rate struct{ work, seconds float64 }

// Add adds work that has been done.
func (r *Rate) Add(work, seconds float64) { r.work, r.seconds = r.work+work, r.seconds+seconds }

// Fade multiplies the weight of the work so far, in relation to later work.
func (r *Rate) Fade(weight float64) { r.work, r.seconds = weight*r.work, weight*r.seconds }

// Known reports whether any work has been done.
func (r Rate) Known() bool { return r.work > 0 }

// Seconds returns how long work takes, 0 if that is not known.
func (r Rate) Seconds(work float64) float64 {
	if !r.Known() {
		return 0
	}
	return work * r.seconds / r.work
}

// Left returns the seconds left of a piece of work that takes about all seconds and has taken some: at least a tenth of all,
// because it may take longer than others.
func Left(all, taken float64) float64 { return max(0.1*all, all-taken) }

// Rest adds up the time that many pieces of work still take.
type Rest struct{ sum, longest float64 }

// Add adds a piece of work, as [Left] does.
func (r *Rest) Add(all, taken float64) {
	own := Left(all, taken)
	r.sum, r.longest = r.sum+own, max(r.longest, own)
}

// Left returns how long all pieces take if some are done side by side, on average: no less than the longest one.
func (r Rest) Left(beside float64) time.Duration {
	return time.Duration(max(r.longest, r.sum/max(1, beside)) * float64(time.Second))
}

// Share is the share of work that is done, which never falls although the total is an estimate that may grow.
type Share struct{ most float64 }

// Of takes over that so much of about a total is done, and returns the share.
func (s *Share) Of(done, total float64) float64 {
	if total > 0 {
		s.most = max(s.most, min(1, done/total))
	}
	return s.most
}
