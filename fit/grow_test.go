package fit

import (
	"slices"
	"testing"

	"gpfit/internal/must"
	"gpfit/kernel"
)

func mustParse(t *testing.T, text string) kernel.Expr {
	t.Helper()
	e := must.Get(kernel.Parse(text))(t)
	return e
}

func bases(t *testing.T, texts ...string) []*kernel.Leaf {
	t.Helper()
	var out []*kernel.Leaf
	for _, text := range texts {
		out = append(out, mustParse(t, text).(*kernel.Leaf))
	}
	return out
}

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"rbf":                          "rbf",
		"rbf + linear":                 "linear + rbf",
		"rbf + (linear + cosine)":      "cosine + linear + rbf",
		"rbf*(linear*cosine)":          "cosine*linear*rbf",
		"rbf*(linear + (cosine + rq))": "(cosine + linear + rq)*rbf",
		"(rbf + rbf)*(rbf + linear)":   "(linear + rbf)*(rbf + rbf)",
		"linear + rbf*cosine":          "cosine*rbf + linear",
	} {
		got := canonical(mustParse(t, text))
		if got.String() != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
		if again := canonical(mustParse(t, got.String())).String(); again != want {
			t.Errorf("%s becomes %s when done twice", want, again)
		}
	}
}

func TestNeighbours(t *testing.T) {
	texts := func(e string, leaves int, b ...string) []string {
		var out []string
		for _, n := range neighbours(mustParse(t, e), bases(t, b...), leaves) {
			if _, err := kernel.Compile(n, kernel.Columns(2)); err != nil {
				t.Errorf("%s: %v", n, err)
			}
			out = append(out, n.String())
		}
		return out
	}
	for _, c := range []struct {
		e      string
		leaves int
		want   []string
	}{
		// rbf*rbf is an rbf.
		{"rbf", 2, []string{"rbf + rbf", "linear + rbf", "linear*rbf", "linear"}},
		{"rbf", 1, []string{"linear"}},
		{"linear + rbf", 3, []string{
			"linear + rbf + rbf", "(linear + rbf)*rbf", "linear + linear + rbf", "linear*(linear + rbf)",
			"linear*rbf + rbf", "rbf + rbf", "linear*linear + rbf", "linear + linear*rbf", "linear + linear",
		}},
	} {
		if got := texts(c.e, c.leaves, "rbf", "linear"); !slices.Equal(got, c.want) {
			t.Errorf("from %s: %q, want %q", c.e, got, c.want)
		}
	}
	if got := texts("rbf", 2, "constant"); !slices.Equal(got, []string{"constant + rbf", "constant"}) {
		t.Errorf("with a constant: %q", got)
	}
	if got := texts("constant + rbf", 3, "constant"); slices.Contains(got, "constant + constant + rbf") {
		t.Errorf("two constants: %q", got)
	}
}
