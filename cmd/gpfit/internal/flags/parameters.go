package flags

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/graph"
	"gpfit/internal/option"
)

// completedBytes is the size up to which completion reads a whole table, in a fraction of a
// second.
const completedBytes = 8 << 20

// namesParameters reports whether an option has items that begin with the name of a
// parameter.
func namesParameters(o *option.Option) bool {
	return slices.ContainsFunc([]option.ValueKind{option.Starts, option.Fixed, option.Intervals, option.Densities, option.Ties, option.Names}, func(k option.ValueKind) bool {
		return k.Name == o.Kind.Name
	})
}

// completeParameter returns the completions of NAME=VALUE, given its beginning: the names
// of the parameters and, for ties and priors, the values.
func (f *tableFlag) completeParameter(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	name, _, hasValue := strings.Cut(begun, "=")
	var words []string
	switch {
	case f.option.Kind.Name == option.Names.Name:
		words = f.all.parameterNames(cmd, args)
	case !hasValue:
		for _, p := range f.all.parameterNames(cmd, args) {
			words = append(words, p+"=")
		}
	case f.option.Kind.Name == option.Ties.Name:
		for _, p := range f.all.parameterNames(cmd, args) {
			if p != name {
				words = append(words, name+"="+p)
			}
		}
	case f.option.Kind.Name == option.Densities.Name:
		for _, family := range graph.PriorFamilies() {
			words = append(words, name+"="+family+"(")
		}
	}
	return words, directive
}

// parameterNames returns the names of the parameters that a command's table and kernels
// have, of whole vectors first. It returns nil if there is no such job yet, or if the table
// is large.
func (o *Options) parameterNames(cmd *cobra.Command, args []string) []string {
	path := dataPath(cmd, args)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > completedBytes {
		return nil
	}
	if err := o.read(cmd.Flags()); err != nil {
		return nil
	}
	data, err := o.ReadTable(context.Background(), path, strings.NewReader(""))
	if err != nil {
		return nil
	}
	kernels := o.Select.Kernels
	if len(kernels) == 0 {
		kernels = []string{o.Fit.Kernel}
	}
	var vectors, names []string
	for _, text := range kernels {
		opts := o.Fit
		// Names that are being typed may be none.
		opts.Kernel, opts.Set, opts.Fix, opts.Bounds, opts.Ties, opts.Priors = text, nil, nil, nil, nil, nil
		opts.Mean, opts.MeanFit = o.Fit.Mean, problem.MeanFree
		job, err := fit.Prepare(data, opts, problem.Events{})
		if err != nil {
			opts.MeanFit = o.Fit.MeanFit // several targets have no free means
			if job, err = fit.Prepare(data, opts, problem.Events{}); err != nil {
				continue
			}
		}
		for _, name := range job.FreeNames() {
			names = append(names, name)
			if vector, _, ok := strings.Cut(name, "["); ok {
				vectors = append(vectors, vector)
			}
		}
	}
	var out []string
	for _, name := range slices.Concat(vectors, names) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
