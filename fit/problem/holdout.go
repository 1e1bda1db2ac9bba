package problem

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gpfit/gp"
	"gpfit/internal/matrixrows"
	"gpfit/table/feature"
)

// holdOut marks the rows that the options hold out, and describes them for the model.
// With Data.Group it draws whole groups, and HoldOut counts groups.
func (o Options) holdOut(d Data) (Data, *gp.HeldOut, error) {
	if err := CheckHoldOut(o.HoldOut); err != nil {
		return d, nil, OptionErrorf("holdout", strconv.FormatFloat(o.HoldOut, 'g', -1, 64), "%v", err)
	}
	if (o.Blocks || o.HoldOutLast) && d.Group != nil {
		return d, nil, OptionErrorf(map[bool]string{true: "blocks", false: "holdout"}[o.Blocks], "", "cannot be combined with option group: rows stay together either by their order or by a column")
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
		return d, nil, OptionErrorf("holdout", o.holdOutText(), "holds out all of the %d %s: nothing is left to train on", len(units), what)
	}
	held := &gp.HeldOut{Of: o.HoldOut, Seed: o.Settings.Seed, Group: d.GroupColumn, Blocks: o.Blocks || o.HoldOutLast}
	time := -1
	if o.HoldOutLast {
		time = d.timeFeature()
	}
	switch {
	case time >= 0:
		held.By, units = d.Names()[time], d.latest(time, count)
		if len(units) > count {
			d.Warnings = append(slices.Clip(d.Warnings), fmt.Sprintf("option holdout takes %d rows in place of %d: rows of equal %s stay together", len(units), count, held.By))
		}
	case o.HoldOutLast && !o.Blocks:
		d.Warnings = append(slices.Clip(d.Warnings), "option holdout takes the last rows of the table: it has several columns, and none of them orders the rows")
		fallthrough
	case o.Blocks:
		units = units[len(units)-count:]
	default:
		units = matrixrows.Draw(units, count, o.Settings.Seed, holdOutStream)
	}
	if held.Blocks {
		held.Seed = 0
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
		return d, nil, OptionErrorf("holdout", o.holdOutText(), "leaves %d of the %d rows, but a fit needs at least 2 training rows", left, d.N)
	}
	return d, held, nil
}

// timeFeature returns the feature that orders the rows: the only one that varies, or else the only date, or the first one that
// rises from every row of the table to the next; −1 without one.
func (d Data) timeFeature() int {
	var varying, dates []int
	for k, i := range d.Encoding.Sources() {
		if d.Encoding.Columns[i].Kind == feature.Date {
			dates = append(dates, k)
		}
	}
	for c := range d.D {
		if !constant(d.X, c, d.D) {
			varying = append(varying, c)
		}
	}
	switch {
	case len(varying) == 1:
		return varying[0]
	case len(dates) == 1:
		return dates[0]
	}
	if k := slices.IndexFunc(varying, d.rises); k >= 0 {
		return varying[k]
	}
	return -1
}

// rises reports whether a feature rises from every row of the table to the next.
func (d Data) rises(c int) bool {
	for i := 1; i < d.N; i++ {
		if !(d.X[i*d.D+c] > d.X[(i-1)*d.D+c]) {
			return false
		}
	}
	return true
}

// latest returns the last rows by a feature, at least count, of which all rows of equal times are there.
func (d Data) latest(time, count int) (rows [][]int) {
	times := make([]float64, d.N)
	for i := range times {
		times[i] = d.X[i*d.D+time]
	}
	from := slices.Sorted(slices.Values(times))[d.N-count]
	for i, at := range times {
		if at >= from {
			rows = append(rows, []int{i})
		}
	}
	return rows
}

// ParseHoldOut reads the text form of HoldOut, a number, or of HoldOut and HoldOutLast: "last:" and a number.
func ParseHoldOut(text string) (o Options, err error) {
	number, last := strings.CutPrefix(strings.TrimSpace(text), "last:")
	o.HoldOutLast = last
	switch o.HoldOut, err = strconv.ParseFloat(number, 64); {
	case err != nil || !(o.HoldOut >= 0):
		return o, errors.New("must be a nonnegative number: a share of the rows or a number of rows; or last: and such a number")
	case o.HoldOut == 0:
		return o, errors.New("holds out nothing: give a share or a number of rows, or no such option")
	}
	return o, CheckHoldOut(o.HoldOut)
}

// holdOutText is the text form of HoldOut and HoldOutLast.
func (o Options) holdOutText() string {
	return map[bool]string{true: "last:"}[o.HoldOutLast] + strconv.FormatFloat(o.HoldOut, 'g', -1, 64)
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
