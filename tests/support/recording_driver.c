/* A CUDA driver that launches nothing and remembers everything.
 *
 * Compiled by recording_driver.py and put in place of libcuda.so.1 through
 * tilec._runtime.replace_driver. Two devices; the memory of device d is at
 * addresses (d + 1) << 40 and up. The tests read the records through ctypes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 2, MAX_PARAMETERS = 64, MAX_MAPS = 12, CONTEXT_DEPTH = 16, MAX_TABLE = 1 << 20 };
enum { ALLOCATION_BITS = 28 }; /* from one allocation's address to the next one's */

/* What this driver makes a CUtensorMap of: what it was asked to encode. */
struct TensorMap {
  uint8_t type, rank, interleave, swizzle, promotion, fill, unused[2];
  uint64_t address, extents[5], strides[4];
  uint32_t box[5], element_strides[5];
};
_Static_assert(sizeof(struct TensorMap) == 128, "the size of a CUtensorMap");

struct Launch {
  uint32_t grid[3], block[3], shared_bytes, attribute_count;
  int32_t attribute_id;
  uint32_t cluster[3];
  uint64_t stream, function, context, parameters[MAX_PARAMETERS];
  uint64_t map_addresses[MAX_MAPS];
  struct TensorMap maps[MAX_MAPS];
};

static struct {
  int version, init_result, launch_result, device_count;
  int loads, unloads, retains[DEVICES], parameter_count;
  int shared_attribute_bytes, shared_attribute_device, capture_exchanges;
  int extended_launches, context_switches, encoded_maps, first_map, map_count;
  int resident, occupancy_queries, occupancy_threads, occupancy_shared_bytes;
  int occupancy_cluster;
  int pools, allocations, frees, copies, capturing, retained;
  int memsets, alloc_result;
  uint64_t pool_threshold, table_address, table_bytes, freed_on, copied_on, freed;
  uint64_t zeroed, zeroed_bytes, zeroed_on, reused_streams;
  unsigned char table[MAX_TABLE];
  void *graph_memory;
  void (*graph_destroy)(void *);
  long launches;
  struct Launch last;
  char last_image[64], hidden[64];
} fake = {.version = 13000, .device_count = DEVICES, .resident = 1};

static __thread uint64_t contexts[CONTEXT_DEPTH];
static __thread int depth;

/* -- what the tests call ------------------------------------------------- */

void fake_reset(void) {
  memset(&fake, 0, sizeof fake);
  fake.version = 13000;
  fake.device_count = DEVICES;
  fake.resident = 1;
  depth = 0;
}
void fake_set_version(int version) { fake.version = version; }
void fake_set_init_result(int result) { fake.init_result = result; }
void fake_set_launch_result(int result) { fake.launch_result = result; }
void fake_set_device_count(int count) { fake.device_count = count; }
void fake_set_parameter_count(int count) { fake.parameter_count = count; }
void fake_set_maps(int first, int count) { fake.first_map = first; fake.map_count = count; }
void fake_set_resident(int count) { fake.resident = count; }
void fake_set_capturing(int capturing) { fake.capturing = capturing; }
void fake_set_alloc_result(int result) { fake.alloc_result = result; }
/* From now on, handles of streams are those of other streams. */
void fake_reuse_streams(void) { ++fake.reused_streams; }
const void *fake_table(void) { return fake.table; }
/* What a graph reads when it is launched, long after the capture. */
const void *fake_graph_memory(void) { return fake.graph_memory; }
void fake_destroy_graph(void) { fake.graph_destroy(fake.graph_memory); }
uint64_t fake_table_fact(const char *name) {
  if (!strcmp(name, "address")) return fake.table_address;
  if (!strcmp(name, "bytes")) return fake.table_bytes;
  if (!strcmp(name, "copied_on")) return fake.copied_on;
  if (!strcmp(name, "freed_on")) return fake.freed_on;
  if (!strcmp(name, "freed")) return fake.freed;
  if (!strcmp(name, "zeroed")) return fake.zeroed;
  if (!strcmp(name, "zeroed_bytes")) return fake.zeroed_bytes;
  if (!strcmp(name, "zeroed_on")) return fake.zeroed_on;
  if (!strcmp(name, "pool_threshold")) return fake.pool_threshold;
  abort();
}
void fake_hide(const char *function) { strncpy(fake.hidden, function, sizeof fake.hidden - 1); }
void fake_push_context(uint64_t context) { contexts[depth++] = context; }
uint64_t fake_current_context(void) { return depth ? contexts[depth - 1] : 0; }
long fake_launches(void) { return fake.launches; }
const struct Launch *fake_last_launch(void) { return &fake.last; }
const char *fake_last_image(void) { return fake.last_image; }
int fake_counter(const char *name) {
  if (!strcmp(name, "loads")) return fake.loads;
  if (!strcmp(name, "unloads")) return fake.unloads;
  if (!strcmp(name, "retains0")) return fake.retains[0];
  if (!strcmp(name, "retains1")) return fake.retains[1];
  if (!strcmp(name, "shared_attribute_bytes")) return fake.shared_attribute_bytes;
  if (!strcmp(name, "shared_attribute_device")) return fake.shared_attribute_device;
  if (!strcmp(name, "extended_launches")) return fake.extended_launches;
  if (!strcmp(name, "context_switches")) return fake.context_switches;
  if (!strcmp(name, "capture_exchanges")) return fake.capture_exchanges;
  if (!strcmp(name, "encoded_maps")) return fake.encoded_maps;
  if (!strcmp(name, "pools")) return fake.pools;
  if (!strcmp(name, "allocations")) return fake.allocations;
  if (!strcmp(name, "frees")) return fake.frees;
  if (!strcmp(name, "copies")) return fake.copies;
  if (!strcmp(name, "memsets")) return fake.memsets;
  if (!strcmp(name, "retained")) return fake.retained;
  if (!strcmp(name, "occupancy_queries")) return fake.occupancy_queries;
  if (!strcmp(name, "occupancy_threads")) return fake.occupancy_threads;
  if (!strcmp(name, "occupancy_shared_bytes")) return fake.occupancy_shared_bytes;
  if (!strcmp(name, "occupancy_cluster")) return fake.occupancy_cluster;
  abort();
}

/* -- the driver ----------------------------------------------------------- */

static uint64_t context_of(int device) { return 0xC0 + (uint64_t)device; }

int cuInit(unsigned flags) { (void)flags; return fake.init_result; }
int cuDriverGetVersion(int *version) { *version = fake.version; return 0; }
int cuGetErrorName(int error, const char **name) {
  *name = error == 1 ? "CUDA_ERROR_INVALID_VALUE"
          : error == 100 ? "CUDA_ERROR_NO_DEVICE"
          : error == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU" : "CUDA_ERROR_UNKNOWN";
  return 0;
}
int cuGetErrorString(int error, const char **text) {
  *text = error == 1 ? "invalid argument" : "an error of the fake";
  return 0;
}
int cuDeviceGet(int *device, int ordinal) {
  if (ordinal < 0 || ordinal >= fake.device_count) return 101;
  *device = ordinal;
  return 0;
}
int cuDeviceGetCount(int *count) { *count = fake.device_count; return 0; }
int cuDeviceGetName(char *name, int size, int device) {
  (void)device;
  strncpy(name, "Fake GPU", (size_t)size);
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  switch (attribute) {
  case 97: *value = 232448; return 0;
  case 16: *value = 132; return 0;
  case 75: *value = 9; return 0;
  case 76: *value = 0; return 0;
  }
  return 1;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  (void)device;
  *bytes = (size_t)1 << 37;
  return 0;
}
int cuDevicePrimaryCtxRetain(uint64_t *context, int device) {
  ++fake.retains[device];
  *context = context_of(device);
  return 0;
}
int cuCtxGetCurrent(uint64_t *context) { *context = fake_current_context(); return 0; }
int cuCtxPushCurrent_v2(uint64_t context) {
  ++fake.context_switches;
  contexts[depth++] = context;
  return 0;
}
int cuCtxPopCurrent_v2(uint64_t *context) { *context = contexts[--depth]; return 0; }

int cuLibraryLoadData(uint64_t *library, const char *image, int *options, void **values,
                      unsigned count, int *library_options, void **library_values,
                      unsigned library_count) {
  (void)library_options; (void)library_values; (void)library_count;
  strncpy(fake.last_image, image, sizeof fake.last_image - 1);
  if (!strncmp(image, "refused", 7)) {
    for (unsigned k = 0; k < count; ++k)
      if (options[k] == 5) strcpy(values[k], "the fake refuses this image");
    return 209;
  }
  *library = 0x11B0 + (uint64_t)++fake.loads;
  return 0;
}
int cuLibraryUnload(uint64_t library) { (void)library; ++fake.unloads; return 0; }
int cuLibraryGetKernel(uint64_t *kernel, uint64_t library, const char *name) {
  if (!strcmp(name, "absent")) return 1;
  *kernel = library << 4;
  return 0;
}
int cuKernelGetFunction(uint64_t *function, uint64_t kernel) {
  *function = kernel | (fake_current_context() & 0xF);
  return 0;
}
int cuKernelSetAttribute(int attribute, int value, uint64_t kernel, int device) {
  (void)kernel;
  if (attribute != 8) return 1;
  fake.shared_attribute_bytes = value;
  fake.shared_attribute_device = device;
  return 0;
}
int cuPointerGetAttribute(void *value, int attribute, uint64_t pointer) {
  int device = (int)(pointer >> 40) - 1;
  if (attribute != 9 || device < 0 || device >= fake.device_count) return 1;
  *(int *)value = device;
  return 0;
}
int cuThreadExchangeStreamCaptureMode(int *mode) {
  ++fake.capture_exchanges;
  *mode = 0;
  return 0;
}
int cuStreamGetCtx(uint64_t stream, uint64_t *context) {
  *context = context_of((int)(stream >> 40 & 0xF));
  return 0;
}

struct Attribute { int id; char pad[4]; union { char bytes[64]; uint32_t cluster[3]; } value; };
struct Config {
  uint32_t grid[3], block[3], shared_bytes;
  uint64_t stream;
  struct Attribute *attributes;
  uint32_t attribute_count;
};
static int record(const struct Config *config, uint64_t function, void **parameters) {
  if (fake.launch_result) return fake.launch_result;
  struct Launch *last = &fake.last;
  memset(last, 0, sizeof *last);
  memcpy(last->grid, config->grid, sizeof last->grid);
  memcpy(last->block, config->block, sizeof last->block);
  last->shared_bytes = config->shared_bytes;
  last->stream = config->stream;
  last->function = function;
  last->context = fake_current_context();
  last->attribute_count = config->attribute_count;
  if (config->attribute_count) {
    last->attribute_id = config->attributes[0].id;
    memcpy(last->cluster, config->attributes[0].value.cluster, sizeof last->cluster);
  }
  for (int k = 0; k < fake.parameter_count; ++k)
    memcpy(&last->parameters[k], parameters[k], sizeof(uint64_t));
  for (int k = 0; k < fake.map_count; ++k) {
    last->map_addresses[k] = (uint64_t)(uintptr_t)parameters[fake.first_map + k];
    memcpy(&last->maps[k], parameters[fake.first_map + k], sizeof last->maps[k]);
  }
  __atomic_add_fetch(&fake.launches, 1, __ATOMIC_RELAXED);
  return 0;
}
int cuLaunchKernelEx(const struct Config *config, uint64_t function, void **parameters,
                     void **extra) {
  (void)extra;
  ++fake.extended_launches;
  return record(config, function, parameters);
}
int cuLaunchKernel(uint64_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   uint64_t stream, void **parameters, void **extra) {
  (void)extra;
  struct Config config = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes,
                          stream, 0, 0};
  return record(&config, function, parameters);
}

/* Refuses what the driver refuses of these arguments. */
int cuTensorMapEncodeTiled(struct TensorMap *map, int type, uint32_t rank, void *address,
                           const uint64_t *extents, const uint64_t *strides, const uint32_t *box,
                           const uint32_t *element_strides, int interleave, int swizzle,
                           int promotion, int fill) {
  ++fake.encoded_maps;
  if ((uintptr_t)map % 64 || (uintptr_t)address % 16 || rank < 1 || rank > 5) return 1;
  struct TensorMap made = {.type = (uint8_t)type, .rank = (uint8_t)rank,
                           .interleave = (uint8_t)interleave, .swizzle = (uint8_t)swizzle,
                           .promotion = (uint8_t)promotion, .fill = (uint8_t)fill,
                           .address = (uint64_t)(uintptr_t)address};
  for (uint32_t k = 0; k < rank; ++k) {
    if (extents[k] == 0 || extents[k] > (uint64_t)1 << 32 || box[k] < 1 || box[k] > 256) return 1;
    if (k && (strides[k - 1] % 16 || strides[k - 1] >> 40)) return 1;
    made.extents[k] = extents[k];
    made.box[k] = box[k];
    made.element_strides[k] = element_strides[k];
    if (k) made.strides[k - 1] = strides[k - 1];
  }
  *map = made;
  return 0;
}
/* -- memory of a stream, and of a graph that is captured -------------------- */

struct PoolProperties { int allocation, handle, location, device; void *security; size_t most; char rest[56]; };
int cuMemPoolCreate(uint64_t *pool, const struct PoolProperties *properties) {
  if (properties->allocation != 1 || properties->handle || properties->location != 1) return 1;
  ++fake.pools;
  *pool = 0x9001 + (uint64_t)properties->device;
  return 0;
}
int cuMemPoolSetAttribute(uint64_t pool, int attribute, void *value) {
  (void)pool;
  if (attribute != 4) return 1;
  fake.pool_threshold = *(uint64_t *)value;
  return 0;
}
int cuMemAllocFromPoolAsync(uint64_t *address, size_t bytes, uint64_t pool, uint64_t stream) {
  (void)stream;
  if (pool < 0x9001 || bytes == 0 || bytes >> ALLOCATION_BITS) return 1;
  if (fake.alloc_result) return fake.alloc_result;
  ++fake.allocations;
  fake.table_bytes = bytes;
  *address = fake.table_address =
      ((pool - 0x9000) << 40) + ((uint64_t)1 << 36) + ((uint64_t)fake.allocations << ALLOCATION_BITS);
  return 0;
}
int cuMemFreeAsync(uint64_t address, uint64_t stream) {
  uint64_t number = (address & (((uint64_t)1 << 36) - 1)) >> ALLOCATION_BITS;
  if (number < 1 || number > (uint64_t)fake.allocations) return 1;
  ++fake.frees;
  fake.freed = address;
  fake.freed_on = stream;
  return 0;
}
int cuMemsetD32Async(uint64_t address, unsigned value, size_t count, uint64_t stream) {
  if (address < fake.table_address || address + 4 * count > fake.table_address + fake.table_bytes ||
      value != 0)
    return 1;
  ++fake.memsets;
  fake.zeroed = address;
  fake.zeroed_bytes = 4 * count;
  fake.zeroed_on = stream;
  return 0;
}
int cuStreamGetId(uint64_t stream, uint64_t *id) {
  *id = stream ^ fake.reused_streams << 48;
  return 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, uint64_t stream) {
  if (to < fake.table_address || to + bytes > fake.table_address + fake.table_bytes) return 1;
  if (bytes > 64 * 1024 || to - fake.table_address + bytes > MAX_TABLE) return 1; /* those the driver may wait for */
  ++fake.copies;
  fake.copied_on = stream;
  memcpy(fake.table + (to - fake.table_address), from, bytes);
  return 0;
}
int cuStreamGetCaptureInfo_v2(uint64_t stream, int *status, uint64_t *id, uint64_t *graph,
                              const void **dependencies, size_t *count) {
  (void)stream; (void)dependencies; (void)count;
  *status = fake.capturing;
  *id = 7;
  *graph = fake.capturing ? 0x6AF : 0;
  return 0;
}
int cuUserObjectCreate(uint64_t *object, void *memory, void (*destroy)(void *), unsigned references,
                       unsigned flags) {
  if (references != 1 || flags != 1) return 1;
  fake.graph_memory = memory;
  fake.graph_destroy = destroy;
  *object = 0x0B1;
  return 0;
}
int cuGraphRetainUserObject(uint64_t graph, uint64_t object, unsigned count, unsigned flags) {
  if (graph != 0x6AF || object != 0x0B1 || count != 1 || flags != 1) return 1;
  ++fake.retained;
  return 0;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, uint64_t function, int threads,
                                                size_t shared_bytes) {
  (void)function;
  ++fake.occupancy_queries;
  fake.occupancy_threads = threads;
  fake.occupancy_shared_bytes = (int)shared_bytes;
  fake.occupancy_cluster = 1;
  *blocks = fake.resident;
  return 0;
}
int cuOccupancyMaxActiveClusters(int *clusters, uint64_t function, const struct Config *config) {
  (void)function;
  if (config->attribute_count != 1 || config->attributes[0].id != 4) return 1;
  const uint32_t *cluster = config->attributes[0].value.cluster;
  for (int k = 0; k < 3; ++k)
    if (config->grid[k] == 0 || config->grid[k] % cluster[k]) return 1;
  ++fake.occupancy_queries;
  fake.occupancy_threads = (int)(config->block[0] * config->block[1] * config->block[2]);
  fake.occupancy_shared_bytes = (int)config->shared_bytes;
  fake.occupancy_cluster = (int)(cluster[0] * cluster[1] * cluster[2]);
  *clusters = fake.resident;
  return 0;
}

int cuGetProcAddress_v2(const char *name, void **address, int version, uint64_t flags,
                        int *status) {
  (void)version; (void)flags;
  *address = 0;
  *status = 1;
  if (!strcmp(name, fake.hidden)) return 500;
  char versioned[128];
  strcpy(versioned, name);
  strcat(versioned, "_v2");
  /* RTLD_DEFAULT might find a real driver that another library loaded. */
  Dl_info self;
  dladdr((void *)cuGetProcAddress_v2, &self);
  void *library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  *address = dlsym(library, versioned);
  if (!*address) *address = dlsym(library, name);
  *status = *address ? 0 : 1;
  return *address ? 0 : 500;
}

/* -- an array library: DLPack's exchange table over described objects ------ */

enum { OBJECTS = 4096, MAX_RANK = 8 };

struct Tensor {
  uint64_t data;
  int32_t device_type, device_id, rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};

static struct {
  void *object;
  struct Tensor tensor;
  int64_t shape[MAX_RANK], strides[MAX_RANK];
} objects[OBJECTS];

static unsigned slot_of(const void *object) {
  unsigned slot = (unsigned)((uintptr_t)object >> 4) * 2654435761u % OBJECTS;
  for (unsigned k = 0; k < OBJECTS; ++k, slot = (slot + 1) % OBJECTS)
    if (!objects[slot].object || objects[slot].object == object) return slot;
  return OBJECTS;
}

int fake_describe_array(void *object, uint64_t pointer, int rank, const int64_t *shape) {
  unsigned slot = slot_of(object);
  if (slot == OBJECTS) return 1;
  objects[slot].object = object;
  int64_t stride = 1;
  for (int dim = rank - 1; dim >= 0; --dim) {
    objects[slot].shape[dim] = shape[dim];
    objects[slot].strides[dim] = stride;
    stride *= shape[dim];
  }
  struct Tensor tensor = {pointer, 2, (int)(pointer >> 40) - 1, rank, 2, 32, 1,
                          objects[slot].shape, objects[slot].strides, 0};
  objects[slot].tensor = tensor;
  return 0;
}

static int tensor_from_object(void *object, struct Tensor *out) {
  *out = objects[slot_of(object)].tensor;
  return 0;
}
static int current_work_stream(int type, int device, void **out) {
  (void)type;
  *out = (void *)(uintptr_t)(500 + device);
  return 0;
}

static const struct {
  uint32_t major, minor;
  void *previous, *unused[3];
  int (*tensor_from_object)(void *, struct Tensor *);
  int (*current_work_stream)(int, int, void **);
} exchange_table = {1, 3, 0, {0, 0, 0}, tensor_from_object, current_work_stream};
const void *fake_exchange_table(void) { return &exchange_table; }
