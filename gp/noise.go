package gp

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gpfit/internal/suggest"
)

// Noise describes how noise differs between training rows. The zero value means one
// variance for all, Model.NoiseVariance.
type Noise struct {
	// Column is the table's column of known variances, in squared units of the
	// target; "" for none. They are added to the estimated variances.
	Column string `json:"column,omitempty"`
	// GroupColumn is the column of labels, Labels are the groups, and Variances
	// their estimated noise variances in scaled units. All are empty for a single
	// variance.
	GroupColumn string    `json:"group_column,omitempty"`
	Labels      []string  `json:"labels,omitempty"`
	Variances   []float64 `json:"variances,omitempty"`
}

func (z *Noise) validate() error {
	if len(z.Labels) != len(z.Variances) || (z.GroupColumn == "") != (len(z.Labels) == 0) {
		return fmt.Errorf("%d noise variances for %d groups of %q", len(z.Variances), len(z.Labels), z.GroupColumn)
	}
	for _, v := range z.Variances {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("invalid noise variance %v of a group", v)
		}
	}
	return nil
}

// RowNoise is what is known about the noise of rows to predict. The zero value
// means that nothing is known; predictions then use only the estimated variance.
type RowNoise struct {
	// Known holds the known variances of the rows, in squared units of the target;
	// nil if they are unknown.
	Known []float64
	// Group holds the rows' labels; nil if there are none.
	Group []string
	// DefaultGroup is the label of rows without one.
	DefaultGroup string
}

// NoiseError reports a row to predict whose noise is unknown or invalid.
type NoiseError struct {
	// Row is the index of the row, or −1 if no single row is at fault.
	Row int
	Msg string
}

func (e *NoiseError) Error() string {
	if e.Row < 0 {
		return e.Msg
	}
	return fmt.Sprintf("row %d (from 1): %s", e.Row+1, e.Msg)
}

// noises returns the noise variance of a new observation at n rows, in scaled
// units: the estimated variance of the row's group plus the row's known variance,
// if any. Errors are [*NoiseError].
func (m *Model) noises(n int, row RowNoise) ([]float64, error) {
	out := make([]float64, n)
	if row.Known != nil && len(row.Known) != n || row.Group != nil && len(row.Group) != n {
		return nil, fmt.Errorf("gp: %d known variances and %d groups for %d rows", len(row.Known), len(row.Group), n)
	}
	if row.Known != nil && m.Noise.Column == "" {
		return nil, fmt.Errorf("gp: the rows have known variances, but the model was fitted without them")
	}
	square := m.Scaling.YScale * m.Scaling.YScale
	for i := range out {
		v, err := m.groupVariance(i, row)
		if err != nil {
			return nil, err
		}
		if row.Known != nil {
			if !(row.Known[i] >= 0) || math.IsInf(row.Known[i], 0) {
				return nil, &NoiseError{i, fmt.Sprintf("the noise variance is %v, but must be a nonnegative number", row.Known[i])}
			}
			v += row.Known[i] / square
		}
		out[i] = v
	}
	return out, nil
}

// CheckNoise returns a [*NoiseError] if row lacks noise information that the
// prediction of n rows needs.
func (m *Model) CheckNoise(n int, row RowNoise) error {
	_, err := m.noises(n, row)
	return err
}

// groupVariance returns the estimated variance of a row.
func (m *Model) groupVariance(i int, row RowNoise) (float64, error) {
	if len(m.Noise.Labels) == 0 {
		return m.NoiseVariance, nil
	}
	g := -1
	if row.Group != nil {
		g = slices.Index(m.Noise.Labels, row.Group[i])
	}
	if g < 0 && row.DefaultGroup != "" {
		g = slices.Index(m.Noise.Labels, row.DefaultGroup)
	}
	if g >= 0 {
		return m.Noise.Variances[g], nil
	}
	unknown := func(label string) string {
		return fmt.Sprintf("the model has no noise group %q%s; its groups are %s", label, suggest.DidYouMean(label, m.Noise.Labels), strings.Join(m.Noise.Labels, ", "))
	}
	switch {
	case row.DefaultGroup != "":
		return 0, &NoiseError{-1, unknown(row.DefaultGroup)}
	case row.Group == nil:
		return 0, &NoiseError{-1, fmt.Sprintf("the model has a noise variance for each group of the column %q, but the rows have no groups; the model's groups are %s", m.Noise.GroupColumn, strings.Join(m.Noise.Labels, ", "))}
	}
	return 0, &NoiseError{i, unknown(row.Group[i])}
}

// diagonal returns the variances that are added to the diagonal of the training
// rows' kernel matrix.
func (m *Model) diagonal() []float64 {
	if m.TrainNoise == nil {
		return []float64{m.NoiseVariance + m.Jitter}
	}
	out := slices.Clone(m.TrainNoise)
	for i := range out {
		out[i] += m.Jitter
	}
	return out
}
