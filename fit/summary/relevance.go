package summary

import (
	"fmt"

	"gpfit/internal/textform"
)

// ColumnRelevance says how much the predictions depend on a column of the table.
type ColumnRelevance struct {
	// Column is the name of the column; Index counts the features from 0.
	Column string `json:"column"`
	Index  int    `json:"index"`
	// Relevance is the standard deviation of the part of the predictions that the column takes part
	// in, in units of the targets' standard deviation; see [gp.Relevance].
	Relevance float64 `json:"relevance"`
	// Lengthscales are the kernel's lengthscales for this column, in units of the column
	// and in the order of the kernel's leaves. Leaves without a lengthscale add none.
	Lengthscales []float64 `json:"lengthscales,omitempty"`
	// NoEffect says so in words if the lengthscales are far beyond the range of the column.
	NoEffect string `json:"no_effect,omitempty"`
}

// Name returns the column as results write it.
func (c ColumnRelevance) Name() string {
	if c.Column == "" {
		return fmt.Sprintf("column %d", c.Index)
	}
	return textform.Printable(c.Column, mostName)
}

// mostName is the number of characters of a name that a table shows.
const mostName = 60
