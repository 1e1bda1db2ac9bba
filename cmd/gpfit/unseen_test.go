package main

import (
	"os"
	"strings"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/testcheck"
)

// TestUnseenCategory predicts rows with a category that the training table lacks: the same as for a table with indicators of 0,
// a code for hamming as for any other category that no row has, and an error for a kernel to which the code is a number.
func TestUnseenCategory(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"t.csv":    "x,c,y\n1,a,1\n2,b,3\n3,a,2.5\n4,b,5\n5,a,4\n6,b,7.5\n7,a,6\n8,b,8\n",
		"one.csv":  "x,c,y\n1,b,1\n2,b,3\n3,b,2.5\n4,b,5\n5,b,4\n6,b,7.5\n",
		"hot.csv":  "x,c_a,c_b,y\n1,1,0,1\n2,0,1,3\n3,1,0,2.5\n4,0,1,5\n5,1,0,4\n6,0,1,7.5\n7,1,0,6\n8,0,1,8\n",
		"new.csv":  "x,c\n2.5,new\n3.5,b\n4.5,new\n",
		"zero.csv": "x,c_a,c_b\n2.5,0,0\n3.5,0,1\n4.5,0,0\n",
	} {
		testcheck.Do(t, os.WriteFile(name, []byte(text), 0o644))
	}
	fit := func(args ...string) {
		if code, _, stderr := runLine(t, append([]string{"fit", "--quiet"}, args...)...); code != 0 {
			t.Fatalf("%v: %d: %s", args, code, stderr)
		}
	}
	const warning = `column "c" has the category "new", which the training table lacks, in 2 rows, first in line 2: its `
	fit("t.csv", "--kernel", "rbf(ard)", "--out", "m.gpfit")
	fit("hot.csv", "--kernel", "rbf(ard)", "--out", "hot.gpfit")
	code, got, stderr := runLine(t, "predict", "m.gpfit", "new.csv")
	_, want, _ := runLine(t, "predict", "hot.gpfit", "zero.csv")
	if code != 0 || got != want || !strings.Contains(stderr, warning+"indicators are all 0") {
		t.Errorf("%d: %s%s, want %s", code, got, stderr, want)
	}
	if code, _, stderr := runLine(t, "predict", "m.gpfit", "new.csv", "--unseen", "error"); code != exit.Data || !strings.Contains(stderr, "--unseen zero accepts it") {
		t.Errorf("%d: %s", code, stderr)
	}
	fit("one.csv", "--kernel", "rbf", "--out", "one.gpfit")
	code, _, stderr = runLine(t, "predict", "one.gpfit", "new.csv", "--unseen", "error")
	if code != exit.Data || !strings.Contains(stderr, `row 1 (from 1), column "c": the training table has no category "new"; it has b; --unseen zero accepts it`) {
		t.Errorf("a constant column: %d: %s", code, stderr)
	}
	if code, _, stderr := runLine(t, "predict", "one.gpfit", "new.csv"); code != 0 || !strings.Contains(stderr, "had one value in all training rows") {
		t.Errorf("a constant column: %d: %s", code, stderr)
	}
	fit("t.csv", "--category-columns", "codes", "--kernel", "hamming(dims=1)*rbf(dims=0)", "--out", "h.gpfit")
	if code, _, stderr := runLine(t, "predict", "h.gpfit", "new.csv"); code != 0 || !strings.Contains(stderr, warning+"code is -1") {
		t.Errorf("%d: %s", code, stderr)
	}
	fit("t.csv", "--category-columns", "codes", "--kernel", "rbf(ard)", "--out", "r.gpfit")
	if code, _, stderr := runLine(t, "predict", "r.gpfit", "new.csv"); code != exit.Data || !strings.Contains(stderr, "only the kernel hamming takes codes of other categories") {
		t.Errorf("%d: %s", code, stderr)
	}
}
