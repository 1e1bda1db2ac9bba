package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gpfit/fit/problem"
	"gpfit/internal/suggest"
)

// check finds mistakes that the form of the file allows.
func (s *Batch) check() error {
	if len(s.Data) == 0 {
		return s.errorAt("data", nil, "data: names no data set")
	}
	if len(s.Kernels) == 0 {
		s.Kernels = []NamedKernel{{Kernel: problem.AutoKernel}}
	}
	return cmp.Or(
		s.checkOptions("defaults", s.Defaults),
		firstError(len(s.Data), s.checkData),
		firstError(len(s.Kernels), s.checkKernel),
		s.checkSplits("splits", s.Splits, slices.ContainsFunc(s.Data, func(d DataSet) bool { return d.SplitMask != "" }),
			"splits: no data set has a split_mask, a table with a column for each split"),
		checkTwice(s, "seeds", "seed", s.Seeds),
		firstError(len(s.Overrides), func(i int) error {
			at, o := fmt.Sprintf("overrides[%d]", i), s.Overrides[i]
			return cmp.Or(s.checkOptions(at, o.Options), s.checkMatch(at+".match", o.Match))
		}),
		firstError(len(s.Exclude), func(i int) error { return s.checkMatch(fmt.Sprintf("exclude[%d]", i), s.Exclude[i]) }),
		s.checkSlurm(),
	)
}

// firstError returns the first error of n checks.
func firstError(n int, check func(i int) error) error {
	for i := range n {
		if err := check(i); err != nil {
			return err
		}
	}
	return nil
}

// checkTwice returns an error for an entry that a list has twice.
func checkTwice[T comparable](s *Batch, at, what string, list []T) error {
	seen := make(map[T]bool, len(list))
	return firstError(len(list), func(i int) error {
		if !seen[list[i]] {
			seen[list[i]] = true
			return nil
		}
		return s.errorAt(fmt.Sprintf("%s[%d]", at, i), nil, "%s %v appears twice", what, list[i])
	})
}

// checkName checks the name of a data set or kernel, whose earlier ones have others.
func checkName(s *Batch, at, what, name string, taken bool) error {
	switch {
	case !validName.MatchString(name):
		return s.errorAt(at+".name", nil, "name %q: must consist of at most 80 letters, digits, _, + and -", name)
	case taken:
		return s.errorAt(at, nil, "a second %s named %q: give it another name", what, name)
	}
	return nil
}

// checkData checks a data set and names it.
func (s *Batch) checkData(i int) error {
	at, d := fmt.Sprintf("data[%d]", i), &s.Data[i]
	switch {
	case d.Path == "":
		return s.errorAt(at, nil, "a data set needs a path")
	case d.Path == "-":
		return s.errorAt(at+".path", nil, "a batch cannot read standard input")
	case d.Name == "":
		d.Name = slug(baseName(d.Path))
	}
	taken := slices.ContainsFunc(s.Data[:i], func(o DataSet) bool { return o.Name == d.Name })
	if err := checkName(s, at, "data set", d.Name, taken); err != nil {
		return err
	}
	return cmp.Or(s.checkSplits(at+".splits", d.Splits, d.SplitMask != "", "splits need a split_mask"), s.checkOptions(at, d.Options))
}

// checkSplits checks splits of a mask; unmasked is the message if there is none.
func (s *Batch) checkSplits(at string, splits *Splits, masked bool, unmasked string) error {
	switch {
	case splits == nil:
		return nil
	case !masked:
		return s.errorAt(at, nil, "%s", unmasked)
	case !splits.All && len(splits.Columns) == 0:
		return s.errorAt(at, nil, "splits: names no column")
	}
	return checkTwice(s, at, "split", splits.Columns)
}

// checkKernel checks a kernel and names it.
func (s *Batch) checkKernel(i int) error {
	at, k := fmt.Sprintf("kernels[%d]", i), &s.Kernels[i]
	if k.Kernel == "" {
		return s.errorAt(at, nil, "a kernel needs its expression, under the key kernel")
	}
	if err := problem.CheckKernelText(k.Kernel); err != nil {
		return s.errorAt(at+".kernel", err, "%v", err)
	}
	k.Name = cmp.Or(k.Name, slug(k.Kernel))
	taken := slices.ContainsFunc(s.Kernels[:i], func(o NamedKernel) bool { return o.Name == k.Name })
	return cmp.Or(checkName(s, at, "kernel", k.Name, taken), s.checkOptions(at, k.Options))
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
	unknown := func(key string, list []Word, known []string) error {
		return firstError(len(list), func(i int) error {
			w := string(list[i])
			if slices.Contains(known, w) {
				return nil
			}
			return s.errorAt(fmt.Sprintf("%s.%s[%d]", at, key, i), nil, "there is no %s named %q%s; there are %s",
				key, w, suggest.DidYouMean(w, known), strings.Join(known, ", "))
		})
	}
	return cmp.Or(unknown("data", m.Data, data), unknown("kernel", m.Kernel, kernels))
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
