/* The functions of NCCL, cuBLASMp and cuSOLVERMp that package multi binds, as it calls
 * them. Each has one line; "since" is the first CUDA whose cuSOLVERMp has it. The tests
 * compare them with the calls in the package, with NVIDIA's nccl.h, cublasmp.h and
 * cusolverMp.h, including the names of parameters, and with the exports of the
 * libraries.
 */
ncclResult_t ncclGetVersion(int *version);
ncclResult_t ncclGetUniqueId(ncclUniqueId *uniqueId);
ncclResult_t ncclCommInitRankScalable(ncclComm_t *newcomm, int nranks, int myrank, int nId, ncclUniqueId *commIds, ncclConfig_t *config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *asyncError);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
cublasMpStatus_t cublasMpGetVersion(int *version);
cublasMpStatus_t cublasMpCreate(cublasMpHandle_t *handle, cudaStream_t stream);
cublasMpStatus_t cublasMpDestroy(cublasMpHandle_t handle);
cublasMpStatus_t cublasMpGridCreate(int64_t nprow, int64_t npcol, cublasMpGridLayout_t layout, ncclComm_t comm, cublasMpGrid_t *grid);
cublasMpStatus_t cublasMpGridDestroy(cublasMpGrid_t grid);
cublasMpStatus_t cublasMpMatrixDescriptorCreate(int64_t m, int64_t n, int64_t mb, int64_t nb, int64_t rsrc, int64_t csrc, int64_t lld, cudaDataType_t type, cublasMpGrid_t grid, cublasMpMatrixDescriptor_t *desc);
cublasMpStatus_t cublasMpMatrixDescriptorDestroy(cublasMpMatrixDescriptor_t desc);
cublasMpStatus_t cublasMpTrsm_bufferSize(cublasMpHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, int64_t m, int64_t n, const void *alpha, const void *a, int64_t ia, int64_t ja, cublasMpMatrixDescriptor_t descA, void *b, int64_t ib, int64_t jb, cublasMpMatrixDescriptor_t descB, cublasComputeType_t computeType, size_t *workspaceSizeInBytesOnDevice, size_t *workspaceSizeInBytesOnHost);
cublasMpStatus_t cublasMpTrsm(cublasMpHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, int64_t m, int64_t n, const void *alpha, const void *a, int64_t ia, int64_t ja, cublasMpMatrixDescriptor_t descA, void *b, int64_t ib, int64_t jb, cublasMpMatrixDescriptor_t descB, cublasComputeType_t computeType, void *d_work, size_t workspaceSizeInBytesOnDevice, void *h_work, size_t workspaceSizeInBytesOnHost);
cublasMpStatus_t cublasMpSyrk_bufferSize(cublasMpHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, int64_t n, int64_t k, const void *alpha, const void *a, int64_t ia, int64_t ja, cublasMpMatrixDescriptor_t descA, const void *beta, void *c, int64_t ic, int64_t jc, cublasMpMatrixDescriptor_t descC, cublasComputeType_t computeType, size_t *workspaceSizeInBytesOnDevice, size_t *workspaceSizeInBytesOnHost);
cublasMpStatus_t cublasMpSyrk(cublasMpHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, int64_t n, int64_t k, const void *alpha, const void *a, int64_t ia, int64_t ja, cublasMpMatrixDescriptor_t descA, const void *beta, void *c, int64_t ic, int64_t jc, cublasMpMatrixDescriptor_t descC, cublasComputeType_t computeType, void *d_work, size_t workspaceSizeInBytesOnDevice, void *h_work, size_t workspaceSizeInBytesOnHost);
cublasMpStatus_t cublasMpGemm_bufferSize(cublasMpHandle_t handle, cublasOperation_t transA, cublasOperation_t transB, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t ia, int64_t ja, cublasMpMatrixDescriptor_t descA, const void *b, int64_t ib, int64_t jb, cublasMpMatrixDescriptor_t descB, const void *beta, void *c, int64_t ic, int64_t jc, cublasMpMatrixDescriptor_t descC, cublasComputeType_t computeType, size_t *workspaceSizeInBytesOnDevice, size_t *workspaceSizeInBytesOnHost);
cublasMpStatus_t cublasMpGemm(cublasMpHandle_t handle, cublasOperation_t transA, cublasOperation_t transB, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t ia, int64_t ja, cublasMpMatrixDescriptor_t descA, const void *b, int64_t ib, int64_t jb, cublasMpMatrixDescriptor_t descB, const void *beta, void *c, int64_t ic, int64_t jc, cublasMpMatrixDescriptor_t descC, cublasComputeType_t computeType, void *d_work, size_t workspaceSizeInBytesOnDevice, void *h_work, size_t workspaceSizeInBytesOnHost);
cublasMpStatus_t cublasMpGeadd_bufferSize(cublasMpHandle_t handle, cublasOperation_t trans, int64_t m, int64_t n, const void *alpha, const void *a, int64_t ia, int64_t ja, cublasMpMatrixDescriptor_t descA, const void *beta, void *c, int64_t ic, int64_t jc, cublasMpMatrixDescriptor_t descC, size_t *workspaceSizeInBytesOnDevice, size_t *workspaceSizeInBytesOnHost);
cublasMpStatus_t cublasMpGeadd(cublasMpHandle_t handle, cublasOperation_t trans, int64_t m, int64_t n, const void *alpha, const void *a, int64_t ia, int64_t ja, cublasMpMatrixDescriptor_t descA, const void *beta, void *c, int64_t ic, int64_t jc, cublasMpMatrixDescriptor_t descC, void *d_work, size_t workspaceSizeInBytesOnDevice, void *h_work, size_t workspaceSizeInBytesOnHost);
cusolverStatus_t cusolverMpCreate(cusolverMpHandle_t *handle, int deviceId, cudaStream_t stream);
cusolverStatus_t cusolverMpDestroy(cusolverMpHandle_t handle);
cusolverStatus_t cusolverMpGetVersion(cusolverMpHandle_t handle, int *version);
cusolverStatus_t cusolverMpCreateDeviceGrid(cusolverMpHandle_t handle, cusolverMpGrid_t *grid, const ncclComm_t comm, int32_t numRowDevices, int32_t numColDevices, const cusolverMpGridMapping_t mapping);
cusolverStatus_t cusolverMpDestroyGrid(cusolverMpGrid_t grid);
cusolverStatus_t cusolverMpCreateMatrixDesc(cusolverMpMatrixDescriptor_t *desc, cusolverMpGrid_t grid, cudaDataType dataType, int64_t M_A, int64_t N_A, int64_t MB_A, int64_t NB_A, uint32_t RSRC_A, uint32_t CSRC_A, int64_t LLD_A);
cusolverStatus_t cusolverMpDestroyMatrixDesc(cusolverMpMatrixDescriptor_t desc);
cusolverStatus_t cusolverMpPotrf_bufferSize(cusolverMpHandle_t handle, cublasFillMode_t uplo, int64_t n, const void *a, int64_t ia, int64_t ja, cusolverMpMatrixDescriptor_t descA, cudaDataType_t computeType, size_t *workspaceInBytesOnDevice, size_t *workspaceInBytesOnHost);
cusolverStatus_t cusolverMpPotrf(cusolverMpHandle_t handle, cublasFillMode_t uplo, int64_t n, void *a, int64_t ia, int64_t ja, cusolverMpMatrixDescriptor_t descA, cudaDataType_t computeType, void *d_work, size_t workspaceInBytesOnDevice, void *h_work, size_t workspaceInBytesOnHost, int *info);
cusolverStatus_t cusolverMpSetMathMode(cusolverMpHandle_t handle, cusolverMathMode_t mode); /* since 13.0 */
cusolverStatus_t cusolverMpGetMathMode(cusolverMpHandle_t handle, cusolverMathMode_t *mode); /* since 13.0 */
