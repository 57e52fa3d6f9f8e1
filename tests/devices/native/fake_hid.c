/* hidapi with one SpaceMouse: what the package `easyhid`, below `pyspacemouse`, calls of it.
 *
 * The reports that the mouse sends are put into the world by `World.push`, in the device's layout.
 */
#include "world.h"

#include <stddef.h>
#include <wchar.h>

struct hid_device_info {
    char *path;
    unsigned short vendor_id, product_id;
    wchar_t *serial_number;
    unsigned short release_number;
    wchar_t *manufacturer_string, *product_string;
    unsigned short usage_page, usage;
    int interface_number;
    struct hid_device_info *next;
};
typedef struct { int opened; } hid_device;

static hid_device mouse;
static struct hid_device_info info = {
    .path = "/dev/hidraw-fake",
    .vendor_id = 0x256f,
    .product_id = 0xc635,
    .serial_number = L"1",
    .manufacturer_string = L"3Dconnexion",
    .product_string = L"SpaceMouse Compact",
};

int hid_init(void) { return 0; }
int hid_exit(void) { return 0; }

struct hid_device_info *hid_enumerate(unsigned short vendor, unsigned short product) {
    (void)vendor, (void)product;
    return attach() == 0 && w->mouse ? &info : NULL;
}
void hid_free_enumeration(struct hid_device_info *devices) { (void)devices; }

hid_device *hid_open_path(const char *path) {
    (void)path;
    if (attach() < 0 || !w->mouse) return NULL;
    mouse.opened = 1;
    note(OPEN, 0, NULL);
    return &mouse;
}
void hid_close(hid_device *device) {
    device->opened = 0;
    note(CLOSE, 0, NULL);
}
int hid_set_nonblocking(hid_device *device, int nonblock) { (void)device; return nonblock ? 0 : -1; }

/* One report; 0: none is waiting. */
int hid_read(hid_device *device, unsigned char *data, size_t length) {
    if (!device->opened || transfer(0, 0) < 0) return -1;
    int64_t taken = w->mouse_taken;
    if (taken == __atomic_load_n(&w->mouse_written, __ATOMIC_SEQ_CST)) return 0;
    size_t size = length < REPORT ? length : REPORT;
    memcpy(data, w->reports[taken % MAX_REPORTS], size);
    __atomic_store_n(&w->mouse_taken, taken + 1, __ATOMIC_SEQ_CST);
    return (int)size;
}
int hid_read_timeout(hid_device *device, unsigned char *data, size_t length, int ms) {
    (void)ms;
    return hid_read(device, data, length);
}
int hid_write(hid_device *device, const unsigned char *data, size_t length) {
    (void)device, (void)data;
    return (int)length;
}
const wchar_t *hid_error(hid_device *device) { (void)device; return L"device disconnected"; }
