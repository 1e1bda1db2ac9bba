// Package spec is the text form of a batch: a YAML file that names data sets,
// kernels, seeds and splits, and the options of their fits. [Parse] reads it
// strictly, [Batch.Expand] turns it into jobs. The same form as a JSON Schema, for
// editors, is in [Schema]; a test holds the two together.
//
// Options come from four places, later ones before earlier ones: defaults, the
// data set, the kernel, and overrides in their order. Tables of names and values
// (set, fix, bounds) are merged name by name, everything else is replaced.
package spec

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// Schema is the JSON Schema of a spec file, draft 2020-12.
//
//go:embed schema.json
var Schema []byte

// Batch is what a spec file says.
type Batch struct {
	// Name is for people.
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	// Defaults are the options of every job.
	Defaults Options `yaml:"defaults,omitempty" json:"defaults,omitzero"`
	// Data and Kernels are required; every data set meets every kernel.
	Data    []DataSet     `yaml:"data" json:"data"`
	Kernels []NamedKernel `yaml:"kernels" json:"kernels"`
	// Seeds of what is random, subsets and restarts; none means seed 1.
	Seeds []uint64 `yaml:"seeds,omitempty" json:"seeds,omitempty"`
	// Splits are columns of the data sets' masks; none means the first.
	Splits *Splits `yaml:"splits,omitempty" json:"splits,omitempty"`
	// Overrides change options of the jobs that they match, in order.
	Overrides []Override `yaml:"overrides,omitempty" json:"overrides,omitempty"`
	// Exclude leaves out the jobs that one of its entries matches.
	Exclude []Match `yaml:"exclude,omitempty" json:"exclude,omitempty"`
	// Slurm says how to submit the batch to a Slurm cluster.
	Slurm Slurm `yaml:"slurm,omitempty" json:"slurm,omitzero"`

	// source is the file's name, and places are those of its nodes.
	source string
	places places
}

// errorAt is an error at the node of a path, or at the nearest one above it.
func (s *Batch) errorAt(path string, err error, format string, args ...any) error {
	return s.places.errorAt(s.source, path, err, fmt.Sprintf(format, args...))
}

// DataSet is a table and its splits. In a spec it may be the path alone.
type DataSet struct {
	// Name is part of the job's id; the default is the file's base name.
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	// Path is relative to the spec file.
	Path string `yaml:"path" json:"path"`
	// SplitMask is a table of masks, one column for each split; Splits replaces
	// those of the spec.
	SplitMask string  `yaml:"split_mask,omitempty" json:"split_mask,omitempty"`
	Splits    *Splits `yaml:"splits,omitempty" json:"splits,omitempty"`
	Options   `yaml:",inline"`
}

// NamedKernel is a covariance function. In a spec it may be the expression alone.
type NamedKernel struct {
	// Name is part of the job's id; the default is made from the expression.
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	// Kernel is the expression, as --kernel takes it.
	Kernel  string `yaml:"kernel" json:"kernel"`
	Options `yaml:",inline"`
}

// Options are those of "gpfit fit", and what a job may use. Nil means: not said
// here.
type Options struct {
	Target   *Word   `yaml:"target,omitempty" json:"target,omitempty"`
	Features []Word  `yaml:"features,omitempty" json:"features,omitempty"`
	Header   *Word   `yaml:"header,omitempty" json:"header,omitempty"`
	Missing  *string `yaml:"missing,omitempty" json:"missing,omitempty"`
	// Subsample rows are drawn by the job's seed.
	Subsample   *int                 `yaml:"subsample,omitempty" json:"subsample,omitempty"`
	ARD         *bool                `yaml:"ard,omitempty" json:"ard,omitempty"`
	Mean        *string              `yaml:"mean,omitempty" json:"mean,omitempty"`
	MeanFit     *string              `yaml:"mean_fit,omitempty" json:"mean_fit,omitempty"`
	Noise       *string              `yaml:"noise,omitempty" json:"noise,omitempty"`
	NoiseColumn *Word                `yaml:"noise_column,omitempty" json:"noise_column,omitempty"`
	NoiseGroup  *Word                `yaml:"noise_group,omitempty" json:"noise_group,omitempty"`
	Standardize *string              `yaml:"standardize,omitempty" json:"standardize,omitempty"`
	Set         map[string]float64   `yaml:"set,omitempty" json:"set,omitempty"`
	Fix         map[string]*float64  `yaml:"fix,omitempty" json:"fix,omitempty"`
	Bounds      map[string][]float64 `yaml:"bounds,omitempty" json:"bounds,omitempty"`
	// Prior and Tie: parameter to density, and to the parameter that it follows.
	Prior     map[string]string `yaml:"prior,omitempty" json:"prior,omitempty"`
	Tie       map[string]string `yaml:"tie,omitempty" json:"tie,omitempty"`
	Objective *string           `yaml:"objective,omitempty" json:"objective,omitempty"`
	// Scores may be [loo]; the splits are a batch's cross-validation.
	Scores     []string `yaml:"scores,omitempty" json:"scores,omitempty"`
	StdErrors  *bool    `yaml:"std_errors,omitempty" json:"std_errors,omitempty"`
	RequirePSD *bool    `yaml:"require_psd,omitempty" json:"require_psd,omitempty"`
	MaxJitter  *float64 `yaml:"max_jitter,omitempty" json:"max_jitter,omitempty"`
	Restarts   *int     `yaml:"restarts,omitempty" json:"restarts,omitempty"`
	MaxEvals   *int     `yaml:"max_evals,omitempty" json:"max_evals,omitempty"`
	Optimizer  *string  `yaml:"optimizer,omitempty" json:"optimizer,omitempty"`
	Coarse     *string  `yaml:"coarse,omitempty" json:"coarse,omitempty"`
	SaveFactor *bool    `yaml:"save_factor,omitempty" json:"save_factor,omitempty"`
	Device     *string  `yaml:"device,omitempty" json:"device,omitempty"`
	Fallback   *string  `yaml:"fallback,omitempty" json:"fallback,omitempty"`
	// Threads is the number of CPU threads of one job, 0 for a choice by its
	// size. The last bits of results depend on it.
	Threads *int `yaml:"threads,omitempty" json:"threads,omitempty"`
	// Memory is the most that one job may plan for.
	Memory *Bytes `yaml:"memory,omitempty" json:"memory,omitempty"`
	// Retries is how often a job is tried again whose device was lost or too
	// full; the default is 2.
	Retries *int `yaml:"retries,omitempty" json:"retries,omitempty"`
}

// Match selects jobs: those for which every part that is given holds.
type Match struct {
	Data   []Word   `yaml:"data,omitempty" json:"data,omitempty"`
	Kernel []Word   `yaml:"kernel,omitempty" json:"kernel,omitempty"`
	Split  []Word   `yaml:"split,omitempty" json:"split,omitempty"`
	Seed   []uint64 `yaml:"seed,omitempty" json:"seed,omitempty"`
}

// Override gives options to the jobs that match.
type Override struct {
	Match   Match `yaml:"match" json:"match"`
	Options `yaml:",inline"`
}

// Slurm holds options of sbatch; the command line's --slurm-… come before them.
type Slurm struct {
	Partition string `yaml:"partition,omitempty" json:"partition,omitempty"`
	Gres      string `yaml:"gres,omitempty" json:"gres,omitempty"`
	Time      string `yaml:"time,omitempty" json:"time,omitempty"`
	// Tasks is the width of the job array; the default is one task for each
	// job, but no more than 8.
	Tasks int `yaml:"tasks,omitempty" json:"tasks,omitempty"`
	// CPUs of each task; the default is the most threads that a job has.
	CPUs    int    `yaml:"cpus,omitempty" json:"cpus,omitempty"`
	Memory  string `yaml:"memory,omitempty" json:"memory,omitempty"`
	Account string `yaml:"account,omitempty" json:"account,omitempty"`
	QOS     string `yaml:"qos,omitempty" json:"qos,omitempty"`
	// Wait makes every task stay until the whole run is done, to take up the
	// jobs of tasks that die.
	Wait bool `yaml:"wait,omitempty" json:"wait,omitempty"`
	// Options are further options of sbatch, such as "--exclude=node7".
	Options []string `yaml:"options,omitempty" json:"options,omitempty"`
}

// Word is a string that YAML may take for a number or a truth value, such as
// the index of a column.
type Word string

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (w *Word) UnmarshalYAML(unmarshal func(any) error) error {
	var v any
	if err := unmarshal(&v); err != nil {
		return err
	}
	switch v := v.(type) {
	case string:
		*w = Word(v)
	case uint64, int64, int:
		*w = Word(fmt.Sprint(v))
	case bool:
		// YAML's own words for truth values, for the option header.
		*w = map[bool]Word{true: "yes", false: "no"}[v]
	default:
		return fmt.Errorf("must be a word or a whole number")
	}
	return nil
}

// Splits names columns of a mask file: by index or name, or all of them.
type Splits struct {
	All     bool   `json:"all,omitempty"`
	Columns []Word `json:"columns,omitempty"`
}

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (s *Splits) UnmarshalYAML(unmarshal func(any) error) error {
	var word string
	if err := unmarshal(&word); err == nil {
		if word != "all" {
			return fmt.Errorf(`must be "all" or a list of columns`)
		}
		s.All = true
		return nil
	}
	return unmarshal(&s.Columns)
}

// UnmarshalYAML implements yaml.InterfaceUnmarshaler: a path, or a mapping.
func (d *DataSet) UnmarshalYAML(unmarshal func(any) error) error {
	var path string
	if err := unmarshal(&path); err == nil {
		*d = DataSet{Path: path}
		return nil
	}
	type plain DataSet
	return unmarshal((*plain)(d))
}

// UnmarshalYAML implements yaml.InterfaceUnmarshaler: an expression, or a
// mapping.
func (k *NamedKernel) UnmarshalYAML(unmarshal func(any) error) error {
	var expr string
	if err := unmarshal(&expr); err == nil {
		*k = NamedKernel{Kernel: expr}
		return nil
	}
	type plain NamedKernel
	return unmarshal((*plain)(k))
}

// Bytes is an amount of memory, in a spec a text such as "4GiB" or "500 MB".
type Bytes int64

var units = []struct {
	suffix string
	factor float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40}, {"B", 1},
}

// ParseBytes reads an amount of memory with its unit: 4GiB, 500 MB, 16G.
func ParseBytes(text string) (Bytes, error) {
	for _, u := range units {
		number, ok := strings.CutSuffix(strings.TrimSpace(text), u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(v*u.factor >= 1) || v*u.factor > 1<<60 {
			break
		}
		return Bytes(v * u.factor), nil
	}
	return 0, fmt.Errorf("%q is not an amount of memory such as 4GiB or 500MB", text)
}

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (b *Bytes) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if err := unmarshal(&text); err != nil {
		return fmt.Errorf("must be an amount of memory such as 4GiB")
	}
	v, err := ParseBytes(text)
	*b = v
	return err
}
