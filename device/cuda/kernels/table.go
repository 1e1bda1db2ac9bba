package kernels

import "gpfit/device/cuda/ptx"

// Kernel is a kernel and its parameters, each of 8 bytes.
type Kernel = ptx.Entry

// Threads is the number of threads in a block of every kernel.
const Threads = ptx.Threads

// Table lists every kernel of the module that [Module] returns.
func Table() []*Kernel { return table }

var table = []*Kernel{
	reduce, logDiagonal, firstBad, sumSquares, getDiagonal, setDiagonal, copyBlocks, invert, symmetricColumns, readRows, writeRows, move,
	batchLeaf, batchBelow, batchAbove, batchTrailing, batchExpand, batchForward, batchBackward, batchLogDet,
}

var (
	reduce           = ptx.NewEntry("gpfit_reduce", "*parts count *out add")
	logDiagonal      = ptx.NewEntry("gpfit_logdiag", "*a lda n *parts")
	firstBad         = ptx.NewEntry("gpfit_firstbad", "*x count stride positive *first")
	sumSquares       = ptx.NewEntry("gpfit_sumsq", "*a step apart n *out")
	getDiagonal      = ptx.NewEntry("gpfit_getdiag", "*a lda n *out invert")
	setDiagonal      = ptx.NewEntry("gpfit_setdiag", "*a lda n *d invert")
	copyBlocks       = ptx.NewEntry("gpfit_copy", "*a lda sa *b ldb sb rows cols upper")
	invert           = ptx.NewEntry("gpfit_invert", "*a lda n order *b ldb")
	symmetricColumns = ptx.NewEntry("gpfit_symcols", "*a lda n j0 j1 *c *b ldb")
	readRows         = ptx.NewEntry("gpfit_readrows", "*a lda n r0 r1 *b ldb")
	writeRows        = ptx.NewEntry("gpfit_writerows", "*a lda n r0 r1 *b ldb")
	move             = ptx.NewEntry("gpfit_move", "*room first back")
	batchLeaf        = ptx.NewEntry("gpfit_batch_leaf", "*problems lda n o")
	batchBelow       = ptx.NewEntry("gpfit_batch_below", "*problems lda n o")
	batchAbove       = ptx.NewEntry("gpfit_batch_above", "*problems lda n o")
	batchTrailing    = ptx.NewEntry("gpfit_batch_trailing", "*problems lda n o")
	batchExpand      = ptx.NewEntry("gpfit_batch_expand", "*problems lda n o")
	batchForward     = ptx.NewEntry("gpfit_batch_forward", "*problems lda n o")
	batchBackward    = ptx.NewEntry("gpfit_batch_backward", "*problems lda n o")
	batchLogDet      = ptx.NewEntry("gpfit_batch_logdet", "*problems lda n")
)
