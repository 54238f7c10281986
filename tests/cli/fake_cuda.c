/* Stands in for NVIDIA's driver, and for a kernel that nvcc made: the scripts of an exported folder run where no GPU is. Memory of the GPU is
   the host's. The kernel is y[i] = g * sum[j](x[i,j]); FAKE_KERNEL makes it wrong in a way of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;

int cuInit(unsigned flags) { return (int)flags; }
int cuDeviceGetCount(int* count) {
  *count = getenv("FAKE_NO_GPU") == NULL ? 1 : 0;
  return 0;
}
int cuDeviceGet(int* device, int number) {
  *device = number;
  return 0;
}
int cuDeviceGetName(char* name, int size, int device) {
  snprintf(name, (size_t)size, "stand-in %d", device);
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  static int there;
  *context = &there + device;
  return 0;
}
int cuCtxSetCurrent(void* context) { return context == NULL; }
int cuCtxSynchronize(void) { return 0; }
int cuDeviceGetAttribute(int* value, int which, int device) {
  const char* capability = getenv("FAKE_CAPABILITY");
  const int number = capability == NULL ? 80 : atoi(capability);
  *value = which == 75 ? number / 10 : which == 76 ? number % 10 : 4096 + device;
  return 0;
}
int cuGetErrorString(int status, const char** text) {
  *text = status == 2 ? "out of memory" : "unknown";
  return 0;
}
int cuMemAlloc_v2(address* pointer, size_t size) {
  *pointer = (address)aligned_alloc(256, (size + 255) / 256 * 256);
  return *pointer == 0 ? 2 : 0;
}
int cuMemFree_v2(address pointer) {
  free((void*)pointer);
  return 0;
}
int cuMemsetD8_v2(address pointer, unsigned char byte, size_t size) {
  memset((void*)pointer, byte, size);
  return 0;
}
int cuMemcpyHtoD_v2(address to, const void* from, size_t size) {
  memcpy((void*)to, from, size);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, address from, size_t size) {
  memcpy(to, (const void*)from, size);
  return 0;
}
int cuEventCreate(void** event, unsigned flags) {
  static int there;
  *event = &there + flags;
  return 0;
}
int cuEventRecord(void* event, void* stream) { return event == NULL || stream != NULL; }
int cuEventSynchronize(void* event) { return event == NULL; }
int cuEventElapsedTime(float* took, void* begin, void* end) {
  *took = begin == NULL || end == NULL ? -1 : 0.25F;
  return 0;
}

struct tensor {
  void* data;
  const long long* extents;
  const long long* strides;
  int rank;
};
static int is(const char* word) {
  const char* mode = getenv("FAKE_KERNEL");
  return mode != NULL && strcmp(mode, word) == 0;
}
int rows_launch(const struct tensor* arguments, int count, const long long* dims, int dim_count, void* stream, const char** error) {
  static int launches;
  *error = count != 3 || dim_count != 1 || stream != NULL ? "arguments" : arguments[0].extents[0] != dims[0] ? "extents" : NULL;
  if (is("refuse")) *error = "the launch contract does not hold";
  if (*error != NULL) return 1;
  const float* x = arguments[0].data;
  const float g = *(const float*)arguments[1].data;
  float* y = arguments[2].data;
  ++launches;
  for (long long i = 0; i < dims[0]; ++i) {
    double sum = 0;
    for (long long j = 0; j < arguments[0].extents[1]; ++j) sum += x[i * arguments[0].strides[0] + j * arguments[0].strides[1]];
    y[i] = (float)(g * sum);
  }
  if (is("wrong")) y[dims[0] - 1] += 0.5F;
  if (is("hole")) memset(&y[dims[0] / 2], 0xFF, 4);
  if (is("beside")) y[dims[0]] = 0;
  if (is("unsteady")) y[0] += (float)launches * 1e-7F * (y[0] + 1);
  return 0;
}
