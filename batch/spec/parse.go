package spec

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"gpfit/internal/atomicfile"
	"gpfit/internal/suggest"
	"gpfit/internal/userfile"
)

// maxFileBytes bounds a spec file.
const maxFileBytes = 8 << 20

// Read reads a spec file and also returns its text. It returns an [*Error].
func Read(path string) (*Batch, []byte, error) {
	text, err := read(path)
	if err != nil {
		return nil, nil, &Error{Source: path, Msg: "cannot be read: " + atomicfile.Cause(err).Error(), Err: err}
	}
	s, err := Parse(path, text)
	return s, text, err
}

// read reads a file or a pipe.
func read(path string) ([]byte, error) {
	f, err := userfile.Stream(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return userfile.All(f, maxFileBytes)
}

// Parse reads a spec. Errors, of type [*Error], name it source.
func Parse(source string, text []byte) (s *Batch, err error) {
	if len(text) > maxFileBytes {
		return nil, &Error{Source: source, Msg: fmt.Sprintf("is longer than %d MiB, too long for a spec", maxFileBytes>>20)}
	}
	// A parser that panics on strange input must not end the program.
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, &Error{Source: source, Msg: "not valid YAML: no reader knows what it means"}
		}
	}()
	if err := checkDepth(source, text); err != nil {
		return nil, err
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil && bytes.IndexByte(text, 0) < 0 { // text, not a model
		return nil, yamlError(source, err)
	}
	s = &Batch{source: source, places: places{}}
	s.places[""] = place{1, 1}
	if err != nil || len(file.Docs) != 1 || file.Docs[0].Body == nil || file.Docs[0].Body.Type() == ast.StringType {
		if err == nil && len(file.Docs) > 1 && file.Docs[1].Start != nil {
			s.places[""] = place{file.Docs[1].Start.Position.Line, 1}
		}
		return nil, s.errorAt("", nil, "must hold one YAML document with data and kernels")
	}
	body := file.Docs[0].Body
	if err := s.checkKeys(body, "", reflect.TypeFor[Batch]()); err != nil {
		return nil, err
	}
	err = yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(s)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, yamlError(source, err)
	}
	return s, s.check()
}

// maxDepth bounds the brackets in brackets of a spec, and the lists in lists of one line. A spec needs five.
const maxDepth = 50

// checkDepth returns an error for what is nested too deeply: the parser takes time and memory by the square of the depth.
func checkDepth(source string, text []byte) error {
	brackets, entries, line := 0, 0, 0
	for _, t := range lexer.Tokenize(string(text)) {
		if t.Position.Line != line {
			entries, line = 0, t.Position.Line
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		case token.SequenceEntryType, token.MappingKeyType:
			entries++
		}
		if max(brackets, entries) > maxDepth {
			return &Error{Source: source, Line: line, Column: t.Position.Column, Msg: fmt.Sprintf("has lists within lists, or maps, more than %d deep", maxDepth)}
		}
	}
	return nil
}

// yamlError returns an error of the YAML library with its place.
func yamlError(source string, err error) error {
	out := &Error{Source: source, Msg: err.Error(), Err: err}
	if ye, ok := errors.AsType[yaml.Error](err); ok {
		out.Msg = ye.GetMessage()
		if t := ye.GetToken(); t != nil && t.Position != nil {
			out.Line, out.Column = t.Position.Line, t.Position.Column
		}
	}
	// The library names Go types, and nodes by their names in YAML's grammar.
	if out.Msg == "could not find map" { // of a list with the tag !!set
		out.Msg = "the tag !!set has no meaning in a spec: leave it out"
	}
	if m := nodeMismatch.FindStringSubmatch(out.Msg); m != nil {
		out.Msg = "must be " + cmp.Or(nodeWords[m[2]], "a "+m[2]) + ", not " + cmp.Or(nodeWords[m[1]], "a "+m[1])
	}
	if m := typeMismatch.FindStringSubmatch(out.Msg); m != nil {
		out.Msg = "must be " + goWord(m[3]) + ", not " + goWord(m[1])
	}
	return out
}

var (
	typeMismatch = regexp.MustCompile(`cannot unmarshal (.+) into Go (struct field|value)(?: \S+)? of type (\S+)`)
	nodeMismatch = regexp.MustCompile(`^(\w+) was used where (\w+) is expected$`)
)

// nodeWords are the words for nodes, with their articles.
var nodeWords = map[string]string{"sequence": "a list", "null": "empty", "boolean": "true or false", "integer": "a whole number", "float": "a number"}

// usedTags are the tags that a spec may have.
var usedTags = []string{"!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq"}

// goWords are the words for Go types whose names contain a text; the first one counts.
var goWords = [][2]string{
	{"map", "a mapping"}, {"spec.", "a mapping"}, {"option.", "a mapping"}, {"[]", "a list"},
	{"int", "a whole number"}, {"float", "a number"}, {"bool", "true or false"}, {"time.", "a date"},
}

// goWord names a Go type in words, with its article.
func goWord(t string) string {
	for _, w := range goWords {
		if strings.Contains(t, w[0]) {
			return w[1]
		}
	}
	return "a " + t
}

// checkKeys compares the keys of mappings with the fields of t, the type that the decoder
// fills from the node, and notes places.
func (s *Batch) checkKeys(n ast.Node, path string, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := n.(type) {
	case *ast.AnchorNode:
		return s.checkKeys(v.Value, path, t)
	case *ast.TagNode:
		if tag := v.GetToken().Value; !slices.Contains(usedTags, tag) {
			s.places.note(path, v)
			return s.errorAt(path, nil, "the tag %s has no meaning in a spec: leave it out, and write a list as [a, b] and a mapping as {a: 1}", tag)
		}
		return s.checkKeys(v.Value, path, t)
	case *ast.FloatNode:
		if k := t.Kind(); k == reflect.Int || k == reflect.Uint64 {
			return s.errorAt(path, nil, "must be a whole number, not %s", v.GetToken().Value)
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
		return nil // the decoder checks the merged keys
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
		known := slices.Sorted(maps.Keys(fields))
		return s.errorAt(at, nil, "unknown key %q%s; known here: %s", key, suggest.DidYouMean(key, known), strings.Join(known, ", "))
	}
	if null {
		return s.errorAt(at, nil, "%s has no value", key)
	}
	return s.checkKeys(kv.Value, at, field)
}

// Fields returns the keys of a mapping that the struct t defines, and their types.
func Fields(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, rest, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if rest == "inline" {
			maps.Copy(out, Fields(f.Type))
		} else {
			out[name] = f.Type
		}
	}
	return out
}
