// Package report makes the page of a model: how well it predicts, whether its intervals
// are right, what each column does, how the fit went, and what to do about it. [Page]
// collects everything; package internal/page lays it out and writes it.
package report

import (
	"context"
	"fmt"

	"gpfit/fit/summary"
	"gpfit/internal/page"
	"gpfit/internal/textform"
)

// Page collects the page of a model. Errors are those of predictions; a model without
// leave-one-out scores still has a page, which says why.
func Page(ctx context.Context, about Subject) (*page.Page, error) {
	s := &subject{Subject: about, model: about.Posterior.Whole()}
	if s.Record == nil {
		s.Record = &summary.ModelRecord{}
	}
	if s.Record.Report == nil {
		s.Record.Report = &summary.Report{}
	}
	for _, step := range []func(context.Context) error{s.score, s.rank, s.vary, s.split} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	p := &page.Page{Title: about.Name, Headline: s.headline(), About: s.about()}
	for _, section := range []func(*subject) (page.Section, error){
		findings, predictions, localExperts, relevantColumns, effects, terms, parameters, convergence, timeAndDevice, source,
	} {
		part, err := section(s)
		if err != nil {
			return nil, err
		}
		p.Sections = append(p.Sections, part)
	}
	return p, nil
}

// about says what the page is made from.
func (s *subject) about() string {
	m := s.model
	what := "Gaussian process"
	if s.local() {
		what = fmt.Sprintf("%d local experts, each a Gaussian process,", len(m.Experts.Centres))
	}
	text := fmt.Sprintf("%s with kernel %s on %s and %s of %s", what, m.KernelText(), textform.Counted(m.N(), "training row"), textform.Counted(len(m.Columns), "column"), s.table())
	if s.Record.Program != "" {
		text += ", by " + s.Record.Program
	}
	return text + "."
}
