package batch

import (
	"fmt"
	"testing"

	"gpfit/internal/fuzzguard"
)

// FuzzParseShard checks that ParseShard returns an error or an index below the
// count, that the shard printed as i/N parses to the same shard, and that the shard
// contains the job of its own index but not the next one.
func FuzzParseShard(f *testing.F) {
	for _, c := range [][3]string{{"0/3"}, {"auto", "4", "2"}, {"auto/3", "2", ""}, {"3/3"}, {"-1/2"}, {"1/0"}, {" 1/2 "}, {"a/b"}, {"9223372036854775807/9223372036854775807"}, {"auto", "x", "1"}} {
		f.Add(c[0], c[1], c[2])
	}
	f.Fuzz(func(t *testing.T, text, index, count string) {
		fuzzguard.Run(t, func() {
			variables := map[string]string{"SLURM_ARRAY_TASK_ID": index, "SLURM_ARRAY_TASK_COUNT": count, "JOB_COMPLETION_INDEX": index}
			lookup := func(name string) (string, bool) { v, ok := variables[name]; return v, ok }
			s, err := ParseShard(text, lookup)
			if err != nil {
				if err.Error() == "" {
					t.Fatal("the error has no text")
				}
				return
			}
			if s.Index < 0 || s.Index >= s.Count {
				t.Fatalf("%q: %+v", text, s)
			}
			again, err := ParseShard(fmt.Sprintf("%d/%d", s.Index, s.Count), nil)
			if err != nil || again != s {
				t.Fatalf("%+v read back as %+v, %v", s, again, err)
			}
			if !s.holds(s.Index) || s.Count > 1 && s.holds(s.Index+1) {
				t.Fatalf("%+v holds the wrong jobs", s)
			}
		})
	})
}
