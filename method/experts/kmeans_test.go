package experts

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"gpfit/internal/refdata"
	"gpfit/internal/testcheck"
	"gpfit/table"
)

// inputs reads the standardized inputs of a shared table.
func inputs(t *testing.T, name string) *points {
	t.Helper()
	read := testcheck.Get(table.Read(refdata.Path(t, "data", name, "data.csv.gz"), table.Options{}))(t)
	for c := range read.D {
		column := mat.NewDense(read.N, read.D, read.X).ColView(c).(*mat.VecDense)
		mean, std := stat.PopMeanStdDev(mat.Col(nil, 0, column), nil)
		for i := range read.N {
			column.SetVec(i, (column.AtVec(i)-mean)/std)
		}
	}
	return &points{read.X, read.N, read.D}
}

// TestInertia compares the inertia with the best of 10 runs of scikit-learn.
func TestInertia(t *testing.T) {
	text := testcheck.Get(os.ReadFile("testdata/kmeans.json"))(t)
	var want struct {
		Tables []struct {
			Name     string
			Clusters int
			Inertia  float64
		}
	}
	testcheck.Do(t, json.Unmarshal(text, &want))
	for _, table := range want.Tables {
		t.Run(table.Name, func(t *testing.T) {
			rows := inputs(t, table.Name)
			c := kMeans(rows, table.Clusters, 1)
			// The data have five digits; rounding of sums is far below that.
			if !(c.inertia <= table.Inertia*(1+1e-9)) {
				t.Errorf("inertia %.6f, scikit-learn %.6f", c.inertia, table.Inertia)
			}
			checkClusters(t, c)
			if table.Name != "energy" { // the smallest one
				return
			}
			if again := kMeans(rows, table.Clusters, 1); again.inertia != c.inertia || !slices.Equal(again.of, c.of) {
				t.Error("the same seed gives another result")
			}
		})
	}
}

// checkClusters checks that every row is at its nearest centre and that the inertia is
// the sum of the distances.
func checkClusters(t *testing.T, c *clusters) {
	t.Helper()
	sum := 0.0
	for i := range c.n {
		own, least := 0.0, math.Inf(1)
		for k, centre := range c.centres {
			apart := math.Pow(floats.Distance(c.row(i), centre, 2), 2)
			if least = min(least, apart); k == c.of[i] {
				own = apart
			}
		}
		if own > least*(1+1e-12) {
			t.Fatalf("row %d is %v from its centre, and %v from another", i, own, least)
		}
		sum += own
	}
	testcheck.Within(t, c.inertia, sum, 1e-9*sum, "inertia")
}

// blobs returns rows around centres that are far apart, in mixed order, and the blob of each row.
func blobs(sizes []int, d int, seed uint64) (rows []float64, of []int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for k, size := range sizes {
		of = append(of, slices.Repeat([]int{k}, size)...)
	}
	rng.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	for _, k := range of {
		for c := range d {
			v := rng.Float64()
			if c == 0 {
				v += 100 * float64(k)
			}
			rows = append(rows, v)
		}
	}
	return rows, of
}

// TestBlobs checks that k-means finds clusters that are far apart, and copes with fewer
// different rows than clusters and with a table of which it takes a sample.
func TestBlobs(t *testing.T) {
	for _, sizes := range [][]int{{30, 50, 40}, {4000, 5000, 3000}} {
		rows, of := blobs(sizes, 3, 7)
		c := kMeans(&points{rows, len(of), 3}, 3, 5)
		match := map[int]int{}
		for i, k := range c.of {
			if _, seen := match[of[i]]; !seen {
				match[of[i]] = k
			}
			if match[of[i]] != k {
				t.Fatalf("%v: row %d of blob %d is in cluster %d, others in %d", sizes, i, of[i], k, match[of[i]])
			}
		}
		checkClusters(t, c)
	}
	same := []float64{1, 2, 1, 2, 1, 2, 3, 4}
	if c := kMeans(&points{same, 4, 2}, 3, 1); len(c.centres) != 2 || c.inertia != 0 {
		t.Errorf("two different rows: %+v", c.centres)
	}
}

// TestPartitionSizes checks the limit on the rows of an expert and the merging of small clusters.
func TestPartitionSizes(t *testing.T) {
	rows, of := blobs([]int{900, 50, 50}, 2, 3)
	p := NewPartition(rows, len(of), 2, PartitionOptions{Clusters: 3, Seed: 1})
	if limit := 2 * 334; p.Largest() > limit || len(p.Sizes) < 4 || p.Split != 1 || p.Merged != 0 {
		t.Errorf("the default limit: %+v", p)
	}
	p = NewPartition(rows, len(of), 2, PartitionOptions{Clusters: 3, MaxRows: 100, Seed: 1})
	if p.Largest() > 100 || len(p.Sizes) < 11 {
		t.Errorf("at most 100 rows: %v", p.Sizes)
	}
	rows, of = blobs([]int{400, 400, 5}, 2, 3)
	p = NewPartition(rows, len(of), 2, PartitionOptions{Clusters: 3, Seed: 1})
	if slices.Sort(p.Sizes); p.Merged != 1 || !slices.Equal(p.Sizes, []int{400, 405}) {
		t.Errorf("a cluster of 5 rows: %+v", p)
	}
	testcheck.Do(t, p.Check(805, 2))
	if p.Check(804, 2) == nil || p.Check(805, 3) == nil {
		t.Error("a partition of other rows is accepted")
	}
	same := slices.Repeat([]float64{1}, 50)
	p = NewPartition(same, 50, 1, PartitionOptions{Clusters: 2, MaxRows: 10, Seed: 1})
	if !slices.Equal(p.Sizes, []int{50}) {
		t.Errorf("equal rows: %v", p.Sizes)
	}
}
