package batch

import (
	"fmt"
	"strconv"
	"strings"

	"gpfit/internal/suggest"
)

// Shard selects the jobs of a run whose number, modulo Count, is Index. The zero
// value selects all jobs.
type Shard struct{ Index, Count int }

// holds reports whether the shard contains job number i.
func (s Shard) holds(i int) bool { return s.Count <= 1 || i%s.Count == s.Index }

// ParseShard parses "i/N", with i from 0 to N−1, "auto" or "auto/N". For auto it
// reads the index from SLURM_ARRAY_TASK_ID, _MIN and _STEP or from Kubernetes'
// JOB_COMPLETION_INDEX. The count is N or SLURM_ARRAY_TASK_COUNT. lookup reads a
// variable, as os.LookupEnv does.
func ParseShard(text string, lookup func(string) (string, bool)) (Shard, error) {
	index, count, hasCount := strings.Cut(strings.TrimSpace(text), "/")
	var s Shard
	var err error
	if hasCount {
		if s.Count, err = strconv.Atoi(count); err != nil || s.Count < 1 {
			return s, fmt.Errorf("shard %q: %q is not a number of shards", text, count)
		}
	}
	switch {
	case index == "auto":
		s.Index, err = autoIndex(&s.Count, lookup)
		if err != nil {
			return s, fmt.Errorf("shard %q: %w", text, err)
		}
	case !hasCount:
		return s, fmt.Errorf("shard %q: must be i/N, auto or auto/N%s", text, suggest.DidYouMean(text, []string{"auto"}))
	default:
		if s.Index, err = strconv.Atoi(index); err != nil {
			return s, fmt.Errorf("shard %q: %q is not the index of a shard", text, index)
		}
	}
	if s.Count == 0 {
		return s, fmt.Errorf("shard %q: the scheduler does not set the number of shards: use auto/N", text)
	}
	if s.Index < 0 || s.Index >= s.Count {
		return s, fmt.Errorf("shard %q: index %d is not in the range 0 … %d", text, s.Index, s.Count-1)
	}
	return s, nil
}

// autoIndex reads the scheduler's variables. It sets count if count is 0.
func autoIndex(count *int, lookup func(string) (string, bool)) (int, error) {
	number := func(name string, otherwise int) (int, error) {
		v, ok := lookup(name)
		if !ok || v == "" {
			return otherwise, nil
		}
		n, err := strconv.Atoi(v)
		if err != nil {
			return 0, fmt.Errorf("%s=%s is not a number", name, v)
		}
		return n, nil
	}
	if v, ok := lookup("SLURM_ARRAY_TASK_ID"); ok && v != "" {
		var n [4]int
		for i, name := range []string{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_COUNT"} {
			var err error
			if n[i], err = number(name, []int{0, 0, 1, 0}[i]); err != nil {
				return 0, err
			}
		}
		if *count == 0 {
			*count = n[3]
		}
		return (n[0] - n[1]) / max(n[2], 1), nil
	}
	if v, ok := lookup("JOB_COMPLETION_INDEX"); ok && v != "" {
		return number("JOB_COMPLETION_INDEX", 0)
	}
	return 0, fmt.Errorf("neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set")
}
