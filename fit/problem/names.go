package problem

import (
	"strings"

	"gpfit/graph"
	"gpfit/internal/textform"
)

// The parameters of a model have two names. In the graph and in model files the columns of the
// table have their indices, lengthscale[3], the indexed name. Reports, warnings and errors have
// their names, lengthscale[temp]. Options may give either. names.go translates.

// Names returns the names of the features.
func (s *Sample) Names() textform.Columns { return s.Data.FeatureNames }

// label returns the displayed name of a column in use.
func (s *Sample) label(column int) string { return s.labels[s.Columns[column]] }

// Display returns the displayed form of an indexed name.
func (s *Sample) Display(indexed string) string {
	if label, ok := noiseLabel(indexed); ok {
		return graph.NoiseName(textform.QuoteName(label))
	}
	return textform.Display(indexed, s.labels)
}

// indexed returns the indexed form of a name in an option. A name that is none stays.
func (s *Sample) indexed(name string) string {
	if base, label, ok := textform.Unquoted(name); ok && base == graph.NoiseVariance {
		return graph.NoiseName(label)
	}
	return s.Names().Indexed(name)
}

// noiseLabel returns the label in the indexed name of the noise variance of a group.
func noiseLabel(indexed string) (label string, ok bool) {
	rest, ok := strings.CutPrefix(indexed, graph.NoiseVariance+"[")
	return strings.TrimSuffix(rest, "]"), ok
}
