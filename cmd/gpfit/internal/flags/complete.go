package flags

import (
	"context"
	"encoding/csv"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/graph"
	"gpfit/internal/each"
	"gpfit/option"
	"gpfit/table"
)

// Complete gives the flags of a command, and of those below it, the shell's completions. They stay in memory for good.
func Complete(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if v, ok := f.Value.(*tableFlag); ok && !f.Hidden {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, v.complete) // fails for an unknown flag only
		}
	})
	for _, below := range cmd.Commands() {
		Complete(below)
	}
}

// complete returns the shell's completions of the flag: its words, or the names of the
// columns or of the parameters of the table that the command reads.
func (f *tableFlag) complete(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	o, words := f.option, f.option.Examples
	if o.Kind.Named || o.Kind.Name == option.Names.Name {
		return f.completeParameter(cmd, args, begun)
	}
	switch {
	case o.Kind.Columns:
		words = columnNames(cmd, args)
	case o.Words != nil && !o.Kind.Repeats:
		words = o.Words
	case o.Kind.Flag:
		words = []string{"true", "false"}
	case words == nil:
		return nil, cobra.ShellCompDirectiveDefault
	}
	if !o.Kind.Columns {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	// Commas separate several columns.
	before := begun[:strings.LastIndexByte(begun, ',')+1]
	out := each.Of(words, func(w string) string { return before + quoted(w) })
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// quoted returns name as an item of a comma-separated list.
func quoted(name string) string {
	if !strings.ContainsAny(name, ",\"\n") {
		return name
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write([]string{name}) // a strings.Builder takes everything
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// columnNames returns the column names of the table that a command reads: the argument
// DATA, or the value of --data. It returns nil if that is not a table yet.
func columnNames(cmd *cobra.Command, args []string) []string {
	path := dataPath(cmd, args)
	if info, err := os.Stat(path); path == "" || path == "-" || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil // completion must not consume an input that can be read only once
	}
	// NoTarget needs no second column. Only the beginning of the file is read.
	in, err := table.Open(path, table.Options{NoTarget: true, Formats: Formats()})
	if err != nil {
		return nil
	}
	defer in.Close()
	return in.Names()
}

// dataPath returns the argument DATA or the value of --data, "" if there is none yet.
func dataPath(cmd *cobra.Command, args []string) string {
	if f := cmd.Flags().Lookup("data"); f != nil {
		return f.Value.String()
	}
	if i := slices.IndexFunc(strings.Fields(cmd.Use)[1:], isData); i >= 0 && len(args) > 0 {
		return args[min(i, len(args)-1)]
	}
	return ""
}

func isData(argument string) bool { return strings.Trim(argument, "[]") == "DATA" }

// completedBytes is the size up to which completion reads a whole table, in a fraction of a second.
const completedBytes = 8 << 20

// completeParameter returns the completions of NAME=VALUE, given its beginning: the names
// of the parameters and, for ties and priors, the values.
func (f *tableFlag) completeParameter(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	name, _, hasValue := strings.Cut(begun, "=")
	var words []string
	add := func(before, after string, all []string) {
		for _, word := range all {
			words = append(words, before+word+after)
		}
	}
	switch kind := f.option.Kind.Name; {
	case kind == option.Names.Name:
		words = f.all.parameterNames(cmd, args)
	case !hasValue:
		add("", "=", f.all.parameterNames(cmd, args))
	case kind == option.Ties.Name:
		add(name+"=", "", slices.DeleteFunc(f.all.parameterNames(cmd, args), func(p string) bool { return p == name }))
	case kind == option.Densities.Name:
		add(name+"=", "(", graph.PriorFamilies())
	}
	return words, directive
}

// parameterNames returns the names of the parameters that a command's table and kernels have, of
// whole vectors first. It returns nil if there is no such job yet, or if the table is large.
func (o *Set) parameterNames(cmd *cobra.Command, args []string) []string {
	path := dataPath(cmd, args)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > completedBytes {
		return nil
	}
	if err := o.read(); err != nil {
		return nil
	}
	data, err := ReadTable(context.Background(), path, strings.NewReader(""), o.Data)
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
