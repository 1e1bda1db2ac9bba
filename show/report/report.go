// Package report makes the page of a model: how well it predicts, whether its intervals
// are right, what each column does, how the fit went, and what to do about it. [Page]
// collects everything; package show/page lays it out and writes it.
package report

import (
	"context"
	"fmt"

	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/textform"
	"gpfit/method/experts"
	"gpfit/show/page"
)

// panel is a section of the page.
type panel interface {
	// section computes what the section shows. It is empty if the model has nothing to show there.
	section(ctx context.Context) (page.Section, error)
}

// panels returns the sections in their order.
func (s *subject) panels() []panel {
	return []panel{
		&findings{subject: s}, &predictions{s}, &localExperts{s}, &series{s}, &relevantColumns{s}, &effects{s}, &surface{s},
		&whatIf{s}, &terms{s}, &parameters{s}, &convergence{s}, &timeAndDevice{s}, &source{s},
	}
}

// Subject is the model of a page, with the rows to score.
type Subject struct {
	// Name is the name of the model, for the title.
	Name string
	// Posterior is the model on its data.
	Posterior *gp.Posterior
	// Record says how the model was fitted; nil if that is unknown.
	Record *summary.ModelRecord
	// Rows are rows to score, with their predictions for each target. Without them, the
	// scores come from leave-one-out.
	Rows *Scored
	// Threads is the number of threads for work on the host, 0 for all.
	Threads int
}

// subject is a Subject with what several panels need.
type subject struct {
	Subject
	model *gp.Model
	// experts says how local experts divide the rows; nil without.
	experts *experts.Partition
	// fit is the report of the fit, empty if that is unknown.
	fit *summary.Report
	scored
	columns
}

// newSubject completes a subject, but for its scores and columns.
func newSubject(about Subject) (*subject, error) {
	m := about.Posterior.Whole()
	divided, err := experts.Read(m.State)
	s := &subject{Subject: about, model: m, experts: divided}
	if s.Record == nil {
		s.Record = &summary.ModelRecord{}
	}
	if s.fit = s.Record.Report; s.fit == nil {
		s.fit = &summary.Report{}
	}
	return s, err
}

// Page collects the page of a model. It returns errors of predictions; a model without
// leave-one-out scores still has a page, which says why.
func Page(ctx context.Context, about Subject) (*page.Page, error) {
	s, err := newSubject(about)
	if err != nil {
		return nil, err
	}
	if s.scored, err = scoresOf(ctx, s); err != nil {
		return nil, err
	}
	if s.columns, err = findColumns(ctx, s); err != nil {
		return nil, err
	}
	p := &page.Page{Title: about.Name, Headline: s.headline(), About: s.about()}
	if next := s.verdict.Next; next != nil {
		p.Command = page.WithoutFolders(next.Command, s.Record.Data)
	}
	for _, one := range s.panels() {
		section, err := one.section(ctx)
		if err != nil {
			return nil, err
		}
		p.Sections = append(p.Sections, section)
	}
	return p, nil
}

// about says what the page is made from.
func (s *subject) about() string {
	m, what, table := s.model, "Gaussian process", "its table"
	if s.experts != nil {
		what = fmt.Sprintf("%d local experts, each a Gaussian process,", len(s.experts.Centres))
	}
	if s.Record.Data != "" && s.Record.Data != "-" {
		table = baseName(s.Record.Data)
	}
	text := fmt.Sprintf("%s with kernel %s on %s and %s of %s", what, m.KernelText(), textform.Counted(m.N(), "training row"), textform.Counted(len(m.Columns), "column"), table)
	if s.Record.Program != "" {
		text += ", by " + s.Record.Program
	}
	return text + "."
}

// each returns the targets.
func (s *subject) each() (out []ofTarget) {
	names := s.model.TargetNames()
	for _, name := range names {
		out = append(out, ofTarget{name, len(names) > 1})
	}
	return out
}

// ofTarget says which target something belongs to, of one or several.
type ofTarget struct {
	target  string
	several bool
}

// named returns text with the name of the target in front if there are several.
func (t ofTarget) named(text string) string {
	if t.several {
		return t.target + ": " + text
	}
	return text
}
