package mpi

import (
	"bytes"
	"encoding/gob"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"gpfit/internal/hostmem"
	"gpfit/internal/workers"
	"gpfit/kernel"
	"gpfit/method/mpi/engine"
	"gpfit/method/mpi/host"
	"gpfit/method/mpi/message"
	"gpfit/method/mpi/part"
)

// group is the ranks of the program, which compute together.
type group struct {
	world *message.World
	// grid computes for a rank. It is nil until the first call needs it.
	grid *engine.Grid
	// slow means that the reference BLAS computes the products.
	slow atomic.Bool
	// team is the threads of a rank.
	team *workers.Team
}

// open opens the engine of this rank. The error on rank 0 is the first error of any rank.
func (g *group) open(c *call) error {
	if g.world.Size > 1 {
		if err := g.world.FirstError(compare(c.Facts, facts())); err != nil {
			return err
		}
	}
	grid, err := engine.Open(g.world, c.Shape, c.Engine)
	if err != nil {
		return err
	}
	grid.SetThreads(g.team.Size())
	g.slow.Store(grid.Slow())
	g.grid = grid
	return nil
}

// threadsOf returns the number of threads for a rank: all that it may use, but not more than its part of the
// processors of the node. The launcher may have bound it to its own ones, or not.
func threadsOf(w *message.World) int {
	threads := runtime.GOMAXPROCS(0)
	text, err := os.ReadFile("/sys/devices/system/cpu/online") // such as 0-63
	fields := strings.FieldsFunc(strings.TrimSpace(string(text)), func(r rune) bool { return r == '-' || r == ',' })
	if err != nil || len(fields) == 0 {
		return threads
	}
	last, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		return threads
	}
	return max(1, min(threads, (last+1)/w.Near))
}

// operation names a call.
type operation string

// The operations of all ranks.
const (
	opOpen     operation = "open"
	opMeasure  operation = "measure"
	opAllocate operation = "allocate"
	opForm     operation = "form"
	opSolve    operation = "solve"
	opContract operation = "contract"
	opPredict  operation = "predict"
	opMultiply operation = "multiply"
	opFree     operation = "free"
	opEnd      operation = "end"
)

// call is an operation with its arguments, which rank 0 sends to all.
type call struct {
	Op operation
	// Share is the number of the workspace.
	Share int
	// N, D and M are sizes: points, columns, and right-hand sides or points of a prediction.
	N, D, M int
	// Shape and Engine come from the variables of rank 0: a launcher need not pass variables on to other machines.
	Shape  part.Shape
	Engine string
	// Facts are the facts of rank 0.
	Facts map[string]string
	// With is the matrix to solve with.
	With part.Operation
	// Threads is the number of threads that a rank may use.
	Threads int
	// Code is the exit code of the program that ends.
	Code int
	// Text and Labels are the covariance function.
	Text   string
	Labels []int
	// Inv and Outer are factors of an adjoint.
	Inv   float64
	Outer []float64
	// Variances asks for the reduction of the variances.
	Variances bool
	// Lengths are the lengths of numbers.
	Lengths []int
	// numbers are sent apart: points, parameters, noise, vectors, as the operation says.
	numbers [][]float64
	// prog is the covariance function on rank 0.
	prog *kernel.Program
	// poll is called on rank 0 between pieces of the work, with the operations done, and reports whether to stop.
	poll func(flops float64) (stop bool)
}

// result is the result of a call, on rank 0.
type result struct {
	stopped bool
	minor   int
	// err says why the ranks cannot compute.
	err error
	// vectors are the vectors of the operation's result.
	vectors [][]float64
}

// send sends a call to all other ranks.
func (g *group) send(c *call) {
	if g.world.Size == 1 {
		return
	}
	c.Lengths = nil
	for _, v := range c.numbers {
		c.Lengths = append(c.Lengths, len(v))
	}
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(c); err != nil {
		panic(err)
	}
	g.world.Announce(text.Bytes())
	for _, v := range c.numbers {
		g.world.Broadcast(v)
	}
}

// receive waits for the next call of rank 0.
func (g *group) receive() *call {
	c := &call{}
	if err := gob.NewDecoder(bytes.NewReader(g.world.Announce(nil))).Decode(c); err != nil {
		panic(err)
	}
	for _, n := range c.Lengths {
		v := make([]float64, n)
		g.world.Broadcast(v)
		c.numbers = append(c.numbers, v)
	}
	return c
}

// agree reports whether rank 0 wants to stop the call, after flops operations of all ranks.
func (g *group) agree(c *call, flops float64) bool {
	stop := 0.0
	if c.poll != nil && c.poll(flops) {
		stop = 1
	}
	return g.world.Largest(stop) > 0
}

// fail ends the call with an error, which a single rank returns. It ends the program if there are other ranks, which would wait
// for this one forever.
func (g *group) fail(err error) { panic(err) }

// numbersFor returns the numbers that a rank holds for n points of d columns, at most.
func numbersFor(shape part.Shape, n, d int) int64 {
	rows, cols := shape.Largest(n)
	vectors := int64(n) * int64(2*d+16)
	return int64(rows)*int64(cols) + vectors + host.PredictionNumbers
}

// measure returns, for each rank, the bytes that a workspace takes on its node, and the free memory there.
func (g *group) measure(c *call) result {
	need := 8 * numbersFor(g.grid.Shape, c.N, c.D) * int64(g.world.Near)
	return result{vectors: [][]float64{g.world.Gather([]float64{float64(need), float64(hostmem.Free())})}}
}
