package cuda

import (
	"context"

	"gpfit/device"
	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/ptx"
	"gpfit/kernel"
)

// MultiplyDerivatives multiplies the sums of the gradient by a few vectors at a time, some rows at
// a time. The host computes the derivatives from the sums.
func (w *Workspace) MultiplyDerivatives(ctx context.Context, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) error {
	return w.do(ctx, stageEmpty, func() {
		w.check(device.CheckProducts(prog, int(w.n), vectors, m, dst))
		if w.poll(); m == 0 || !w.bind(prog, theta) || !w.program.bindGradient(&w.queue, &w.memory, theta) {
			return
		}
		w.local(func(local *memory) {
			p := multiplication{Workspace: w, dst: dst, count: m, assemble: w.program.gradient.Assembler(theta, w.program.gradient.values)}
			p.allocate(local)
			for k := 0; k < m && w.err == nil; k += p.entry.Vectors {
				p.multiply(k, vectors)
			}
		})
	})
}

// multiplication multiplies the derivatives by count vectors.
type multiplication struct {
	*Workspace
	dst      []float64
	count    int
	assemble func(grad, sums []float64)
	entry    *ptx.Entry
	// rows is the number of rows of a launch, v holds its vectors and sums its result, which is
	// copied to host.
	rows             int64
	v, scratch, sums buffer
	host             []float64
}

// productScratch limits the scratch memory of a launch of more than one block, in numbers.
const productScratch = 32 << 20

// allocate allocates the memory of a launch.
func (p *multiplication) allocate(local *memory) {
	f := p.program.gradient.Kernel
	p.entry = ptx.Derivatives(p.count)
	columns, block := int64(f.NumSums()*p.entry.Vectors), int64(f.ProductScratch(p.entry))
	const height = kernels.DerivativeRows
	blocks := min(p.program.work.Blocks, max(1, 2*p.sizes.fill/height), max(1, productScratch/block), (p.n+height-1)/height)
	p.rows = min(p.n, blocks*height)
	vectors := leadingDim(p.n) * int64(p.entry.Vectors)
	p.require(8*(vectors+blocks*block+p.rows*columns), "products of derivatives with vectors")
	p.need(local, &p.v, vectors)
	p.need(local, &p.scratch, blocks*block)
	p.need(local, &p.sums, p.rows*columns)
	p.host = make([]float64, p.rows*columns)
}

// multiply multiplies by the vectors from number first on.
func (p *multiplication) multiply(first int, vectors []float64) {
	left := p.count - first
	p.entry = ptx.Derivatives(left)
	v, used := p.columns(p.v), min(left, p.entry.Vectors)
	p.clear(p.v.at, v.LD*int64(p.entry.Vectors))
	p.uploadBlock(v, vectors[int64(first)*p.n:], p.n, p.n, int64(used))
	for i0 := int64(0); i0 < p.n && p.err == nil; i0 += p.rows {
		rows := min(p.rows, p.n-i0)
		sums := p.host[:int(rows)*p.program.gradient.NumSums()*p.entry.Vectors]
		p.run(kernels.Derivatives(p.program.gradient.Function, p.entry, p.points, i0, i0+rows, v, p.scratch.at, kernels.Matrix{A: p.sums.at, LD: rows}))
		p.download(sums, p.sums.at)
		for k := range used {
			p.collect(int(i0), first+k, sums[int64(k)*rows:], int(rows))
		}
		p.poll()
	}
}

// collect writes rows i0 … i0+rows−1 of the products with the k-th vector, whose sums are columns
// Vectors·rows apart.
func (p *multiplication) collect(i0, k int, sums []float64, rows int) {
	one, grad := make([]float64, p.program.gradient.NumSums()), make([]float64, p.program.of.NumParams)
	for i := range rows {
		for s := range one {
			one[s] = sums[s*p.entry.Vectors*rows+i]
		}
		clear(grad)
		p.assemble(grad, one)
		for q, v := range grad {
			p.dst[(q*p.count+k)*int(p.n)+i0+i] = v
		}
	}
}
