//go:build cu && linux && (amd64 || arm64) && !nogpu

/* This file defines the functions of libcuda that gorgonia.org/cu v0.9.6 is linked
 * to, as jumps to addresses that gpfit_cu_bind sets. With them the program is not
 * linked to libcuda.so.1 and starts without it. Before binding, and for functions
 * that the driver lacks, a call returns CUDA_ERROR_NOT_INITIALIZED.
 *
 * The functions are hidden: libraries that look up libcuda's functions themselves
 * (cuBLAS, cuSOLVER) must not find these.
 *
 * Without this file the linker reports these functions as missing. If a new version
 * of cu or of cuda.h needs another function, linking fails and names it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#define SYMBOLS(X) \
	X(cuArray3DCreate_v2) X(cuArray3DGetDescriptor_v2) X(cuArrayCreate_v2) X(cuArrayDestroy) \
	X(cuArrayGetDescriptor_v2) X(cuCtxCreate_v2) X(cuCtxDestroy_v2) X(cuCtxDisablePeerAccess) \
	X(cuCtxEnablePeerAccess) X(cuCtxGetApiVersion) X(cuCtxGetCacheConfig) X(cuCtxGetCurrent) X(cuCtxGetDevice) \
	X(cuCtxGetFlags) X(cuCtxGetLimit) X(cuCtxGetSharedMemConfig) X(cuCtxGetStreamPriorityRange) \
	X(cuCtxPopCurrent_v2) X(cuCtxPushCurrent_v2) X(cuCtxResetPersistingL2Cache) X(cuCtxSetCacheConfig) \
	X(cuCtxSetCurrent) X(cuCtxSetLimit) X(cuCtxSetSharedMemConfig) X(cuCtxSynchronize) X(cuDeviceCanAccessPeer) \
	X(cuDeviceGet) X(cuDeviceGetAttribute) X(cuDeviceGetCount) X(cuDeviceGetName) \
	X(cuDeviceGetP2PAttribute) X(cuDeviceGetUuid) X(cuDevicePrimaryCtxGetState) X(cuDevicePrimaryCtxRelease_v2) \
	X(cuDevicePrimaryCtxReset_v2) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxSetFlags_v2) \
	X(cuDeviceTotalMem_v2) X(cuDriverGetVersion) X(cuEventCreate) X(cuEventDestroy_v2) X(cuEventElapsedTime) \
	X(cuEventQuery) X(cuEventRecord) X(cuEventSynchronize) X(cuFuncGetAttribute) X(cuFuncSetCacheConfig) \
	X(cuFuncSetSharedMemConfig) X(cuGraphAddChildGraphNode) X(cuGraphAddDependencies) X(cuGraphAddEmptyNode) \
	X(cuGraphAddHostNode) X(cuGraphAddKernelNode_v2) X(cuGraphAddMemcpyNode) X(cuGraphAddMemsetNode) \
	X(cuGraphClone) X(cuGraphCreate) X(cuGraphDestroy) X(cuGraphDestroyNode) X(cuGraphExecDestroy) \
	X(cuGraphGetEdges) X(cuLaunchKernel) X(cuLinkAddData_v2) X(cuLinkAddFile_v2) \
	X(cuLinkComplete) X(cuLinkCreate_v2) X(cuLinkDestroy) X(cuMemAdvise) X(cuMemAllocManaged) \
	X(cuMemAllocPitch_v2) X(cuMemAlloc_v2) X(cuMemFreeHost) X(cuMemFree_v2) X(cuMemGetAddressRange_v2) \
	X(cuMemGetInfo_v2) X(cuMemPrefetchAsync) X(cuMemcpy) X(cuMemcpy2DAsync_v2) X(cuMemcpy2DUnaligned_v2) \
	X(cuMemcpy2D_v2) X(cuMemcpy3DAsync_v2) X(cuMemcpy3DPeer) X(cuMemcpy3DPeerAsync) X(cuMemcpy3D_v2) \
	X(cuMemcpyAsync) X(cuMemcpyAtoA_v2) X(cuMemcpyAtoD_v2) X(cuMemcpyAtoHAsync_v2) X(cuMemcpyAtoH_v2) \
	X(cuMemcpyDtoA_v2) X(cuMemcpyDtoDAsync_v2) X(cuMemcpyDtoD_v2) X(cuMemcpyDtoHAsync_v2) X(cuMemcpyDtoH_v2) \
	X(cuMemcpyHtoAAsync_v2) X(cuMemcpyHtoA_v2) X(cuMemcpyHtoDAsync_v2) X(cuMemcpyHtoD_v2) X(cuMemcpyPeer) \
	X(cuMemcpyPeerAsync) X(cuMemsetD16Async) X(cuMemsetD16_v2) X(cuMemsetD2D16Async) X(cuMemsetD2D16_v2) \
	X(cuMemsetD2D32Async) X(cuMemsetD2D32_v2) X(cuMemsetD2D8Async) X(cuMemsetD2D8_v2) X(cuMemsetD32Async) \
	X(cuMemsetD32_v2) X(cuMemsetD8Async) X(cuMemsetD8_v2) X(cuModuleGetFunction) X(cuModuleGetGlobal_v2) \
	X(cuModuleGetSurfRef) X(cuModuleGetTexRef) X(cuModuleLoad) X(cuModuleLoadData) X(cuModuleLoadDataEx) \
	X(cuModuleLoadFatBinary) X(cuModuleUnload) X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags) X(cuPointerGetAttribute) X(cuPointerSetAttribute) \
	X(cuStreamAttachMemAsync) X(cuStreamCreate) X(cuStreamCreateWithPriority) X(cuStreamDestroy_v2) \
	X(cuStreamGetFlags) X(cuStreamGetPriority) X(cuStreamQuery) X(cuStreamSynchronize) X(cuStreamWaitEvent) \
	X(cuStreamWaitValue32_v2) X(cuStreamWriteValue32_v2) X(cuSurfRefGetArray) X(cuSurfRefSetArray) \
	X(cuTexRefGetAddressMode) X(cuTexRefGetAddress_v2) X(cuTexRefGetArray) X(cuTexRefGetBorderColor) \
	X(cuTexRefGetFilterMode) X(cuTexRefGetFlags) X(cuTexRefGetFormat) X(cuTexRefGetMaxAnisotropy) \
	X(cuTexRefSetAddress2D_v3) X(cuTexRefSetAddressMode) X(cuTexRefSetAddress_v2) X(cuTexRefSetArray) \
	X(cuTexRefSetBorderColor) X(cuTexRefSetFilterMode) X(cuTexRefSetFlags) X(cuTexRefSetFormat) \
	X(cuTexRefSetMaxAnisotropy) X(cuTexRefSetMipmapFilterMode) X(cuTexRefSetMipmapLevelBias) \
	X(cuTexRefSetMipmapLevelClamp)

static int not_bound(void) { return 3; }

/* The init function of cu calls cuInit and exits on an error. gpfit makes the real
 * call when it looks for the driver. */
__attribute__((visibility("hidden"))) int cuInit(unsigned flags) {
	(void)flags;
	return 0;
}

#if defined(__x86_64__)
#define JUMP(name) "\tjmp *gpfit_to_" #name "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(name) \
	"\tadrp x16, gpfit_to_" #name "\n\tldr x16, [x16, :lo12:gpfit_to_" #name "]\n\tbr x16\n"
#endif

#define FORWARD(name) \
	__attribute__((visibility("hidden"), used)) void *gpfit_to_##name = (void *)not_bound; \
	__asm__(".text\n\t.globl " #name "\n\t.hidden " #name "\n\t.type " #name ", %function\n\t.balign 16\n" \
	        #name ":\n" JUMP(name) "\t.size " #name ", .-" #name "\n");
SYMBOLS(FORWARD)

void gpfit_cu_bind(void *library) {
	void *p;
#define BIND(name) if ((p = dlsym(library, #name))) gpfit_to_##name = p;
	SYMBOLS(BIND)
}
