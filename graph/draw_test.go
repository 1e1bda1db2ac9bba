package graph_test

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"gpfit/graph"
	"gpfit/internal/testcheck"
)

func drawn(t *testing.T, kernel string, evaluate bool, change func(*graph.Spec)) string {
	t.Helper()
	f := newFixture(t, kernel, 20, 3, change)
	if evaluate {
		f.gradient(t, f.z(1))
	}
	var b bytes.Buffer
	testcheck.Do(t, f.obj.WriteDOT(&b))
	return b.String()
}

// TestDrawing checks that the drawing has both graphs and their link, and is the same each time.
func TestDrawing(t *testing.T) {
	const text = "rbf(ard) + matern32*periodic(dims=0) + linear"
	change := func(s *graph.Spec) {
		freeMean("linear")(s)
		s.Prior = graph.NegLogPrior(map[string]graph.Prior{"k1.lengthscale[1]": mustPrior(t, "gamma(2, 1)")})
	}
	got := drawn(t, text, true, change)
	for _, word := range []string{
		"Kernel", "AddNoise", "NLML", "KernelGrad", "log k1.lengthscale", "k(x, x′) of a pair: rbf(ard) + matern32*periodic(dims=0) + linear",
		"squared distance [0 1 2] over k1.lengthscale²", `"inner product [0 1 2]"`, "sum of sin² [0] by k2.k2.period",
		"(1 + t) exp(−t), t = √", `"exp"`, "∂k/∂ k3.signal_variance", "∂ objective/∂ log k1.lengthscale",
	} {
		if !strings.Contains(got, word) {
			t.Errorf("no %q in the drawing:\n%s", word, got)
		}
	}
	if again := drawn(t, text, true, change); again != got {
		t.Error("another drawing of the same objective")
	}
	if wrong := regexp.MustCompile(`0x[0-9a-f]+|NaN|%!|_\d{5}`).FindString(got); wrong != "" {
		t.Errorf("%q in the drawing:\n%s", wrong, got)
	}
	for _, link := range []string{"color=\"#2f7d32\", penwidth=2]", "style=dashed]"} {
		if !strings.Contains(got, link) {
			t.Errorf("no edge with %s between the clusters", link)
		}
	}
}

// TestDrawingOfTies checks elements and numbers that are assembled into a vector.
func TestDrawingOfTies(t *testing.T) {
	got := drawn(t, "rbf(ard) + matern32", true, func(s *graph.Spec) {
		s.Derive = map[string]func(graph.Nodes) (*gorgonia.Node, error){"k2.lengthscale": graph.Tied("k1.lengthscale[1]")}
	})
	for _, word := range []string{`"element 1\n`, `"put at element 1\n`} {
		if !strings.Contains(got, word) {
			t.Errorf("no %s in the drawing:\n%s", word, got)
		}
	}
}

// TestDrawingIsValid checks drawings with Graphviz, if it is installed.
func TestDrawingIsValid(t *testing.T) {
	dot, err := exec.LookPath("dot")
	if err != nil {
		t.Skip("no dot")
	}
	for _, text := range []string{"rbf", "poly(3, ard)*cosine + rq + constant", "constant"} {
		for _, evaluate := range []bool{false, true} {
			got := drawn(t, text, evaluate, func(s *graph.Spec) { s.LeaveOneOut = evaluate })
			cmd := exec.Command(dot, "-Tplain")
			cmd.Stdin = strings.NewReader(got)
			var messages bytes.Buffer
			cmd.Stderr = &messages
			if err := cmd.Run(); err != nil || strings.Contains(messages.String(), "rror") {
				t.Errorf("%s: %v: %s\n%s", text, err, &messages, got)
			}
		}
	}
}
