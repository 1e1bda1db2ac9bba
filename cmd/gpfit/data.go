package main

import (
	"io"

	"gpfit/fit"
	"gpfit/internal/table"
)

// tableOptions turns the flags into the reader's options.
func (f *dataFlags) tableOptions() (table.Options, error) {
	o := table.Options{Target: f.target, Features: f.features, Subsample: f.subsample, Seed: f.seed}
	switch f.header {
	case "auto":
	case "yes":
		o.Header = table.HeaderYes
	case "no":
		o.Header = table.HeaderNo
	default:
		return o, usagef("--header %q: must be auto, yes or no", f.header)
	}
	switch f.missing {
	case "", "error":
	case "drop":
		o.Missing = table.MissingDrop
	default:
		return o, usagef("--missing %q: must be error or drop", f.missing)
	}
	if f.subsample < 0 {
		return o, usagef("--subsample %d: must not be negative", f.subsample)
	}
	return o, nil
}

// readTable reads a table, or standard input for "-".
func readTable(path string, stdin io.Reader, o table.Options) (*table.Table, error) {
	if path == "-" {
		return table.ReadFrom(stdin, "-", o)
	}
	return table.Read(path, o)
}

// readData reads a training table and, unless maskFlag is empty, its split
// mask.
func readData(path string, stdin io.Reader, flags *dataFlags, maskFlag string) (fit.Data, error) {
	o, err := flags.tableOptions()
	if err != nil {
		return fit.Data{}, err
	}
	var file, column string
	var mask []bool
	if maskFlag != "" {
		if file, column, err = table.ParseMaskFlag(maskFlag); err != nil {
			return fit.Data{}, usagef("--split-mask: %v", err)
		}
		if mask, err = table.ReadMask(file, column); err != nil {
			return fit.Data{}, err
		}
		if file == path && column != "" {
			// A mask inside the table is no input.
			o.Extra = append(o.Extra, column)
		}
	}
	flags.noise.tableOptions(&o)
	if o.Targets = flags.targets(); o.Targets != nil {
		o.Target = ""
	}
	t, err := readTable(path, stdin, o)
	if err != nil {
		return fit.Data{}, err
	}
	if mask != nil && t.Row != nil {
		if mask, err = table.SelectMask(file, mask, t); err != nil {
			return fit.Data{}, err
		}
	}
	d := fit.Data{X: t.X, Y: t.Y, N: t.N, D: t.D, FeatureNames: t.FeatureNames, TargetName: t.TargetName, Row: t.Row, Test: mask, Warnings: t.Warnings}
	flags.noise.data(&d, t)
	return d, several(&d, t, flags.missing == "drop")
}
