package option

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/internal/testcheck"
)

// samples are values other than the zero value and the default, by name. Options
// without a sample take one that fits their kind.
var samples = map[string][]string{
	"holdout": {"7", "last:7"},
	"kernel":  {"matern32"}, "kernels": {"matern32"}, "mean": {"linear"}, "split-mask": {"mask.csv:1"}, "cov": {"c.npy"},
	"along": {"a"}, "range": {"a=1:2"}, "set": {"a=1"}, "lambda": {"ridge=1"}, "mean-prior": {"4", "tuned"}, "fix": {"a=1"}, "bounds": {"a=1:2"}, "prior": {"a=gamma(2, 3)"}, "tie": {"a=b"},
	"target": {"a", "a,b"}, "scores": {"loo", "cv"}, "memory": {"1GiB"}, "noise-floor": {"0.5", "0.5:original"}, "date-origin": {"2000-01-01"}, "encoding": {"latin1"},
	"experts": {"kmeans:3"}, "grid": {"0:1:3"}, "interval": {"0.5"}, "tolerance": {"0.1"}, "plot": {"p.svg"}, "page": {"p.html"}, "plot-sizes": {"p.svg"}, "plot-errors": {"p.svg"}, "size": {"16x11"},
}

func samplesOf(o *Option) []string {
	switch {
	case o.Name == "range" && !o.Kind.Named:
		return []string{"0:1"}
	case o.Name == "format":
		return []string{"json"}
	case o.Name == "target" && o.check != nil:
		return []string{"a"}
	case o.Name == "along" && o.Kind.Name == Whole.Name:
		return []string{"7"}
	case samples[o.Name] != nil:
		return samples[o.Name]
	case o.Words != nil:
		return o.Words
	case o.Kind.Flag:
		return []string{"true"}
	}
	return []string{"7"}
}

// unbound names the fields of the library's options that no option sets, with the reason.
var unbound = map[string]string{
	"Data.NoTarget":                  "a command decides",
	"Data.Each":                      "the key each of a data set in a batch",
	"Data.Methods":                   "those that the program has",
	"Data.Encoding":                  "of the model that the fit starts from",
	"Data.Formats":                   "the formats that a program links",
	"Rows.Formats":                   "the formats that a program links",
	"Fit.Kernels":                    "kernels in Go",
	"Fit.DiscardCancelled":           "a batch decides",
	"Fit.From":                       "gpfit fit --from opens it",
	"Fit.Settings.GradientTolerance": "for tests and libraries: one value serves all tables",
	"Fit.Settings.RelativeTolerance": "as GradientTolerance",
	"Fit.Settings.Precision":         "the device's",
	"Fit.Settings.Metric":            "of the model that the fit starts from",
	"Fit.Settings.Beat":              "of a choice between models",
	"CrossValidation.OnFold":         "callback",
	"Select.CrossValidation.Folds":   "copied from CrossValidation",
	"Select.CrossValidation.Seed":    "copied from Data.Seed",
	"Select.CrossValidation.Refit":   "copied from CrossValidation",
	"Select.CrossValidation.OnFold":  "callback",
	"Select.OnCandidate":             "callback",
	"Compare.Own":                    "methods in Go",
	"Compare.Curves":                 "gpfit compare --plot decides",
	"Compare.OnModel":                "callback",
	"Compare.OnStep":                 "callback",
	"Profile.OnPoint":                "callback",
	"Predict.Sampling.OnNote":        "callback",
	"Slurm.Wait":                     "of a batch spec",
}

// leaves calls visit for every exported field that is not a struct, or a value with a text form.
func leaves(path string, v reflect.Value, visit func(path string, v reflect.Value)) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		at := strings.TrimPrefix(path+"."+f.Name, ".")
		switch {
		case !f.IsExported():
		case f.Type == reflect.TypeFor[problem.Events](): // callbacks
		case f.Type.Kind() == reflect.Struct && !f.Type.Implements(reflect.TypeFor[fmt.Stringer]()):
			leaves(at, v.Field(i), visit)
		default:
			visit(at, v.Field(i))
		}
	}
}

// changed returns the fields that a value of an option changes.
func changed(t *testing.T, o *Option) map[string]bool {
	out := map[string]bool{}
	for _, text := range samplesOf(o) {
		value, err := o.Read(nil, text)
		if err != nil {
			t.Errorf("%s %s: %v", o.Name, text, err)
			continue
		}
		var v Values
		o.Assign(&v, value)
		leaves("", reflect.ValueOf(v), func(path string, f reflect.Value) {
			if !f.IsZero() {
				out[path] = true
			}
		})
	}
	return out
}

// TestFields checks that one entry of the table in each place sets every field of the
// library's options that a user may set.
func TestFields(t *testing.T) {
	table, setters := All(), map[string][]string{}
	for i := range table {
		fields := changed(t, &table[i])
		if len(fields) == 0 {
			t.Errorf("%s sets no field", table[i].Name)
		}
		for path := range fields {
			for _, place := range table[i].Places {
				if key := place + " " + path; slices.Contains(setters[path], key) {
					t.Errorf("two options of %s set %s", place, path)
				} else {
					setters[path] = append(setters[path], key)
				}
			}
		}
	}
	known := map[string]bool{}
	leaves("", reflect.ValueOf(Values{}), func(path string, _ reflect.Value) {
		known[path] = true
		if bound := setters[path] != nil; bound == (unbound[path] != "") {
			t.Errorf("%s: bound to an option: %v, reason not to be: %q", path, bound, unbound[path])
		}
	})
	for path := range unbound {
		if !known[path] {
			t.Errorf("there is no field %s", path)
		}
	}
}

// spelled are the options whose names differ from their fields' names, as the doc
// comment of problem.Options lists them.
var spelled = map[string]string{
	"Fit.NoNoise": "noise", "Fit.Priors": "prior", "Fit.Ties": "tie", "Fit.LeaveOneOut": "scores", "Fit.HoldOutLast": "holdout",
	"Fit.Settings.Method": "optimizer", "Fit.Settings.MaxEvaluations": "max-evals",
}

// TestSpelling checks that options of a fit have the names of their fields, except the
// options in spelled.
func TestSpelling(t *testing.T) {
	table := All().For("fit")
	for i := range table {
		for path := range changed(t, &table[i]) {
			field := path[strings.LastIndexByte(path, '.')+1:]
			same := strings.EqualFold(strings.ReplaceAll(table[i].Name, "-", ""), field)
			if strings.HasPrefix(path, "Fit.") && !same && spelled[path] != table[i].Name {
				t.Errorf("option %s sets %s: give it the field's name, or list it here and in the doc comment of problem.Options", table[i].Name, path)
			}
		}
	}
}

// withoutSbatch removes the flags of another program.
var withoutSbatch = strings.NewReplacer("sbatch --", "", "such as --exclude", "")

// TestTable checks that names are unique in each place, that defaults can be read, and
// that help has the form of a clause.
func TestTable(t *testing.T) {
	table, seen := All(), map[string]bool{}
	for i := range table {
		o := &table[i]
		for _, place := range o.Places {
			if key := place + " " + o.Name; seen[key] {
				t.Errorf("two entries for %s", key)
			} else {
				seen[key] = true
			}
		}
		switch {
		case o.Help == "" || strings.HasSuffix(o.Help, ".") || strings.Contains(withoutSbatch.Replace(o.Help), "--") || o.Help[:1] != strings.ToLower(o.Help[:1]):
			t.Errorf("%s: help %q", o.Name, o.Help)
		case !slices.Contains(Groups(), o.Group) || len(o.Places) == 0 || o.Field == "" && o.Set == nil:
			t.Errorf("%s has no group, place or field", o.Name)
		case slices.ContainsFunc(o.Rules, func(r Constraint) bool { return strings.Contains(r.Text, "--") }):
			t.Errorf("%s: a rule names a flag", o.Name)
		case o.In(Spec) && o.Kind.Go == "":
			t.Errorf("%s: a spec takes no %s", o.Name, o.Kind.Name)
		}
	}
	for name := range table.For("fit").Defaults() {
		if table.Find(name, "fit").Default == "" {
			t.Errorf("%s has a default without a text", name)
		}
	}
}

// TestRange checks that numbers out of range are typed errors that name the option.
func TestRange(t *testing.T) {
	table := All()
	for _, c := range []struct{ name, text, want string }{
		{"restarts", "-1", "option restarts -1: must be from 0 to 10000"},
		{"subsample", "-1", "option subsample -1: must not be negative"},
		{"max-evals", "0", "option max-evals 0: must be at least 1"},
		{"posterior-chains", "0", "option posterior-chains 0: must be from 1 to 1000"},
		{"posterior-warmup", "0", "option posterior-warmup 0: must be from 1 to 100000"},
		{"posterior-draws", "0", "option posterior-draws 0: must be from 1 to 100000"},
		{"folds", "1", "option folds 1: must be at least 2"},
		{"noise-floor", "", "option noise-floor: must be none or a positive number"},
		{"mean-prior", "", "option mean-prior: must be a positive variance in scaled units, or tuned"},
		{"noise-floor", "0", "option noise-floor 0: must be none or a positive number"},
		{"tolerance", "-1", "option tolerance -1: must be a positive number"},
		{"tolerance", "0", "option tolerance 0: must be a positive number"},
		{"noise-floor", "1e-3:kW", "option noise-floor 1e-3:kW: must be none or a positive number, the variance in scaled units, or a number followed by :original"},
		{"max-jitter", "nan", "option max-jitter nan: must be a nonnegative number"},
		{"coarse", "atuo", `option coarse "atuo": must be auto, on, off or check (did you mean "auto"?)`},
		{"scores", "loo,xv", `option scores "xv": must be loo or cv`},
		{"seed", "-1", "option seed -1: must be a nonnegative whole number"},
		{"kernel", "rbf(", "kernel: expected an argument of rbf"},
	} {
		_, err := table.Find(c.name, "fit").Read(nil, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %s", c.name, c.text, err, c.want)
		}
	}
	if v, err := table.Find("features", "fit").Read(nil, `a,"b,c",0-3`); err != nil || fmt.Sprint(v) != "[a b,c 0-3]" {
		t.Errorf("%v, %v", v, err)
	}
}

// TestLimits checks every limit of a number at the limit and beyond it, and that numbers that make
// memory have one.
func TestLimits(t *testing.T) {
	table, limited := All(), map[string]int{}
	for i := range table {
		o := &table[i]
		if o.Most == 0 {
			continue
		}
		limited[o.Places[0]+" "+o.Name] = o.Most
		for _, n := range []int{o.Least, o.Most} {
			if _, err := o.Read(nil, strconv.Itoa(n)); err != nil {
				t.Errorf("%s %d: %v", o.Name, n, err)
			}
		}
		for _, n := range []int{o.Least - 1, o.Most + 1} {
			if _, err := o.Read(nil, strconv.Itoa(n)); err == nil || !strings.Contains(err.Error(), strconv.Itoa(o.Most)) {
				t.Errorf("%s %d: %v", o.Name, n, err)
			}
		}
	}
	for name, most := range map[string]int{
		"fit posterior-draws": maxDraws, "fit posterior-warmup": maxDraws, "fit posterior-chains": maxChains,
		"kernel check points": maxCheckPoints, "kernel check draws": maxCheckDraws, "kernel check columns": maxCheckColumns,
		"kernel show columns": maxShowColumns, "kernel show draws": maxShowDraws, "profile points": maxProfilePoints,
	} {
		if limited[name] != most {
			t.Errorf("%s: limit %d, want %d", name, limited[name], most)
		}
	}
}

// TestRules checks the conditions of rules, their words, and that each rule names options of
// the commands that have it.
func TestRules(t *testing.T) {
	table := All()
	for _, c := range []struct {
		place string
		given map[string]string
		want  string
	}{
		{"fit", map[string]string{"refit": "true"}, "option refit needs option scores cv"},
		{"fit", map[string]string{"refit": "false"}, ""},
		{"fit", map[string]string{"refit": "true", "scores": "loo,cv"}, ""},
		{"nlml", map[string]string{"folds": "3"}, "option folds needs option scores cv or option objective cv or cv-rmse"},
		{"select", map[string]string{"folds": "3"}, ""},
		{"fit", map[string]string{"blocks": "true", "holdout": "0.2"}, ""},
		{"fit", map[string]string{"group": "a"}, "option group and option blocks say which rows are held out: they need option holdout, option scores cv or option objective cv or cv-rmse"},
		{"kernel check", map[string]string{"matrix": "a", "table": "b"}, "option matrix and option table: give one of them"},
		{"predict", map[string]string{"mean-only": "true", "cov": "c.npy"}, "option mean-only gives the mean alone: leave out option cov"},
		{"predict", map[string]string{"plot-title": "a"}, "option plot-title needs option plot FILE"},
		{"compare", map[string]string{"kernels": "rbf", "methods": "mean"}, "option kernels is for the method gp, which option methods leaves out"},
		{"compare", map[string]string{"kernels": "rbf"}, ""},
		{"bench", map[string]string{"seed": "2", "data": "a"}, "option seed is for a synthetic table: leave it out with option data"},
		{"bench", map[string]string{"seed": "2", "data": "a", "subsample": "9"}, ""},
		{"batch", map[string]string{"shard": "0/2", "engine": "slurm"}, "option engine slurm distributes the jobs itself: leave out option shard"},
	} {
		options, given := table.For(c.place), map[string]any{}
		values := options.Defaults()
		for name, text := range c.given {
			value := testcheck.Get(options.Find(name, c.place).Read(nil, text))(t)
			given[name], values[name] = value, value
		}
		if err := options.Check(c.place, values, given); c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s %v: %v, want %q", c.place, c.given, err, c.want)
		}
	}
	for i := range table {
		for _, r := range table[i].Rules {
			for _, condition := range slices.Concat(r.Needs, r.Excludes) {
				name, word, _ := strings.Cut(condition, "=")
				if o := table.named(name); o == nil || !slices.ContainsFunc(table[i].Places, func(p string) bool { return table.Find(name, p) != nil }) ||
					word != "" && !slices.ContainsFunc(table, func(o Option) bool { return o.Name == name && slices.Contains(o.Words, word) }) {
					t.Errorf("option %s: the condition %s is never true", table[i].Name, condition)
				}
			}
		}
	}
}
