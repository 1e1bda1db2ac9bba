// Package spec reads the YAML file of a batch: data sets, kernels, seeds and splits, and the
// options of their fits. [Parse] reads the file strictly, and [Batch.Expand] turns it into jobs.
// [Options], and [Schema], a JSON Schema of the file for editors, are generated from the table of
// package option and schema.base.json.
//
// Options come from four places, and later ones override earlier ones: defaults, the
// data set, the kernel, and overrides in their order. Tables of names and values
// (set, fix, bounds) merge name by name; a later value replaces everything else.
package spec

import (
	_ "embed"
	"fmt"

	"gpfit/option"
)

// Schema is the JSON Schema of a spec file, draft 2020-12.
//
//go:embed schema.json
var Schema []byte

// Batch is the content of a spec file.
type Batch struct {
	// Name is a title for people.
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	// Defaults are the options of every job.
	Defaults Options `yaml:"defaults,omitempty" json:"defaults,omitzero"`
	// Data is required. The batch fits every kernel to every data set; without kernels, each fit
	// chooses its own.
	Data    []DataSet     `yaml:"data" json:"data"`
	Kernels []NamedKernel `yaml:"kernels,omitempty" json:"kernels"`
	// Seeds are the seeds of random subsets and restarts; none means seed 1.
	Seeds []uint64 `yaml:"seeds,omitempty" json:"seeds,omitempty"`
	// Splits are columns of the data sets' masks; none means the first.
	Splits *Splits `yaml:"splits,omitempty" json:"splits,omitempty"`
	// Overrides change options of the jobs that they match, in order.
	Overrides []Override `yaml:"overrides,omitempty" json:"overrides,omitempty"`
	// Exclude leaves out the jobs that one of its entries matches.
	Exclude []Match `yaml:"exclude,omitempty" json:"exclude,omitempty"`
	// Slurm configures the batch on a Slurm cluster.
	Slurm option.Slurm `yaml:"slurm,omitempty" json:"slurm,omitzero"`

	// source is the file's name, and places are the places of its nodes.
	source string
	places places
}

// errorAt returns an error at the node of a path, or at the nearest node above it.
func (s *Batch) errorAt(path string, err error, format string, args ...any) error {
	return s.places.errorAt(s.source, path, err, fmt.Sprintf(format, args...))
}

// DataSet is a table and its splits. A spec may give only the path.
type DataSet struct {
	// Name is part of the job's id; the default is the file's base name.
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	// Path is relative to the spec file.
	Path string `yaml:"path" json:"path"`
	// SplitMask is a table of masks, one column for each split. Splits replaces the spec's splits.
	SplitMask string  `yaml:"split_mask,omitempty" json:"split_mask,omitempty"`
	Splits    *Splits `yaml:"splits,omitempty" json:"splits,omitempty"`
	// Each is a column of which each value has a job of its own, with the rows that have the value.
	Each    Word `yaml:"each,omitempty" json:"each,omitempty"`
	Options `yaml:",inline"`
}

// NamedKernel is a covariance function. A spec may give only the expression.
type NamedKernel struct {
	// Name is part of the job's id; the default comes from the expression.
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	// Kernel is the expression, as --kernel takes it.
	Kernel  string `yaml:"kernel" json:"kernel"`
	Options `yaml:",inline"`
}

// Match selects the jobs for which every given part holds.
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

// Splits names columns of a mask file, by index or name, or all columns.
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
	type plain DataSet
	return readShort(unmarshal, &d.Path, (*plain)(d))
}

// UnmarshalYAML implements yaml.InterfaceUnmarshaler: an expression, or a mapping.
func (k *NamedKernel) UnmarshalYAML(unmarshal func(any) error) error {
	type plain NamedKernel
	return readShort(unmarshal, &k.Kernel, (*plain)(k))
}

// readShort reads a text into one field, or a mapping into all.
func readShort(unmarshal func(any) error, one *string, all any) error {
	var text string
	if err := unmarshal(&text); err != nil {
		return unmarshal(all)
	}
	*one = text
	return nil
}
