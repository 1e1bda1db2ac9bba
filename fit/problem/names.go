package problem

import (
	"errors"
	"strings"

	"gpfit/graph"
	"gpfit/internal/textform"
	"gpfit/mean"
)

// The parameters of a model have two names. In the graph and in model files the columns of the
// table have their indices, lengthscale[3], the indexed name. Reports, warnings and errors have
// their names, lengthscale[temp]. Options may give either. names.go translates.

// Names are the names of a table's features, and which of them are in use.
type Names struct {
	Features textform.Columns
	// Columns are the features in use.
	Columns []int
	labels  []string // of the features
}

// label returns the displayed name of a column in use.
func (n *Names) label(column int) string { return n.labels[n.Columns[column]] }

// Display returns the displayed form of an indexed name.
func (n *Names) Display(indexed string) string {
	if group, ok := strings.CutPrefix(indexed, graph.NoiseVariance+"["); ok {
		return graph.NoiseName(textform.QuoteName(strings.TrimSuffix(group, "]")))
	}
	return textform.Display(indexed, n.labels)
}

// indexed returns the indexed form of a name in an option. A name that is none stays.
func (n *Names) indexed(name string) string {
	if base, label, ok := textform.Unquoted(name); ok && base == graph.NoiseVariance {
		return graph.NoiseName(label)
	}
	return n.Features.Indexed(name)
}

// named returns an error about the basis of a mean with the names of columns in place of indices.
func (n *Names) named(err error) error {
	rank, ok := errors.AsType[*mean.RankError](err)
	if !ok {
		return err
	}
	named := *rank
	named.Name, named.Of = n.Display(rank.Name), nil
	for _, name := range rank.Of {
		named.Of = append(named.Of, n.Display(name))
	}
	return &named
}
