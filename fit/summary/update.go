package summary

import (
	"encoding/json"
	"fmt"
	"strings"

	"gpfit/gp"
)

// Limits of a model that needs no new parameters. A deviance with a smaller two-sided
// p-value comes by chance once in a thousand updates. With half as many rows again, the
// standard errors of the parameters are smaller by a fifth.
const (
	leastPValue = 1e-3
	mostGrowth  = 1.5
)

// NewUpdateReport reports the step from a model to the one with more rows.
func NewUpdateReport(before, after *gp.Model, e *gp.Extension) (*UpdateReport, error) {
	record, err := ReadRecord(before.Record)
	if err != nil {
		return nil, err
	}
	r := &UpdateReport{
		Type: "update", SchemaVersion: SchemaVersion, N: after.N(), Added: after.N() - before.N(), Extended: e.Extended,
		NLMLBefore: before.NLML, NLML: after.NLML, Advice: []string{}, Warnings: []string{},
	}
	if record != nil && record.Report != nil {
		r.Tuned = record.Report.N
		for _, u := range record.Updates {
			if u.Retuned {
				r.Tuned = u.N
			}
		}
	}
	r.NewRows = e.Targets
	for _, s := range r.NewRows {
		if s.PValue < leastPValue {
			size := "larger"
			if s.Deviance < float64(r.Added) {
				size = "smaller"
			}
			r.Advice = append(r.Advice, fmt.Sprintf("the errors of the new rows of %s are %s than the model expects: the deviance is %.3g, where %d is expected (p = %.2g)", s.Name, size, s.Deviance, r.Added, s.PValue))
		}
	}
	if r.Tuned > 0 && float64(r.N) > mostGrowth*float64(r.Tuned) {
		r.Advice = append(r.Advice, fmt.Sprintf("the parameters were tuned on %d rows, and the model has %d now", r.Tuned, r.N))
	}
	return r, nil
}

// UpdatedRecord returns the record of a model after an update: the one of the fit, with
// the report of the update.
func UpdatedRecord(before json.RawMessage, r *UpdateReport) (json.RawMessage, error) {
	record, err := ReadRecord(before)
	if err != nil {
		return nil, err
	}
	if record == nil {
		record = &ModelRecord{SchemaVersion: SchemaVersion}
	}
	record.Updates = append(record.Updates, *r)
	record.Text = strings.TrimSuffix(record.Text, "\n") + "\n\n" + r.Text()
	return json.MarshalIndent(record, "", "  ")
}
