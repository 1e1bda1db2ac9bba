package summary

import (
	"fmt"
	"math"

	"gpfit/hyperopt"
)

// SearchKind says what a fit saw that bears on how sure its optimum is.
type SearchKind string

// The kinds of SearchReport.
const (
	// SearchFixed is a fit without free parameters, SearchUnfinished one whose best descent
	// did not converge, or that was interrupted before all starts ended.
	SearchFixed      SearchKind = "fixed"
	SearchUnfinished SearchKind = "unfinished"
	// SearchAlone is one descent, with no other start to compare.
	SearchAlone SearchKind = "alone"
	// SearchSubset compared its starts on fewer rows, and one descended over all rows.
	SearchSubset SearchKind = "subset"
	// SearchSingle had one of several starts lead to the optimum, SearchAgreed more than one.
	SearchSingle SearchKind = "single"
	SearchAgreed SearchKind = "agreed"
)

// SearchReport says how often starts led to the optimum, and how sure it is that none is lower.
type SearchReport struct {
	Kind SearchKind `json:"kind"`
	// Chance estimates the probability that the fit misses an optimum more than half a nat
	// lower; nil if there is nothing to estimate it from. Text says all of this in a sentence.
	Chance *float64 `json:"chance,omitempty"`
	Text   string   `json:"text"`
	// Starts counts the starts that reached an optimum, Best the starts that reached the
	// best, and Stopped the starts that gpfit stopped early.
	Starts  int `json:"starts"`
	Best    int `json:"best"`
	Stopped int `json:"stopped"`
	// Rows is the number of rows on which the starts were compared, if not all; Next is how far
	// the next optimum is above the best.
	Rows int      `json:"rows,omitempty"`
	Next *float64 `json:"next,omitempty"`
	// More is a number of restarts that looks further; 0 if there is nothing to search.
	More int `json:"more,omitempty"`
}

// Searched has the facts for a sentence on a search besides the counts of starts.
type Searched struct {
	Coverage hyperopt.Coverage
	// Continued says what changed the objective after the search, empty for nothing; then Coverage
	// counts one descent.
	Continued string
	// Status says why the fit ended, and Converged and Fixed are its meaning.
	Status           string
	Converged, Fixed bool
	// Given says that the start is not the default one. Parts says that the kernel is a sum or
	// a product, or has a period: its likelihood has more optima.
	Given, Parts bool
	// Rows counts all rows, and Restarts is the number of restarts, by default or by the option.
	Rows, Restarts int
}

// manyAgree is the number of starts at the optimum from which fewer fits of one function miss a
// lower one, and fewStarts the number of starts below which more fits with parts do.
const manyAgree, fewStarts = 10, 6

// missed returns the share of the fits of benchmarks/tuning/suite of this kind that missed a lower
// optimum, as 1 in n, or 2/3: benchmarks/results/2026-11-23-certainty.txt has the counts. With parts,
// more than six starts made no difference: they share what they do not see.
func (s *Searched) missed(kind SearchKind) float64 {
	switch {
	case kind == SearchAlone && s.Parts:
		return 2. / 3
	case kind == SearchAlone:
		return 1. / 4
	case s.Parts && s.Coverage.Starts+s.Coverage.Stopped < fewStarts:
		return 1. / 3
	case s.Parts || kind == SearchSubset:
		return 1. / 8
	case kind == SearchSingle:
		return 1. / 5
	case s.Coverage.Best < manyAgree:
		return 1. / 15
	}
	return 1. / 30
}

// kind returns the kind of the search.
func (s *Searched) kind() SearchKind {
	c := s.Coverage
	switch {
	case s.Fixed:
		return SearchFixed
	case !s.Converged || c.Starts == 0:
		return SearchUnfinished
	case c.Starts+c.Stopped == 1:
		return SearchAlone
	case c.Rows > 0:
		return SearchSubset
	case c.Best == 1:
		return SearchSingle
	}
	return SearchAgreed
}

// NewSearch returns the report of a search.
func NewSearch(s *Searched) *SearchReport {
	c := s.Coverage
	r := &SearchReport{Kind: s.kind(), Starts: c.Starts, Best: c.Best, Stopped: c.Stopped, Rows: c.Rows}
	if !math.IsInf(c.Next, 1) {
		r.Next = &c.Next
	}
	if !s.Fixed {
		r.More = s.more()
	}
	switch known := !s.Given || r.Kind != SearchAlone; {
	case r.Kind == SearchFixed:
		r.Text = "all parameters are fixed: there was nothing to search"
	case r.Kind == SearchUnfinished && s.Converged:
		r.Text = "the search was interrupted before all starts ended: there may be a lower optimum"
	case r.Kind == SearchUnfinished:
		r.Text = fmt.Sprintf("the descent did not converge (%s): its end is no optimum yet", s.Status)
	case r.Kind == SearchAlone && s.Continued != "":
		r.Text = s.Continued + " after the search, and descents went on from its best optimum alone: there may be a lower one"
	case !known:
		r.Text = "one descent from the given start: nothing says that there is no lower optimum"
	default:
		chance := s.missed(r.Kind)
		r.Chance = &chance
		r.Text = s.found(r.Next) + ": " + chanceText(chance)
		if chance >= 1./5 {
			r.Text += fmt.Sprintf("; %d restarts may find it", r.More)
		}
	}
	return r
}

// found says what the starts found; next is the distance of the next optimum.
func (s *Searched) found(next *float64) string {
	c := s.Coverage
	others, all := c.Starts-c.Best, c.Starts+c.Stopped
	text := fmt.Sprintf("%d of %d starts led to this optimum", c.Best, all)
	switch {
	case all == 1:
		return "one descent from the start values"
	case c.Rows > 0:
		return text + fmt.Sprintf(", compared on %d of %d rows; one descended over all rows", c.Rows, s.Rows)
	case others > 0 && next != nil:
		text += fmt.Sprintf(", %d to others, the next %.2g nats higher", others, *next)
	}
	if c.Stopped > 0 {
		text += fmt.Sprintf(", %d stopped above it", c.Stopped)
	}
	return text
}

// chanceText states a chance, and what it is a share of: other tables may be harder.
func chanceText(chance float64) string {
	if chance > 0.6 {
		return "in a benchmark, about 2 in 3 such fits missed a lower one"
	}
	return fmt.Sprintf("in a benchmark, about 1 in %.0f such fits missed a lower one", 1/chance)
}

// more returns a number of restarts to try.
func (s *Searched) more() int {
	more := max(5, 2*(s.Coverage.Starts+s.Coverage.Stopped))
	if s.Restarts > 0 {
		more = max(more, 20, 2*s.Restarts)
	}
	return min(more, hyperopt.MaxRestarts)
}

// CoarseReport says where coarse to fine and the descent from the start values over all rows
// ended, with option coarse check. Models of earlier versions may have the report without numbers.
type CoarseReport struct {
	Compared       bool     `json:"compared"`
	Objective      *float64 `json:"objective,omitempty"`
	PlainObjective *float64 `json:"plain_objective,omitempty"`
}
