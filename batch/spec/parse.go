package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"gpfit/fit"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/internal/suggest"
	"gpfit/kernel"
	"gpfit/mean"
)

// Error is what is wrong with a spec file, and where. The command line maps it
// to exit code 2.
type Error struct {
	// Source is the file's name; Line and Column count from 1, 0 if the error
	// belongs to no place.
	Source       string
	Line, Column int
	Msg          string
	// Err is the cause, if there is one.
	Err error
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Source + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Source, e.Line, e.Column, e.Msg)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Limits on a spec file: a batch beyond them is a mistake.
const (
	maxFileBytes = 8 << 20
	maxJobs      = 1_000_000
	maxID        = 200 // a file's name has 255 characters
)

// Read reads a spec file.
func Read(path string) (*Batch, []byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, &Error{Source: path, Msg: "cannot be read: " + reason(err), Err: err}
	}
	s, err := Parse(path, text)
	return s, text, err
}

// reason is an error of package os without the path, which is shown already.
func reason(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// Parse reads a spec; source is the name that errors give. Errors: [*Error].
func Parse(source string, text []byte) (s *Batch, err error) {
	if len(text) > maxFileBytes {
		return nil, &Error{Source: source, Msg: fmt.Sprintf("longer than %d MiB: this is no spec", maxFileBytes>>20)}
	}
	// A parser that panics on strange input must not end the program.
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, &Error{Source: source, Msg: fmt.Sprintf("not valid YAML (%v)", p)}
		}
	}()
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, yamlError(source, err)
	}
	s = &Batch{source: source, places: places{}}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, &Error{Source: source, Msg: "must hold one YAML document with data and kernels"}
	}
	body := file.Docs[0].Body
	s.places.note("", body)
	if err := s.checkKeys(body, "", reflect.TypeFor[Batch]()); err != nil {
		return nil, err
	}
	err = yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(s)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, yamlError(source, err)
	}
	return s, s.check()
}

// yamlError gives an error of the YAML library its place.
func yamlError(source string, err error) error {
	out := &Error{Source: source, Msg: err.Error(), Err: err}
	var ye yaml.Error
	if errors.As(err, &ye) {
		out.Msg = ye.GetMessage()
		if t := ye.GetToken(); t != nil && t.Position != nil {
			out.Line, out.Column = t.Position.Line, t.Position.Column
		}
	}
	// The library names types of Go.
	if m := typeMismatch.FindStringSubmatch(out.Msg); m != nil {
		out.Msg = "a " + goWord(m[1]) + " where " + goWord(m[3]) + " is needed"
	}
	return out
}

var typeMismatch = regexp.MustCompile(`cannot unmarshal (\S+) into Go (struct field|value)(?: \S+)? of type (\S+)`)

func goWord(t string) string {
	switch {
	case strings.HasPrefix(t, "map") || strings.Contains(t, "spec."):
		return "mapping"
	case strings.HasPrefix(t, "[]"):
		return "list"
	case strings.Contains(t, "int"):
		return "whole number"
	case strings.Contains(t, "float"):
		return "number"
	case strings.Contains(t, "bool"):
		return "true or false"
	}
	return t
}

// places maps the path of a node, such as "kernels[1].kernel", to its place.
type places map[string]place

type place struct{ line, column int }

func (p places) note(path string, n ast.Node) {
	if t := n.GetToken(); t != nil && t.Position != nil {
		p[path] = place{t.Position.Line, t.Position.Column}
	}
}

// errorAt is an error at the node of a path, or at the nearest one above it.
func (s *Batch) errorAt(path string, err error, format string, args ...any) error {
	out := &Error{Source: s.source, Msg: fmt.Sprintf(format, args...), Err: err}
	for {
		if at, ok := s.places[path]; ok {
			out.Line, out.Column = at.line, at.column
			return out
		}
		i := strings.LastIndexAny(path, ".[")
		if i < 0 {
			return out
		}
		path = path[:i]
	}
}

// checkKeys compares the keys of mappings with the fields of t, which the
// node is decoded into, and notes places.
func (s *Batch) checkKeys(n ast.Node, path string, t reflect.Type) error {
	switch v := n.(type) {
	case *ast.AnchorNode:
		return s.checkKeys(v.Value, path, t)
	case *ast.TagNode:
		return s.checkKeys(v.Value, path, t)
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := n.(type) {
	case *ast.FloatNode:
		if k := t.Kind(); k == reflect.Int || k == reflect.Uint64 {
			return s.errorAt(path, nil, "%s where a whole number is needed", v.GetToken().Value)
		}
	case *ast.MappingNode:
		for _, kv := range v.Values {
			if err := s.checkKey(kv, path, t); err != nil {
				return err
			}
		}
	case *ast.MappingValueNode:
		return s.checkKey(v, path, t)
	case *ast.SequenceNode:
		for i, item := range v.Values {
			at := fmt.Sprintf("%s[%d]", path, i)
			s.places.note(at, item)
			if t.Kind() == reflect.Slice {
				if err := s.checkKeys(item, at, t.Elem()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *Batch) checkKey(kv *ast.MappingValueNode, path string, t reflect.Type) error {
	if kv.Key.IsMergeKey() {
		return nil // the decoder checks what comes in by it
	}
	key := kv.Key.GetToken().Value
	at := strings.TrimPrefix(path+"."+key, ".")
	s.places.note(at, kv.Key)
	_, null := kv.Value.(*ast.NullNode)
	if t.Kind() == reflect.Map {
		if null && t.Elem().Kind() != reflect.Pointer {
			return s.errorAt(at, nil, "%s has no value", key)
		}
		return s.checkKeys(kv.Value, at, t.Elem())
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	fields := Fields(t)
	field, ok := fields[key]
	if !ok || key == "" {
		known := make([]string, 0, len(fields))
		for name := range fields {
			known = append(known, name)
		}
		slices.Sort(known)
		return s.errorAt(at, nil, "unknown key %q%s; known here: %s", key, suggest.DidYouMean(key, known), strings.Join(known, ", "))
	}
	if null {
		return s.errorAt(at, nil, "%s has no value", key)
	}
	return s.checkKeys(kv.Value, at, field)
}

// Fields returns the keys that a mapping of struct t has, and their types.
func Fields(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, rest, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if rest == "inline" {
			for k, v := range Fields(f.Type) {
				out[k] = v
			}
			continue
		}
		out[name] = f.Type
	}
	return out
}

// validName is what job ids are made of.
var validName = regexp.MustCompile(`^[A-Za-z0-9_+-]{1,80}$`)

// check finds what the form of the file does not tell.
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
	for i := range s.Data {
		if err := s.checkData(i); err != nil {
			return err
		}
	}
	for i := range s.Kernels {
		if err := s.checkKernel(i); err != nil {
			return err
		}
	}
	if err := s.checkSplits("splits", s.Splits); err != nil {
		return err
	}
	if i := duplicate(s.Seeds); i >= 0 {
		return s.errorAt(fmt.Sprintf("seeds[%d]", i), nil, "seed %d is there twice", s.Seeds[i])
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
	for i, v := range list {
		if slices.Contains(list[:i], v) {
			return i
		}
	}
	return -1
}

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
	if !validName.MatchString(d.Name) {
		return s.errorAt(at+".name", nil, "name %q: must be letters, digits, _, + and -", d.Name)
	}
	for _, other := range s.Data[:i] {
		if other.Name == d.Name {
			return s.errorAt(at, nil, "a second data set named %q: give it another name", d.Name)
		}
	}
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
		return s.errorAt(fmt.Sprintf("%s[%d]", at, i), nil, "split %s is there twice", splits.Columns[i])
	}
	return nil
}

func (s *Batch) checkKernel(i int) error {
	at, k := fmt.Sprintf("kernels[%d]", i), &s.Kernels[i]
	if k.Kernel == "" {
		return s.errorAt(at, nil, "a kernel needs its expression, under the key kernel")
	}
	if _, err := kernel.Parse(k.Kernel); err != nil {
		return s.errorAt(at+".kernel", err, "%v", err)
	}
	if k.Name == "" {
		k.Name = slug(k.Kernel)
	}
	if !validName.MatchString(k.Name) {
		return s.errorAt(at+".name", nil, "name %q: must be at most 80 letters, digits, _, + and -", k.Name)
	}
	for _, other := range s.Kernels[:i] {
		if other.Name == k.Name {
			return s.errorAt(at, nil, "a second kernel named %q: give it a name of its own", k.Name)
		}
	}
	return s.checkOptions(at, k.Options)
}

// checkOptions finds values that no job can have.
func (s *Batch) checkOptions(at string, o Options) error {
	oneOf := func(key string, value *string, allowed ...string) error {
		if value == nil || slices.Contains(allowed, *value) {
			return nil
		}
		return s.errorAt(at+"."+key, nil, "%s %q: must be one of %s%s", key, *value, strings.Join(allowed, ", "), suggest.DidYouMean(*value, allowed))
	}
	atLeast := func(key string, value *int, least int) error {
		if value == nil || *value >= least {
			return nil
		}
		return s.errorAt(at+"."+key, nil, "%s %d: must be at least %d", key, *value, least)
	}
	err := errors.Join(
		oneOf("header", (*string)(o.Header), "auto", "yes", "no"),
		oneOf("missing", o.Missing, "error", "drop"), oneOf("mean_fit", o.MeanFit, "auto", "gls", "free"),
		oneOf("noise", o.Noise, "estimated", "none"), oneOf("objective", o.Objective, "nlml", "loo"),
		oneOf("optimizer", o.Optimizer, hyperopt.Methods()...), oneOf("coarse", o.Coarse, fit.Coarses()...),
		atLeast("subsample", o.Subsample, 0),
		atLeast("restarts", o.Restarts, 0), atLeast("max_evals", o.MaxEvals, 0),
		atLeast("threads", o.Threads, 0), atLeast("retries", o.Retries, 0),
	)
	if err != nil {
		return err.(interface{ Unwrap() []error }).Unwrap()[0]
	}
	if o.Mean != nil {
		if _, err := mean.Parse(*o.Mean); err != nil {
			return s.errorAt(at+".mean", err, "%v", err)
		}
	}
	for _, name := range sortedKeys(o.Prior) {
		if _, err := graph.ParsePrior(o.Prior[name]); err != nil {
			return s.errorAt(at+".prior."+name, err, "prior of %s: %v", name, err)
		}
	}
	for i, score := range o.Scores {
		if score != "loo" {
			return s.errorAt(fmt.Sprintf("%s.scores[%d]", at, i), nil, "scores %q: must be loo; splits are a batch's cross-validation", score)
		}
	}
	if o.Target != nil && strings.Contains(string(*o.Target), ",") {
		return s.errorAt(at+".target", nil, "target %q: a job has one target; list the table once for each of them", *o.Target)
	}
	if o.Device != nil && strings.Contains(*o.Device, ",") {
		return s.errorAt(at+".device", nil, "device %q: a job has one device; cuda takes any GPU", *o.Device)
	}
	if o.Standardize != nil {
		if _, err := gp.ParseStandardize(*o.Standardize); err != nil {
			return s.errorAt(at+".standardize", nil, "standardize %q: must be xy, x, y or none", *o.Standardize)
		}
	}
	if j := o.MaxJitter; j != nil && (!(*j >= 0) || math.IsInf(*j, 0)) {
		return s.errorAt(at+".max_jitter", nil, "max_jitter %v: must be a number from 0", *j)
	}
	for _, name := range sortedKeys(o.Bounds) {
		if b := o.Bounds[name]; len(b) != 2 || !(b[0] < b[1]) {
			return s.errorAt(at+".bounds."+name, nil, "bounds of %s: must be [lower, upper] with lower < upper", name)
		}
	}
	if o.Features != nil && len(o.Features) == 0 {
		return s.errorAt(at+".features", nil, "features: names no column")
	}
	return nil
}

// checkMatch finds names that are none: a match that never holds is a mistake.
func (s *Batch) checkMatch(at string, m Match) error {
	if m.Data == nil && m.Kernel == nil && m.Split == nil && m.Seed == nil {
		return s.errorAt(at, nil, "matches every job: say which data, kernel, split or seed is meant")
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
