/* gpfit puts this file in front of the include path to compile gorgonia.org/cu
 * v0.9.6.
 *
 * CUDA 13's cuda.h maps seven names that the package uses to newer functions with
 * other parameters. libcuda still exports the older functions under the names that
 * CUDA 12 maps to. This file declares them as CUDA 12 does. With CUDA 12 headers it
 * only includes the real one.
 */
#ifndef GPFIT_CUDA_H
#define GPFIT_CUDA_H

#include_next <cuda.h>

#if CUDA_VERSION >= 13000

#undef cuCtxCreate
#undef cuMemAdvise
#undef cuMemPrefetchAsync
#undef cuGraphAddDependencies
#undef cuGraphGetEdges
#undef cuEventElapsedTime
#undef cuDeviceGetUuid

#define cuCtxCreate cuCtxCreate_v2

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev);
CUresult CUDAAPI cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device);
CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream);
CUresult CUDAAPI cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, size_t numDependencies);
CUresult CUDAAPI cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges);
CUresult CUDAAPI cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd);
CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice dev);

#endif
#endif
