package spd

import "gpfit/internal/isa"

func kernelsOf(v isa.Variant) kernels {
	switch v {
	case isa.AVX512:
		return kernels{
			v, 8, [group]productKernel{tileProduct512x1, tileProduct512x2, tileProduct512x3}, [group]solveKernel{tileSolve512x1, tileSolve512x2, tileSolve512x3},
			cholesky512, transpose512, squares512, panelVector512, panelTransposedVector512,
		}
	case isa.AVX2:
		return kernels{
			v, 4, [group]productKernel{tileProduct256x1, tileProduct256x2, tileProduct256x3}, [group]solveKernel{tileSolve256x1, tileSolve256x2, tileSolve256x3},
			cholesky256, transpose256, squares256, panelVector256, panelTransposedVector256,
		}
	}
	return portable(v)
}
