package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"gpfit/internal/suggest"
)

// maxFileBytes bounds a spec file.
const maxFileBytes = 8 << 20

// Read reads a spec file.
func Read(path string) (*Batch, []byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, &Error{Source: path, Msg: "cannot be read: " + reason(err), Err: err}
	}
	s, err := Parse(path, text)
	return s, text, err
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
