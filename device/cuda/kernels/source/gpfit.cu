// All kernels of gpfit: one module.
#include "covariance.cu"
#include "contract.cu"
#include "matrix.cu"
