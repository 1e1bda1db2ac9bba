// Package dataset reads tables from files for fits and models. [Read] returns the data of a
// fit: features, one or several targets, known noise and the held-out rows. [OpenRows] reads
// the rows that a fitted model predicts for: its features, found by name, and the known noise
// of each row, in pieces, so that the table need not fit in memory.
package dataset

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/internal/hostmem"
	"gpfit/table"
	"gpfit/table/feature"
)

// Options configures [Read]. The zero value takes the last column as the target and
// all others as features. Give a column by its name or its index.
type Options struct {
	// Target is the target column. Targets are several target columns instead, which
	// share kernel and noise. NoTarget reads only the features.
	Target   string
	Targets  []string
	NoTarget bool
	// Features are the input columns, in this order: names, indices or ranges of
	// indices such as "0-3".
	Features []string
	// Exclude are columns that are neither inputs nor the last column that is the target by
	// default: names, indices or ranges. It excludes Features.
	Exclude []string
	// Header says whether the first row names the columns: auto, yes or no; empty means auto.
	Header string
	// Text says how text is written, and SkipLines which of its lines are no part of the table; see [table.Options].
	Text      feature.Text
	SkipLines string
	// Columns says how to read features that are not numbers.
	Columns feature.Rules
	// Encoding, unless nil, says how the columns of Features become the features, as in a
	// model; it replaces Columns. There must be as many as it has.
	Encoding *feature.Encoding
	// DropMissing leaves out rows with missing cells and warns. Otherwise the first
	// missing cell is an error.
	DropMissing bool
	// Subsample is the number of rows to draw at random with Seed, if the table has
	// more; 0 takes all rows.
	Subsample int
	Seed      uint64
	// NoiseColumn holds the known noise variance of each row, in squared units of the
	// target. NoiseGroup holds labels of rows that share an estimated variance.
	NoiseColumn, NoiseGroup string
	// WeightColumn holds weights, by which the estimated noise variance of a row is divided.
	WeightColumn string
	// Group holds labels of rows that stay together in hold-outs and folds.
	Group string
	// Each is a column of texts that is no input, whose values divide the rows among fits: Keep of the table has
	// it, and Gap the rows with missing values.
	Each string
	// Methods are those among which the rows find one that computes with them. The method that can
	// have the most rows bounds their number; nil means [device.Dense].
	Methods []device.Method
	// Mask is a table that has 1 for each held-out row and 0 for the others in its
	// column MaskColumn. The default is its only column.
	Mask, MaskColumn string
	// Formats are file formats besides text and NumPy, such as Parquet from package formats.
	Formats []table.Format
}

// Read reads the table at path: a file of any format that gpfit reads or several files, or text
// from stdin if path is "-". Errors of the table or mask name the file, line and column.
func Read(path string, stdin io.Reader, o Options) (problem.Data, error) {
	var mask []bool
	var err error
	if o.Mask != "" {
		if mask, err = o.ReadMask(path); err != nil {
			return problem.Data{}, err
		}
	}
	t, err := o.readTable(path, stdin, mask)
	if err != nil {
		return problem.Data{}, o.explain(err)
	}
	if mask != nil {
		if mask, err = table.SelectMask(o.Mask, mask, t); err != nil {
			return problem.Data{}, err
		}
	}
	d := o.Data(t)
	d.Row, d.Test = t.Row, mask
	if o.Targets == nil {
		return d, nil
	}
	return d, o.addTargets(&d, t)
}

// Data returns the data of a fit from a table of [Options.ReadTable], for one target and
// without held-out rows.
func (o *Options) Data(t *table.Table) problem.Data {
	reading := t.Reading
	d := problem.Data{X: t.X, Y: t.Y, N: t.N, D: t.D, FeatureNames: t.FeatureNames, Encoding: t.Encoding, TargetName: t.TargetName, Reading: &reading, Warnings: t.Warnings}
	if e := o.Encoding; e != nil {
		if d.FeatureNames = e.Features(); !e.AsIs() {
			d.Encoding = e
		}
	}
	if o.NoiseColumn != "" {
		d.NoiseVariance, d.NoiseColumn = t.Extra[o.NoiseColumn], o.NoiseColumn
	}
	if o.WeightColumn != "" {
		d.Weight, d.WeightColumn = t.Extra[o.WeightColumn], o.WeightColumn
	}
	if o.NoiseGroup != "" {
		d.NoiseGroup, d.NoiseGroupColumn = t.ExtraText[o.NoiseGroup], o.NoiseGroup
	}
	if o.Group != "" {
		d.Group, d.GroupColumn = t.ExtraText[o.Group], o.Group
	}
	return d
}

// columns returns the options for reading the table at path.
func (o *Options) columns(path string) table.Options {
	c := table.Options{
		Target: o.Target, Targets: o.Targets, NoTarget: o.NoTarget, Features: o.Features, Exclude: o.Exclude, Header: table.HeaderMode(o.Header), Text: o.Text, SkipLines: o.SkipLines,
		Subsample: o.Subsample, Seed: o.Seed, Formats: o.Formats, Columns: &o.Columns,
	}
	if e := o.Encoding; e != nil {
		c.Columns, c.Encoding = nil, func(int) ([]feature.Coding, error) { return e.Columns, nil }
	}
	if o.Subsample == 0 {
		c.MaxRows = device.MaxRows(o.Methods, hostmem.Free())
	}
	if o.DropMissing {
		c.Missing = table.MissingDrop
	}
	if o.Each != "" {
		c.Keep, c.Missing, c.MaxRows = []string{o.Each}, table.MissingMark, 0
		if len(o.Features) == 0 {
			c.Exclude = append(slices.Clip(c.Exclude), o.Each)
		}
	}
	if o.Mask == path && o.MaskColumn != "" {
		// A mask inside the table is not an input.
		c.Extra = append(c.Extra, o.MaskColumn)
	}
	for _, numbers := range []string{o.NoiseColumn, o.WeightColumn} {
		if numbers != "" {
			c.Extra = append(c.Extra, numbers)
		}
	}
	for _, labels := range []string{o.NoiseGroup, o.Group} {
		if labels != "" {
			c.ExtraText = append(c.ExtraText, labels)
		}
	}
	return c
}

// ReadMask reads the mask of the table at path. Another file than the table has its own header and
// decimal sign.
func (o *Options) ReadMask(path string) ([]bool, error) {
	how := table.Options{Text: feature.Text{TextEncoding: o.Text.TextEncoding}, Formats: o.Formats}
	if o.Mask == path {
		how = o.columns(path)
	}
	return table.ReadMask(o.Mask, o.MaskColumn, how)
}

// ReadTable reads the columns of the options from the table at path, or from stdin if path
// is "-". It does not read a mask in another file.
func (o *Options) ReadTable(path string, stdin io.Reader) (*table.Table, error) {
	return o.readTable(path, stdin, nil)
}

// readTable is ReadTable for a table with held-out rows, which a subsample keeps.
func (o *Options) readTable(path string, stdin io.Reader, held []bool) (*table.Table, error) {
	columns := o.columns(path)
	columns.Whole = held
	if path == "-" {
		return table.ReadFrom(stdin, "-", columns)
	}
	return table.Read(path, columns)
}

// explain gives an error about a category that the encoding of a model does not have the
// advice of a fit.
func (o *Options) explain(err error) error {
	var e *table.Error
	if o.Encoding == nil || !errors.As(err, &e) {
		return err
	}
	if msg, _, ok := strings.Cut(e.Msg, "; option unseen"); ok {
		e.Msg = fmt.Sprintf("%s; option categories %s reads the column again, with its own categories", msg, e.ColumnName)
	}
	return err
}

// addTargets fills in several targets. A row with a missing target is an error. With
// DropMissing, addTargets leaves the row out of d and adds a warning.
func (o *Options) addTargets(d *problem.Data, t *table.Table) error {
	d.TargetName, d.TargetNames = "", t.TargetNames
	var keep []int
	for i := range t.N {
		gap := -1
		for q := range t.Missing {
			if t.Missing[q][i] {
				gap = q
			}
		}
		switch {
		case gap < 0:
			keep = append(keep, i)
		case !o.DropMissing:
			return &table.Error{Source: t.Source, Line: t.Line[i], ColumnName: t.TargetNames[gap],
				Msg: fmt.Sprintf("the target %q is missing; option missing drop leaves such rows out", t.TargetNames[gap])}
		}
	}
	d.Y = slices.Concat(t.Targets...)
	if dropped := t.N - len(keep); dropped > 0 {
		*d = d.Rows(keep)
		d.Warnings = append(d.Warnings, fmt.Sprintf("left out %d of %d rows: a target is missing", dropped, t.N))
		d.Reading.Dropped += dropped
	}
	return nil
}
