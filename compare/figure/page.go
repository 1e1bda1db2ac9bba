package figure

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"gpfit/compare"
	"gpfit/fit/fields"
	"gpfit/internal/textform"
	"gpfit/show/page"
	"gpfit/show/plotting"
)

// Page returns the page of a comparison: its verdict, its tables and the pictures that there are. date is the same as in [Fits].
func Page(r *compare.Result, title string, date func(x float64) time.Time) (*page.Page, error) {
	p := &page.Page{Title: title, About: fmt.Sprintf("%d rows, %s, target %s; %s; ranked by %s.", r.N, textform.Counted(len(r.Features), "column"), r.Target, r.Split, strings.ToUpper(string(r.RankBy)))}
	if r.Verdict != "" {
		p.Headline = append(p.Headline, r.Verdict+".")
	}
	if r.Best != nil {
		p.Headline = append(p.Headline, "The best method is "+r.Best.Headline+".")
	}
	tables := r.Tables()
	methods := page.Section{Title: "Methods", Tables: tables[:1], Notes: r.Notes()}
	sizes := page.Section{Title: "By the number of training rows", Tables: tables[1:]}
	failed := fields.Table{Caption: "failed", Heads: append(fields.Words("method"), fields.Head{Text: "error", Words: true, Wrap: true})}
	for _, e := range r.Methods {
		if e.Status == compare.Failed {
			failed.Add(e.Method, e.Error).Bad = true
		}
	}
	methods.Tables = append(methods.Tables, fields.Filled(failed)...)
	for _, part := range []struct {
		section *page.Section
		draw    func() (*plotting.Figure, error)
	}{
		{&methods, func() (*plotting.Figure, error) { return Fits(r, date) }},
		{&methods, func() (*plotting.Figure, error) { return Errors(r) }},
		{&sizes, func() (*plotting.Figure, error) { return Growth(r) }},
	} {
		f, err := part.draw()
		if errors.Is(err, ErrNothing) {
			continue
		}
		for k := 0; err == nil && k < len(f.Charts); k++ {
			caption := cmp.Or(f.Charts[k].Title, f.Title)
			err = part.section.Draw(caption, caption, page.Square, f.Charts[k])
		}
		if err != nil {
			return nil, err
		}
	}
	p.Sections = []page.Section{methods, sizes}
	return p, nil
}
