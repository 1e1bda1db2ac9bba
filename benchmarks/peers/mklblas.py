"""Calls Intel's MKL, from PyPI's package mkl, through ctypes.

MKL has no Python interface of its own. Matrices are NumPy arrays of float64 in C order.
"""

import ctypes
import glob
import os
import sys

ROW_MAJOR, NO_TRANSPOSE = 101, 111


class MKL:
    def __init__(self, threads):
        found = sorted(glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*")))
        if not found:
            raise FileNotFoundError("libmkl_rt.so is missing: pip install mkl")
        self.lib = ctypes.CDLL(found[0])
        self.lib.MKL_Set_Threading_Layer(0 if threads > 1 else 1)  # Intel's OpenMP, or none
        self.lib.MKL_Set_Num_Threads(threads)

    def dgemm(self, a, b, c):
        """Sets c to a·b for square matrices."""
        n, double = ctypes.c_int(len(a)), ctypes.c_double
        self.lib.cblas_dgemm(ctypes.c_int(ROW_MAJOR), ctypes.c_int(NO_TRANSPOSE), ctypes.c_int(NO_TRANSPOSE), n, n, n,
                             double(1), _pointer(a), n, _pointer(b), n, double(0), _pointer(c), n)

    def inverse(self, a):
        """Replaces the lower triangle of a by that of its inverse, with potrf and potri.

        LAPACKE would transpose matrices in C order. The upper triangle in Fortran order
        is the same memory.
        """
        n, info = ctypes.c_int(len(a)), ctypes.c_int()
        for routine in (self.lib.dpotrf_, self.lib.dpotri_):
            routine(ctypes.c_char_p(b"U"), ctypes.byref(n), _pointer(a), ctypes.byref(n), ctypes.byref(info))
            if info.value:
                raise ValueError(f"info {info.value}")


def _pointer(a):
    return ctypes.c_void_p(a.ctypes.data)
