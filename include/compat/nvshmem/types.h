/* Types and constants of NVSHMEM 3, for C and C++, host code and kernels. Values and sizes are
 * NVSHMEM's wherever a program may print, store, compare or pass them on. */
#ifndef WEFT_COMPAT_NVSHMEM_TYPES_H
#define WEFT_COMPAT_NVSHMEM_TYPES_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/* The versions of OpenSHMEM and of NVSHMEM: the release whose names programs may count on, see
 * docs/guide/nvshmem.md for those of later ones. */
#define NVSHMEM_MAJOR_VERSION 1
#define NVSHMEM_MINOR_VERSION 3
#define NVSHMEM_VENDOR_MAJOR_VERSION 3
#define NVSHMEM_VENDOR_MINOR_VERSION 4
#define NVSHMEM_VENDOR_PATCH_VERSION 5
#define NVSHMEM_VENDOR_VERSION                                                 \
  (NVSHMEM_VENDOR_MAJOR_VERSION * 10000 + NVSHMEM_VENDOR_MINOR_VERSION * 100 + \
   NVSHMEM_VENDOR_PATCH_VERSION)
#define NVSHMEM_VENDOR_STRING "NVSHMEM v3.4.5 (Weft)"
#define NVSHMEM_MAX_NAME_LEN 256

typedef enum {
  NVSHMEM_CMP_EQ = 0,
  NVSHMEM_CMP_NE = 1,
  NVSHMEM_CMP_GT = 2,
  NVSHMEM_CMP_LE = 3,
  NVSHMEM_CMP_LT = 4,
  NVSHMEM_CMP_GE = 5,
  NVSHMEM_CMP_SENTINEL = INT_MAX
} nvshmemx_cmp_type_t;

typedef enum { NVSHMEM_SIGNAL_SET = 9, NVSHMEM_SIGNAL_ADD = 10 } nvshmemx_signal_op_t;

typedef enum {
  NVSHMEM_THREAD_SINGLE = 0,
  NVSHMEM_THREAD_FUNNELED = 1,
  NVSHMEM_THREAD_SERIALIZED = 2,
  NVSHMEM_THREAD_MULTIPLE = 3,
  NVSHMEM_THREAD_TYPE_SENTINEL = INT_MAX
} nvshmemx_thread_support_t;

typedef enum {
  NVSHMEM_STATUS_NOT_INITIALIZED = 0,
  NVSHMEM_STATUS_IS_BOOTSTRAPPED = 1,
  NVSHMEM_STATUS_IS_INITIALIZED = 2,
  NVSHMEM_STATUS_LIMITED_MPG = 3,
  NVSHMEM_STATUS_FULL_MPG = 4,
  NVSHMEM_STATUS_INVALID = INT_MAX
} nvshmemx_init_status_t;

typedef enum nvshmemx_status {
  NVSHMEMX_SUCCESS = 0,
  NVSHMEMX_ERROR_INVALID_VALUE = 1,
  NVSHMEMX_ERROR_OUT_OF_MEMORY = 2,
  NVSHMEMX_ERROR_NOT_SUPPORTED = 3,
  NVSHMEMX_ERROR_SYMMETRY = 4,
  NVSHMEMX_ERROR_GPU_NOT_SELECTED = 5,
  NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED = 6,
  NVSHMEMX_ERROR_INTERNAL = 7,
  NVSHMEMX_ERROR_SENTINEL = INT_MAX
} nvshmemx_status;

typedef enum {
  NVSHMEM_PE_INVALID = -1,
  NVSHMEMX_PE_ANY = 1 << 15,
  NVSHMEMX_PE_ALL = 1 << 15
} nvshmem_pe_index_t;

/* Flags of nvshmemx_init_attr and nvshmemx_hostlib_init_attr. */
enum {
  NVSHMEMX_INIT_THREAD_PES = 1 << 0,
  NVSHMEMX_INIT_WITH_MPI_COMM = 1 << 1,
  NVSHMEMX_INIT_WITH_SHMEM = 1 << 2,
  NVSHMEMX_INIT_WITH_UNIQUEID = 1 << 3
};

/* A team is a small number; those below NVSHMEM_TEAMS_MIN are there from the start. */
typedef int32_t nvshmem_team_t;
typedef nvshmem_team_t nvshmemx_team_t;
typedef enum {
  NVSHMEM_TEAM_INVALID = -1,
  NVSHMEM_TEAM_WORLD = 0, /* all PEs */
  NVSHMEM_TEAM_WORLD_INDEX = 0,
  NVSHMEM_TEAM_SHARED = 1, /* those whose memory nvshmem_ptr() finds */
  NVSHMEM_TEAM_SHARED_INDEX = 1,
  NVSHMEMX_TEAM_NODE = 2, /* those of my host */
  NVSHMEM_TEAM_NODE_INDEX = 2,
  NVSHMEMX_TEAM_SAME_MYPE_NODE = 3, /* those that have my rank on their host */
  NVSHMEM_TEAM_SAME_MYPE_NODE_INDEX = 3,
  NVSHMEM_TEAM_SAME_GPU_INDEX = 4,
  NVSHMEM_TEAM_GPU_LEADERS_INDEX = 5,
  NVSHMEM_TEAM_MC_SHARED = 6,
  NVSHMEM_TEAM_MC_SHARED_INDEX = 6,
  NVSHMEM_TEAMS_MIN = 7,
  NVSHMEM_TEAM_INDEX_MAX = INT_MAX
} nvshmem_team_id_t;

/* Structs that users pass begin with a version: a number above, the size below. */
#define WEFT_NVSHMEM_VERSION_OF(number, type) ((int)(((number) << 16) + sizeof(type)))

typedef uint64_t nvshmemx_team_uniqueid_t;
#define NVSHMEM_TEAM_UNIQUID_INITIALIZER UINT64_MAX

typedef struct {
  int version;
  int num_contexts;
  nvshmemx_team_uniqueid_t uniqueid;
  char padding[48];
} nvshmem_team_config_v2;
typedef nvshmem_team_config_v2 nvshmem_team_config_t;
#define NVSHMEM_TEAM_CONFIG_INITIALIZER                                                            \
  {                                                                                                \
    WEFT_NVSHMEM_VERSION_OF(2, nvshmem_team_config_t), -1, NVSHMEM_TEAM_UNIQUID_INITIALIZER, { 0 } \
  }
#define NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS 1L
#define NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID 2L

typedef struct {
  int version;
  char internal[124];
} nvshmemx_uniqueid_v1;
typedef nvshmemx_uniqueid_v1 nvshmemx_uniqueid_t;
#define NVSHMEMX_UNIQUEID_INITIALIZER                      \
  {                                                        \
    WEFT_NVSHMEM_VERSION_OF(1, nvshmemx_uniqueid_t), { 0 } \
  }

typedef struct {
  int version;
  nvshmemx_uniqueid_v1* id;
  int myrank;
  int nranks;
} nvshmemx_uniqueid_args_v1;
typedef nvshmemx_uniqueid_args_v1 nvshmemx_uniqueid_args_t;
#define NVSHMEMX_UNIQUEID_ARGS_INITIALIZER \
  { WEFT_NVSHMEM_VERSION_OF(1, nvshmemx_uniqueid_args_t), NULL, -1, -1 }

typedef struct {
  int version;
  nvshmemx_uniqueid_args_t uid_args;
  int cuda_device_id;
  char content[92];
} nvshmemx_init_args_v2;
typedef nvshmemx_init_args_v2 nvshmemx_init_args_t;
#define NVSHMEMX_INIT_ARGS_INITIALIZER                                                          \
  {                                                                                             \
    WEFT_NVSHMEM_VERSION_OF(2, nvshmemx_init_args_t), NVSHMEMX_UNIQUEID_ARGS_INITIALIZER, -1, { \
      0                                                                                         \
    }                                                                                           \
  }

typedef struct {
  int version;
  void* mpi_comm;
  nvshmemx_init_args_t args;
} nvshmemx_init_attr_v2;
typedef nvshmemx_init_attr_v2 nvshmemx_init_attr_t;
#define NVSHMEMX_INIT_ATTR_INITIALIZER \
  { WEFT_NVSHMEM_VERSION_OF(2, nvshmemx_init_attr_t), NULL, NVSHMEMX_INIT_ARGS_INITIALIZER }

/* nvshmemid_hostlib_init_attr: for hosts without a device library, so the callback is null. */
typedef struct {
  int major;
  int minor;
  int patch;
} nvshmemi_version_t;
typedef void (*nvshmemx_device_lib_init_cb)(void** dev_state_ptr, void** transport_dev_state_ptr);

#endif
