package layers

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"gpfit/internal/must"
)

// TestReferences checks that uses of functions, types, methods, fields, constants
// and variables of another file are references, and that uses by tests are not.
func TestReferences(t *testing.T) {
	dir := module(t, "references")
	pkgs := must.Get(Load(dir, "."))(t)
	want := []Reference{
		{"b.go", "a.go", []string{"C", "F", "G", "T", "T.M", "V"}},
		{"c.go", "a.go", []string{"T"}},
		{"c.go", "b.go", []string{"f"}},
	}
	if got := References(pkgs[0]); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Files(pkgs[0]); !slices.Equal(got, []string{"a.go", "b.go", "c.go"}) {
		t.Errorf("files %v", got)
	}
}

// refs parses references from text such as "ab bc": file a uses b, b uses c.
func refs(text string) []Reference {
	var out []Reference
	for pair := range strings.FieldsSeq(text) {
		out = append(out, Reference{From: pair[:1], To: pair[1:]})
	}
	return out
}

// TestArrange compares arrangements with explicit ones.
func TestArrange(t *testing.T) {
	for _, c := range []struct{ files, refs, floors, up string }{
		{"a b c", "", "abc", ""},
		{"a b c", "ca cb", "c ab", ""},
		{"a b c d", "ab bc ac cd", "a b c d", ""},
		{"a b c", "ab bc ca ba", "b c a", "ab"},
		{"a b c d", "ab bc ca cb da", "cd a b", "bc"},
		{"a b c", "cb bc ca ab", "c a b", "bc"},
	} {
		a := Arrange(strings.Fields(c.files), refs(c.refs))
		var floors, up []string
		for _, f := range a.Floors {
			floors = append(floors, strings.Join(f, ""))
		}
		for _, r := range a.Up {
			up = append(up, r.From+r.To)
		}
		if got := strings.Join(floors, " "); len(a.Up) != len(strings.Fields(c.up)) || c.floors != got || strings.Join(up, " ") != c.up {
			t.Errorf("%s: floors %s and up %v, want %s and %s", c.refs, got, up, c.floors, c.up)
		}
	}
}
