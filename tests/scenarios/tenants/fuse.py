# A file system of one file, "file", whose content nobody ever gets: a program of a tenant's (FUSE, as in linux/fuse.h)
# that answers every question about the file but what stands in it. Root mounts it in the tenant's name, which stands for
# fusermount. Arguments: folder, uid.
import ctypes, os, struct, sys, time

folder, uid = sys.argv[1], int(sys.argv[2])
device = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={device},rootmode=40000,user_id={uid},group_id={uid}".encode()
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"fuse", folder.encode(), b"fuse", 6, options) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
os.setgid(uid)
os.setuid(uid)

NOW = int(time.time()) - 10
SIZE = 4096


def attributes(node):
    mode, size = (0o40755, 0) if node == 1 else (0o100644, SIZE)
    return struct.pack("<6Q3I7I", node, size, 8, NOW, NOW, NOW, 0, 0, 0, mode, 1, uid, uid, 0, 4096, 0)


def answer(kind, node, body):
    if kind == 26:  # INIT
        major, minor, ahead, flags = struct.unpack_from("<4I", body)
        return struct.pack("<4I2H2I2H7I", 7, min(minor, 31), ahead, 0, 12, 9, SIZE * 16, 1, 16, 0, *([0] * 7))
    if kind == 1:  # LOOKUP
        if body.rstrip(b"\0") != b"file":
            return None
        return struct.pack("<4Q2I", 2, 0, 60, 60, 0, 0) + attributes(2)
    if kind == 3:  # GETATTR
        return struct.pack("<Q2I", 60, 0, 0) + attributes(node)
    if kind in (14, 27):  # OPEN, OPENDIR
        return struct.pack("<Q2I", 1, 0, 0)
    if kind == 17:  # STATFS
        return struct.pack("<5Q10I", 1, 1, 1, 1, 1, 4096, 255, 4096, *([0] * 7))
    return None


print("ready", flush=True)
while True:
    try:
        message = os.read(device, 1 << 20)
    except OSError:
        break
    length, kind, number, node = struct.unpack_from("<2I2Q", message)
    if kind in (2, 42):  # FORGET has no answer
        continue
    if kind == 15:  # READ gets none
        continue
    said = answer(kind, node, message[40:])
    code = 0 if said is not None else -2
    os.write(device, struct.pack("<IiQ", 16 + len(said or b""), code, number) + (said or b""))
