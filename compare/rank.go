package compare

import (
	"cmp"
	"math"
	"slices"

	"gpfit/fit/summary"
	"gpfit/internal/matrixrows"
	"gpfit/internal/score"
)

// Seconds is the time of all fits and predictions.
func (e *Ranked) Seconds() float64 { return e.FitSeconds + e.PredictSeconds }

// ranking returns the entries of a size, 0 for all rows, the best first. If an interruption
// left folds undone, the folds that all methods have count, or else the folds of the methods that
// have the first fold.
func (r *runner) ranking(size int) []Ranked {
	var of []Trial
	for _, t := range r.trials {
		if t.Size == size {
			of = append(of, t)
		}
	}
	complete := r.completeFolds(of)
	var entries []Ranked
	for _, e := range r.entrants {
		entries = append(entries, r.entry(e.name, of, max(1, complete)))
	}
	p := r.pairing(complete)
	r.opts.RankBy.sort(entries)
	for i := range entries {
		e := &entries[i]
		if e.Status != Done {
			continue
		}
		e.Rank = i + 1
		if by := r.opts.RankBy; i > 0 && by.of(e) != nil && by.of(&entries[0]) != nil {
			e.Difference = p.difference(r.losses(e), r.losses(&entries[0]))
		}
	}
	return entries
}

// completeFolds counts the folds, from the first, that every method has that did not fail.
func (r *runner) completeFolds(of []Trial) int {
	failed, scored := map[string]bool{}, map[string]int{}
	for i := range of {
		if of[i].done() {
			scored[of[i].Method]++
		} else {
			failed[of[i].Method] = true
		}
	}
	complete := len(r.folds)
	for _, e := range r.entrants {
		if !failed[e.name] {
			complete = min(complete, scored[e.name])
		}
	}
	return complete
}

// entry pools the scores of a method over the first folds.
func (r *runner) entry(method string, of []Trial, folds int) Ranked {
	e := Ranked{Method: method, Status: Done}
	learned, squares := 0, 0.0
	for i := range of {
		t := &of[i]
		switch {
		case t.Method != method:
			continue
		case t.Status == Failed:
			return Ranked{Method: method, Status: Failed, Error: t.Error}
		case t.Fold > folds:
			continue
		}
		e.Folds++
		if t.TrainingRMSE != nil {
			learned, squares = learned+t.Train, squares+float64(t.Train)**t.TrainingRMSE**t.TrainingRMSE
		}
		e.rows.add(t.rows)
		e.FitSeconds, e.PredictSeconds = e.FitSeconds+t.FitSeconds, e.PredictSeconds+t.PredictSeconds
	}
	if e.Folds < folds {
		return Ranked{Method: method, Status: Unfinished}
	}
	e.Rows = len(e.rows.misses)
	e.RMSE, e.NLPD, e.Coverage95 = e.rows.scores()
	if learned > 0 {
		e.TrainingRMSE = summary.Finite(math.Sqrt(squares / float64(learned)))
	}
	e.RMSEStandardized = summary.Finite(*e.RMSE / r.scale())
	if e.NLPD != nil {
		e.NLPDStandardized = summary.Finite(*e.NLPD - math.Log(r.scale()))
	}
	return e
}

// scale is the standard deviation of the targets that the methods learn from.
func (r *runner) scale() float64 {
	y := r.data.Y
	if r.split.Folds == 0 {
		y = matrixrows.Values(y, r.folds[0].train)
	}
	return score.Deviation(y)
}

// of returns the score of an entry, nil without one.
func (by RankBy) of(e *Ranked) *float64 {
	if by == ByNLPD {
		return e.NLPD
	}
	return e.RMSE
}

// sort orders entries by the score. Methods without it come later, by their RMSE, and
// methods without any score last.
func (by RankBy) sort(entries []Ranked) {
	place := func(e *Ranked) int {
		switch {
		case e.Status != Done:
			return 2
		case by.of(e) == nil:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(entries, func(a, b Ranked) int {
		switch order := cmp.Compare(place(&a), place(&b)); {
		case order != 0 || place(&a) == 2:
			return order
		case place(&a) == 1:
			return cmp.Compare(*a.RMSE, *b.RMSE)
		}
		return cmp.Compare(*by.of(&a), *by.of(&b))
	})
}

// losses returns what the rows of an entry add to the deciding score.
func (r *runner) losses(e *Ranked) losses {
	if r.opts.RankBy == ByNLPD {
		return losses{values: e.rows.densities}
	}
	l := losses{root: true}
	for _, miss := range e.rows.misses {
		l.values = append(l.values, miss*miss)
	}
	return l
}

// pairing describes the rows of the first folds, in the order of their scores.
func (r *runner) pairing(complete int) pairing {
	p := pairing{folds: r.split.Folds, blocks: r.split.Blocks}
	for k, f := range r.folds[:max(1, complete)] {
		for _, i := range f.test {
			p.fold = append(p.fold, k)
			if r.data.Group != nil {
				p.group = append(p.group, r.data.Group[i])
			}
		}
	}
	return p
}
