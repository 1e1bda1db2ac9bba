package problem

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"gpfit/gp"
	"gpfit/internal/matrixrows"
)

// holdOut marks the rows that the options hold out, and describes them for the model.
// With Data.Group it draws whole groups, and HoldOut counts groups.
func (o Options) holdOut(d Data) (Data, *gp.HeldOut, error) {
	if err := CheckHoldOut(o.HoldOut); err != nil {
		return d, nil, OptionErrorf("holdout", strconv.FormatFloat(o.HoldOut, 'g', -1, 64), "%v", err)
	}
	if o.Blocks && d.Group != nil {
		return d, nil, OptionErrorf("blocks", "", "cannot be combined with option group: rows stay together either by their order or by a column")
	}
	if o.HoldOut == 0 {
		return d, nil, nil
	}
	if d.Test != nil {
		return d, nil, OptionErrorf("holdout", "", "cannot be combined with a split mask, which names the held-out rows")
	}
	units, what := unitsOf(d.N, d.Group), "rows"
	if d.Group != nil {
		what = "groups"
	}
	count := int(o.HoldOut)
	if o.HoldOut < 1 {
		count = max(1, int(math.Round(o.HoldOut*float64(len(units)))))
	}
	if count >= len(units) {
		return d, nil, OptionErrorf("holdout", strconv.FormatFloat(o.HoldOut, 'g', -1, 64), "holds out all of the %d %s: nothing is left to train on", len(units), what)
	}
	held := &gp.HeldOut{Of: o.HoldOut, Seed: o.Settings.Seed, Group: d.GroupColumn, Blocks: o.Blocks}
	if o.Blocks {
		units, held.Seed = units[len(units)-count:], 0
	} else {
		units = matrixrows.Draw(units, count, o.Settings.Seed, holdOutStream)
	}
	d.Test = make([]bool, d.N)
	for _, row := range slices.Concat(units...) {
		d.Test[row] = true
	}
	for row, out := range d.Test {
		if out {
			held.Rows = append(held.Rows, d.RowNumber(row))
		}
	}
	if left := d.N - len(held.Rows); left < 2 {
		return d, nil, OptionErrorf("holdout", strconv.FormatFloat(o.HoldOut, 'g', -1, 64), "leaves %d of the %d rows, but a fit needs at least 2 training rows", left, d.N)
	}
	return d, held, nil
}

// CheckHoldOut returns an error for a value of Options.HoldOut that no table can have.
func CheckHoldOut(h float64) error {
	if !(h >= 0) || h > 1<<53 || h >= 1 && h != math.Trunc(h) {
		return errors.New("must be a share of the rows, less than 1, or a whole number of rows")
	}
	return nil
}

// holdOutStream separates the random numbers of hold-outs from others of the same seed.
const holdOutStream = 0x686f6c646f7574
