package spec

import (
	"fmt"
	"slices"
	"strings"

	"gpfit/internal/suggest"
	"gpfit/kernel"
)

// check finds mistakes that the form of the file allows.
func (s *Batch) check() error {
	if len(s.Data) == 0 {
		return s.errorAt("data", nil, "data: names no data set")
	}
	if len(s.Kernels) == 0 {
		return s.errorAt("kernels", nil, "kernels: names no kernel")
	}
	if err := s.checkOptions("defaults", s.Defaults); err != nil {
		return err
	}
	names := map[string]bool{}
	for i := range s.Data {
		if err := s.checkData(i, names); err != nil {
			return err
		}
	}
	names = map[string]bool{}
	for i := range s.Kernels {
		if err := s.checkKernel(i, names); err != nil {
			return err
		}
	}
	if err := s.checkSplits("splits", s.Splits); err != nil {
		return err
	}
	if masked := func(d DataSet) bool { return d.SplitMask != "" }; s.Splits != nil && !slices.ContainsFunc(s.Data, masked) {
		return s.errorAt("splits", nil, "splits: no data set has a split_mask, a table with a column for each split")
	}
	if i := duplicate(s.Seeds); i >= 0 {
		return s.errorAt(fmt.Sprintf("seeds[%d]", i), nil, "seed %d appears twice", s.Seeds[i])
	}
	for i, o := range s.Overrides {
		at := fmt.Sprintf("overrides[%d]", i)
		if err := s.checkOptions(at, o.Options); err != nil {
			return err
		}
		if err := s.checkMatch(at+".match", o.Match); err != nil {
			return err
		}
	}
	for i, m := range s.Exclude {
		if err := s.checkMatch(fmt.Sprintf("exclude[%d]", i), m); err != nil {
			return err
		}
	}
	return s.checkSlurm()
}

func duplicate[T comparable](list []T) int {
	seen := make(map[T]bool, len(list))
	for i, v := range list {
		if seen[v] {
			return i
		}
		seen[v] = true
	}
	return -1
}

// checkData checks a data set. names holds the names of the data sets before it.
func (s *Batch) checkData(i int, names map[string]bool) error {
	at, d := fmt.Sprintf("data[%d]", i), &s.Data[i]
	switch {
	case d.Path == "":
		return s.errorAt(at, nil, "a data set needs a path")
	case d.Path == "-":
		return s.errorAt(at+".path", nil, "a batch cannot read standard input")
	case d.Name == "":
		d.Name = slug(baseName(d.Path))
	}
	if !validName.MatchString(d.Name) {
		return s.errorAt(at+".name", nil, "name %q: must consist of letters, digits, _, + and -", d.Name)
	}
	if names[d.Name] {
		return s.errorAt(at, nil, "a second data set named %q: give it another name", d.Name)
	}
	names[d.Name] = true
	if d.Splits != nil && d.SplitMask == "" {
		return s.errorAt(at+".splits", nil, "splits need a split_mask")
	}
	if err := s.checkSplits(at+".splits", d.Splits); err != nil {
		return err
	}
	return s.checkOptions(at, d.Options)
}

func (s *Batch) checkSplits(at string, splits *Splits) error {
	if splits == nil || splits.All {
		return nil
	}
	if len(splits.Columns) == 0 {
		return s.errorAt(at, nil, "splits: names no column")
	}
	if i := duplicate(splits.Columns); i >= 0 {
		return s.errorAt(fmt.Sprintf("%s[%d]", at, i), nil, "split %s appears twice", splits.Columns[i])
	}
	return nil
}

// checkKernel checks a kernel. names holds the names of the kernels before it.
func (s *Batch) checkKernel(i int, names map[string]bool) error {
	at, k := fmt.Sprintf("kernels[%d]", i), &s.Kernels[i]
	if k.Kernel == "" {
		return s.errorAt(at, nil, "a kernel needs its expression, under the key kernel")
	}
	if err := kernel.CheckText(k.Kernel); err != nil {
		return s.errorAt(at+".kernel", err, "%v", err)
	}
	if k.Name == "" {
		k.Name = slug(k.Kernel)
	}
	if !validName.MatchString(k.Name) {
		return s.errorAt(at+".name", nil, "name %q: must consist of at most 80 letters, digits, _, + and -", k.Name)
	}
	if names[k.Name] {
		return s.errorAt(at, nil, "a second kernel named %q: give it another name", k.Name)
	}
	names[k.Name] = true
	return s.checkOptions(at, k.Options)
}

// checkMatch finds unknown names: a match that never holds is a mistake.
func (s *Batch) checkMatch(at string, m Match) error {
	if m.Data == nil && m.Kernel == nil && m.Split == nil && m.Seed == nil {
		return s.errorAt(at, nil, "matches every job: name a data set, kernel, split or seed")
	}
	var data, kernels []string
	for _, d := range s.Data {
		data = append(data, d.Name)
	}
	for _, k := range s.Kernels {
		kernels = append(kernels, k.Name)
	}
	for key, list := range map[string][]Word{"data": m.Data, "kernel": m.Kernel} {
		known := map[string][]string{"data": data, "kernel": kernels}[key]
		for i, w := range list {
			if !slices.Contains(known, string(w)) {
				return s.errorAt(fmt.Sprintf("%s.%s[%d]", at, key, i), nil, "there is no %s named %q%s; there are %s",
					key, w, suggest.DidYouMean(string(w), known), strings.Join(known, ", "))
			}
		}
	}
	return nil
}

func (s *Batch) checkSlurm() error {
	for _, v := range append([]string{s.Slurm.Partition, s.Slurm.Gres, s.Slurm.Time, s.Slurm.Memory, s.Slurm.Account, s.Slurm.QOS}, s.Slurm.Options...) {
		if strings.ContainsAny(v, "\n\r") {
			return s.errorAt("slurm", nil, "slurm: %q has a line break", v)
		}
	}
	if s.Slurm.Tasks < 0 || s.Slurm.CPUs < 0 {
		return s.errorAt("slurm", nil, "slurm: tasks and cpus must not be negative")
	}
	return nil
}
