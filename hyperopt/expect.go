package hyperopt

// Expectation says about how many values a stage takes.
type Expectation struct {
	// Rows is the number of rows of the stage.
	Rows int
	// Values counts the values of all starts, most of them with a gradient.
	Values int
}

// Typical numbers of values of a descent: from start values, over all rows, a number and
// one more for each parameter; on few rows, with loose tolerances; and from the optimum of
// half as many rows, with loose or final tolerances. Fits of the CO₂ data with 3, 5 and 6
// parameters take 24, 44 and 40 values; of 3,000 rows with 3 and 5 parameters, in stages,
// 16, 4 and 8, and 18, 10 and 11.
const (
	typicalAlone, typicalPerParameter            = 10, 6
	typicalFirst, typicalFurther, typicalOverAll = 18, 8, 11
)

// Expected returns the stages of a run with these settings over a number of rows, for a
// number of parameters that are not fixed. The last stage has all rows. The numbers are
// for reports of progress; a run may take twice as many.
func Expected(s Settings, rows, free int) []Expectation {
	t := &tuner{Settings: s, rows: rows, free: free}
	t.starts = make([][]float64, t.startCount())
	finals, alone := t.finals(), typicalAlone+typicalPerParameter*free
	check := 0
	if s.Coarse == CoarseCheck {
		check = alone
	}
	if t.halved() {
		return []Expectation{{(rows + 1) / 2, halfEvaluations * len(t.starts)},
			{rows, len(t.starts) + alone + typicalOverAll*(finals-1) + check}}
	}
	sizes := t.stageSizes()
	if len(sizes) == 0 {
		return []Expectation{{rows, alone * finals}}
	}
	out := []Expectation{{sizes[0], typicalFirst * len(t.starts)}}
	for _, m := range sizes[1:] {
		out = append(out, Expectation{m, typicalFurther * finals})
	}
	return append(out, Expectation{rows, typicalOverAll*finals + check})
}
