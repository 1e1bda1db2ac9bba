package summary

import (
	"fmt"
	"slices"
	"strings"
)

// ModelChoice says how a fit chose kernel and mean.
type ModelChoice struct {
	// Rows is the number of training rows on which the models were tuned and compared.
	Rows int `json:"rows"`
	// Models lists what was compared, the chosen one first and then by BIC.
	Models []ChosenModel `json:"models"`
	// LeftOut names the columns that a linear mean did not include because they are linear
	// combinations of others.
	LeftOut []string `json:"left_out,omitempty"`
	// Screened says which columns the compared kernels with ard have; nil if they have all.
	Screened *Screened `json:"screened,omitempty"`
	// TooLarge lists the kernels that were not compared, because on all rows they need more memory than
	// is free.
	TooLarge []string `json:"too_large,omitempty"`
	// TooDear lists kernels that were not compared, because for this series they cost more than twenty times as much as others.
	TooDear []string `json:"too_dear,omitempty"`
	// Transform says which transform was compared with the models; nil if none was. Report.TargetTransform has it in JSON.
	Transform *TransformReport `json:"-"`
}

// Screened says which columns explain the targets of a table with many.
type Screened struct {
	Columns []string `json:"columns"`
	// Of is the number of all columns in use.
	Of int `json:"of"`
}

// ChosenModel is a model that a choice compared.
type ChosenModel struct {
	Kernel string `json:"kernel"`
	Mean   string `json:"mean"`
	// Parameters counts what was fitted, with coefficients of the mean.
	Parameters int `json:"parameters"`
	// Objective is the minimum over ModelChoice.Rows rows. BIC is p·log n + 2·objective·n/rows for p
	// parameters and all n rows (Schwarz, Annals of Statistics 6, 1978).
	Objective float64 `json:"objective"`
	BIC       float64 `json:"bic"`
}

// Numbers of other models and of columns in a sentence.
const shownModels, shownColumns = 3, 10

// meanText names what a mean has besides a constant.
func meanText(mean string) string {
	var parts []string
	if strings.HasPrefix(mean, "linear") {
		parts = append(parts, "a linear mean")
	}
	switch {
	case strings.Contains(mean, "by="):
		parts = append(parts, "changing seasons")
	case strings.Contains(mean, "seasonal("):
		parts = append(parts, "seasons")
	}
	if parts == nil {
		return ""
	}
	return " with " + strings.Join(parts, " and ")
}

// Text returns what was chosen, what it beat and by how much.
func (c *ModelChoice) Text() string {
	what := "the lowest BIC"
	if slices.ContainsFunc(c.Models, func(m ChosenModel) bool { return m.BIC < c.Models[0].BIC }) {
		what = "a level, because a line gains next to nothing, and else the lowest BIC"
	}
	text := fmt.Sprintf("%s of %d models, tuned on %d rows", what, len(c.Models), c.Rows)
	var others []string
	for i, m := range c.Models {
		mean := meanText(m.Mean)
		if i == 0 {
			if mean != "" {
				text += ", is this kernel" + mean
			}
			continue
		}
		others = append(others, fmt.Sprintf("%s%s (+%.1f)", m.Kernel, mean, m.BIC-c.Models[0].BIC))
	}
	if more := len(others) - shownModels; more > 0 {
		others = append(others[:shownModels], fmt.Sprintf("%d more", more))
	}
	if others != nil {
		text += "; next are " + strings.Join(others, ", ")
	}
	if c.LeftOut != nil {
		text += "; the linear mean leaves out " + strings.Join(c.LeftOut, ", ") + ", which the other columns give"
	}
	if s := c.Screened; s != nil {
		names := s.Columns
		if more := len(names) - shownColumns; more > 0 {
			names = append(slices.Clone(names[:shownColumns]), fmt.Sprintf("%d more", more))
		}
		text += fmt.Sprintf("; kernels with ard have %d of the %d columns, which explained the target best on these rows, so that leave-one-out flatters them: %s", len(s.Columns), s.Of, strings.Join(names, ", "))
	}
	if c.TooLarge != nil {
		text += "; not compared, because they need too much memory on all rows: " + strings.Join(c.TooLarge, ", ")
	}
	if c.TooDear != nil {
		text += "; not compared, because they take more than twenty times as long on this series: " + strings.Join(c.TooDear, ", ")
	}
	return text
}
