package suggest

import "testing"

func TestDidYouMean(t *testing.T) {
	known := []string{"fit", "predict", "restarts", "max-evals"}
	for asked, want := range map[string]string{
		"fti": "fit", "fi": "fit", "Predict": "predict", "restart": "restarts", "maxevals": "max-evals", "xyzzy": "", "": "", "fod": "", "kit": "", "pf": "",
	} {
		if got, _ := Closest(asked, known); got != want {
			t.Errorf("%q: %q, want %q", asked, got, want)
		}
	}
	if got := DidYouMean("restart", known); got != ` (did you mean "restarts"?)` {
		t.Error(got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"größe", "grösse", 2}, {"same", "same", 0}, {"fti", "fit", 1}, {"abcd", "badc", 2}} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			if got := distance([]rune(pair[0]), []rune(pair[1])); got != c.want {
				t.Errorf("%q and %q: %d, want %d", pair[0], pair[1], got, c.want)
			}
		}
	}
}
