package suggest

import "testing"

func TestDidYouMean(t *testing.T) {
	known := []string{"fit", "predict", "restarts", "max-evals"}
	for asked, want := range map[string]string{
		"fti": "fit", "fi": "fit", "Predict": "predict", "restart": "restarts", "maxevals": "max-evals", "xyzzy": "", "": "",
	} {
		if got, _ := Closest(asked, known); got != want {
			t.Errorf("%q: %q, want %q", asked, got, want)
		}
	}
	if got := DidYouMean("restart", known); got != ` (did you mean "restarts"?)` {
		t.Error(got)
	}
}
