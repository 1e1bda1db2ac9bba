package flags

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/fit"
	"gpfit/fit/dataset"
	"gpfit/gp"
	"gpfit/gp/rows"
	"gpfit/table"
	"gpfit/table/parquet"
)

// Formats are the formats of tables that the command reads beside text and NumPy's.
func Formats() []table.Format { return []table.Format{parquet.Format()} }

// DataFlags say how a training table is read. Its Seed is that of everything random
// in a command.
type DataFlags struct {
	dataset.Options
	missing, mask string
}

// Add declares the flags.
func (f *DataFlags) Add(s *pflag.FlagSet) {
	s.StringVar(&f.Target, "target", "", "column of the targets, by `NAME` or index (default: the last); several with commas share kernel and noise")
	s.StringSliceVar(&f.Features, "features", nil, "columns of the inputs: `NAMES`, indices or ranges such as 0-3 (default: all others)")
	addHeader(s, &f.Header)
	Choice(s, &f.missing, "missing", "error", "rows with empty, NaN or NA cells in a column that is used: error, or drop and say how many", "error", "drop")
	s.IntVar(&f.Subsample, "subsample", 0, "take `N` rows, drawn at random by --seed, if there are more (default: all)")
	s.Uint64Var(&f.Seed, "seed", 1, "seed of everything random: --subsample, --restarts")
}

func addHeader(s *pflag.FlagSet, header *string) {
	Choice(s, header, "header", "auto", "whether the first row names the columns: %s", "auto", "yes", "no")
}

// AddSplitMask declares the flag of rows that are held out.
func (f *DataFlags) AddSplitMask(s *pflag.FlagSet) {
	s.StringVar(&f.mask, "split-mask", "", "`FILE[:COL]` with a row of 0 or 1 for each row of DATA: rows marked 1 are held out and scored; COL is a name or index")
}

// addNoise declares the flags of the columns that tell of the noise.
func (f *DataFlags) addNoise(s *pflag.FlagSet) {
	s.StringVar(&f.NoiseColumn, "noise-column", "", "column, by `NAME` or index, of noise variances that are known for each row, in squared units of the target; the estimated variance comes on top")
	s.StringVar(&f.NoiseGroup, "noise-group", "", "column, by `NAME` or index, of labels: each group of rows has a noise variance of its own, noise_variance[LABEL]")
}

// Several says whether --target names several.
func (f *DataFlags) Several() bool { return strings.Contains(f.Target, ",") }

// Inputs are the files that Read reads.
func (f *DataFlags) Inputs(path string) []string {
	mask, _, err := table.ParseMaskFlag(f.mask)
	if f.mask == "" || err != nil {
		return []string{path}
	}
	return []string{path, mask}
}

// Read reads the table at path.
func (f *DataFlags) Read(path string, stdin io.Reader) (fit.Data, error) {
	o := f.Options
	o.Formats = Formats()
	o.DropMissing = f.missing == "drop"
	if o.Subsample < 0 {
		return fit.Data{}, exit.Usagef("--subsample %d: must not be negative", o.Subsample)
	}
	if f.Several() {
		o.Target, o.Targets = "", strings.Split(f.Target, ",")
		for i, name := range o.Targets {
			o.Targets[i] = strings.TrimSpace(name)
		}
	}
	if f.mask != "" {
		var err error
		if o.Mask, o.MaskColumn, err = table.ParseMaskFlag(f.mask); err != nil {
			return fit.Data{}, exit.Usagef("--split-mask: %v", err)
		}
	}
	data, err := dataset.Read(path, stdin, o)
	var missing *dataset.MissingTargetError
	if errors.As(err, &missing) {
		missing.Table.Msg += "; --missing drop leaves such rows out"
	}
	return data, err
}

// RowFlags say how rows of a table are read for a model.
type RowFlags struct{ rows.Options }

// Add declares the flags.
func (f *RowFlags) Add(s *pflag.FlagSet) {
	s.StringSliceVar(&f.Features, "features", nil, "columns of the inputs, in the order of the model's (default: the same names)")
	addHeader(s, &f.Header)
	s.StringVar(&f.NoiseColumn, "noise-column", "", "column of known noise variances, by `NAME` or index (default: that of the model, if DATA has it)")
	s.StringVar(&f.NoiseGroup, "noise-group", "", "column of noise groups, by `NAME` or index (default: that of the model, if DATA has it)")
	s.StringVar(&f.DefaultGroup, "noise-group-default", "", "`LABEL` of the noise group of rows without one that the model knows")
}

// TellNoise says whether one of the flags tells of the noise.
func (f *RowFlags) TellNoise() bool {
	return f.NoiseColumn != "" || f.NoiseGroup != "" || f.DefaultGroup != ""
}

// Open opens a table for a model. The caller closes the reader.
func (f *RowFlags) Open(path string, stdin io.Reader, m *gp.Model) (*rows.ModelRows, error) {
	o := f.Options
	o.Formats = Formats()
	r, err := rows.Open(path, stdin, m, o)
	return r, RowsError(err)
}

// RowsError says which flags help with an error of package rows.
func RowsError(err error) error {
	var option *rows.MismatchError
	if errors.As(err, &option) {
		return exit.Usagef("%s%s", map[string]string{
			"Features": "--features ", "NoiseColumn": "--noise-column: ", "NoiseGroup": "--noise-group and --noise-group-default: ",
		}[option.Option], option.Msg)
	}
	var noise *gp.NoiseError
	if errors.As(err, &noise) && noise.Row < 0 {
		return exit.Usagef("%v; give --noise-group or --noise-group-default", err)
	}
	return err
}

// Target returns the model of the named target, or of the only one.
func Target(m *gp.Model, name string) (*gp.Model, error) {
	one, err := m.TargetNamed(name)
	var wrong *gp.TargetError
	if !errors.As(err, &wrong) {
		return one, err
	}
	known := strings.Join(wrong.Known, ", ")
	switch {
	case name == "":
		return nil, exit.Usagef("the model has several targets: choose one by --target (%s)", known)
	case len(wrong.Known) == 1:
		return nil, exit.Usagef("--target %q: the model's target is %s", name, known)
	}
	return nil, exit.Usagef("--target %q: the model's targets are %s", name, known)
}
