"""Tries to get out of a read-only child in every way that its author could think of.

Arguments: a folder in which everybody may write everything, and the process id of whoever runs the test. Prints one line
for each attempt that got through, and the number of attempts at the end. What it changed unnoticed, the test finds.
"""
import ctypes
import errno
import mmap
import os
import socket
import struct
import subprocess
import sys

VICTIMS, PARENT = sys.argv[1], int(sys.argv[2])
FILE = VICTIMS + "/file"
NAME = "steadyhand-escape-" + os.path.basename(VICTIMS)
TMP = os.environ["TMPDIR"]
libc = ctypes.CDLL(None, use_errno=True)
attempts = 0


def syscall(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def attempt(name, function):
    """Whatever doesn't raise got through."""
    global attempts
    attempts += 1
    if not os.path.exists(FILE):
        # An attempt that got through took it away from the next.
        with open(FILE, "w") as file:
            os.fchmod(file.fileno(), 0o666)
    try:
        function()
    except (OSError, ValueError, subprocess.SubprocessError, ConnectionError):
        return
    print("THROUGH", name, flush=True)


def write(path, flags=os.O_WRONLY):
    fd = os.open(path, flags, 0o666)
    os.write(fd, b"changed")
    os.close(fd)


def through_link():
    os.symlink(FILE, TMP + "/link")
    write(TMP + "/link")


def hard_link_and_write():
    os.link(FILE, TMP + "/hard")
    write(TMP + "/hard")


def memory_file_program():
    fd = os.memfd_create("program", 0)
    with open("/bin/sh", "rb") as program:
        os.write(fd, program.read())
    subprocess.run([f"/proc/self/fd/{fd}", "-c", f"echo changed > {FILE}"], pass_fds=[fd], check=True, stderr=subprocess.DEVNULL)


def set_uid_program():
    if subprocess.run([VICTIMS + "/suid-id", "-u"], capture_output=True).stdout.strip() != b"0":
        raise OSError(errno.EPERM, "not root")


def inherited_descriptors():
    found = []
    for fd in range(3, 1024):
        try:
            target = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            continue
        if "/proc/" not in target:
            found.append(target)
    if not found:
        raise OSError(errno.EBADF, "none")
    print("inherited", found)


def user_namespace():
    pid = os.fork()
    if pid == 0:
        try:
            syscall(272, 0x10000000)
            os._exit(0)
        except OSError:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    if status != 0:
        raise OSError(errno.EPERM, "refused")


def clone_user_namespace():
    pid = syscall(56, 0x10000000 | 17, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def datagram_pair():
    one, _other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"changed", VICTIMS + "/datagrams")


def connect(address, family=socket.AF_UNIX):
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.settimeout(2)
    sock.connect(address)


def other_convention():
    pid = os.fork()
    if pid == 0:
        try:
            # x32's open of the file for writing.
            syscall(0x40000000 + 2, ctypes.c_char_p(FILE.encode()), os.O_WRONLY, 0)
            os._exit(0)
        except OSError:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    if status != 0:
        raise OSError(errno.EPERM, "killed")


def foreign_architecture():
    pid = os.fork()
    if pid == 0:
        # int 0x80 with number 20 (getpid of i386).
        code = mmap.mmap(-1, 4096, prot=7)
        code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
        address = ctypes.addressof(ctypes.c_char.from_buffer(code))
        result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        os._exit(0 if result > 0 else 1)
    _, status = os.waitpid(pid, 0)
    if status != 0:
        raise OSError(errno.EPERM, "killed")


def set_flags():
    fd = os.open(FILE, os.O_RDONLY)
    flags = ctypes.c_long(0x80)
    if libc.ioctl(fd, 0x40086602, ctypes.byref(flags)) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def by_handle():
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + b"\0" * 128)
    mount_id = ctypes.c_int()
    if libc.name_to_handle_at(-100, FILE.encode(), handle, ctypes.byref(mount_id), 0) < 0:
        raise OSError(ctypes.get_errno(), "refused")
    fd = libc.open_by_handle_at(os.open(VICTIMS, os.O_RDONLY), handle, os.O_WRONLY)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "refused")
    os.write(fd, b"changed")


def process_memory():
    buffer = ctypes.create_string_buffer(8)
    vector = struct.pack("QQ", ctypes.addressof(buffer), 8)
    syscall(310, PARENT, ctypes.c_char_p(vector), 1, ctypes.c_char_p(vector), 1, 0)


def read(path):
    with open(path, "rb") as file:
        if not file.read(16):
            raise OSError(errno.ENODATA, "empty")


# First, as the attempts themselves leave some open.
attempt("inherited descriptors", inherited_descriptors)
attempt("redirect", lambda: write(FILE))
attempt("append", lambda: write(FILE, os.O_WRONLY | os.O_APPEND))
attempt("read and write", lambda: write(FILE, os.O_RDWR))
attempt("create", lambda: write(VICTIMS + "/new", os.O_WRONLY | os.O_CREAT))
attempt("truncate by a reader", lambda: os.close(os.open(FILE, os.O_RDONLY | os.O_TRUNC)))
attempt("truncate", lambda: os.truncate(FILE, 0))
attempt("hard link", lambda: os.link(FILE, VICTIMS + "/hard"))
attempt("hard link into the private folder", hard_link_and_write)
attempt("rename", lambda: os.rename(FILE, VICTIMS + "/renamed"))
attempt("rename into the private folder", lambda: os.rename(FILE, TMP + "/taken"))
attempt("rename out of the private folder", lambda: (open(TMP + "/mine", "w").close(), os.rename(TMP + "/mine", VICTIMS + "/mine")))
attempt("unlink", lambda: os.unlink(FILE))
attempt("symbolic link", lambda: os.symlink("x", VICTIMS + "/symbolic"))
attempt("make folder", lambda: os.mkdir(VICTIMS + "/made"))
attempt("remove folder", lambda: os.rmdir(VICTIMS + "/empty"))
attempt("fifo", lambda: os.mkfifo(VICTIMS + "/fifo"))
attempt("device", lambda: os.mknod(TMP + "/device", 0o60666, os.makedev(8, 0)))
attempt("socket in the folder", lambda: socket.socket(socket.AF_UNIX).bind(VICTIMS + "/bound"))
attempt("mode", lambda: os.chmod(FILE, 0o600))
attempt("mode by descriptor", lambda: os.fchmod(os.open(FILE, os.O_RDONLY), 0o600))
attempt("owner", lambda: os.chown(FILE, os.getuid(), -1))
attempt("times", lambda: os.utime(FILE))
attempt("attribute", lambda: os.setxattr(FILE, "user.x", b"y"))
attempt("flags", set_flags)
attempt("/proc/self/root", lambda: write("/proc/self/root" + FILE))
attempt("/proc/1/root", lambda: write("/proc/1/root" + FILE))
attempt("/proc/parent/root", lambda: write(f"/proc/{PARENT}/root{FILE}"))
attempt("/proc/parent/cwd", lambda: write(f"/proc/{PARENT}/cwd/file"))
attempt("/proc/self/cwd", lambda: (os.chdir(VICTIMS), write("/proc/self/cwd/file")))
attempt("reopening a descriptor", lambda: write(f"/proc/self/fd/{os.open(FILE, os.O_RDONLY)}"))
attempt("a link in the private folder", through_link)
attempt("a program in memory", memory_file_program)
attempt("io_uring", lambda: syscall(425, 8, ctypes.create_string_buffer(120)))
attempt("user namespace", user_namespace)
attempt("cloned user namespace", clone_user_namespace)
attempt("mount", lambda: syscall(165, b"x", ctypes.c_char_p(TMP.encode()), b"tmpfs", 0, 0))
attempt("new mount interface", lambda: syscall(430, b"tmpfs", 0))
attempt("remount", lambda: syscall(442, -100, b"/", 0, ctypes.create_string_buffer(struct.pack("QQQQ", 0, 1, 0, 0)), 32))
attempt("change root", lambda: os.chroot(TMP))
attempt("enter a namespace", lambda: syscall(308, os.open(f"/proc/{PARENT}/ns/mnt", os.O_RDONLY), 0))
attempt("set-uid program", set_uid_program)
attempt("become root", lambda: os.setuid(0))
attempt("file handle", by_handle)
attempt("openat2", lambda: syscall(437, -100, ctypes.c_char_p(FILE.encode()), ctypes.create_string_buffer(struct.pack("QQQ", os.O_WRONLY, 0, 0)), 24))
attempt("x32", other_convention)
attempt("i386", foreign_architecture)
attempt("trace", lambda: syscall(101, 16, PARENT, 0, 0))
attempt("memory of a process", process_memory)
attempt("descriptor of a process", lambda: syscall(438, syscall(434, PARENT, 0), 0, 0))
attempt("signal", lambda: os.kill(PARENT, 0))
attempt("priority of others", lambda: os.setpriority(os.PRIO_PROCESS, PARENT, 19))
attempt("bpf", lambda: syscall(321, 0, ctypes.create_string_buffer(128), 128))
attempt("keys", lambda: syscall(250, 0, -3, 1, 0, 0))
attempt("performance events", lambda: syscall(298, ctypes.create_string_buffer(128), 0, -1, -1, 0))
attempt("clock", lambda: syscall(227, 0, ctypes.create_string_buffer(struct.pack("qq", 1, 1))))
attempt("host name", lambda: syscall(170, b"changed", 7))
attempt("kernel setting", lambda: write("/proc/sys/kernel/domainname"))
attempt("shared memory folder", lambda: write("/dev/shm/" + NAME, os.O_WRONLY | os.O_CREAT))
if TMP != "/tmp":
    attempt("temporary folder", lambda: write("/tmp/" + NAME, os.O_WRONLY | os.O_CREAT))
attempt("socket", lambda: connect(VICTIMS + "/stream"))
attempt("abstract socket", lambda: connect("\0" + NAME))
attempt("datagrams from a pair", datagram_pair)
attempt("a pair of another kind", lambda: socket.socketpair(socket.AF_UNIX, 3))
for path in ["/run/systemd/private", "/run/systemd/notify", "/run/dbus/system_bus_socket", "/run/docker.sock", "/run/containerd/containerd.sock", "/var/run/docker.sock"]:
    attempt("socket " + path, lambda path=path: connect(path))
attempt("internet", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
attempt("internet 6", lambda: socket.socket(socket.AF_INET6, socket.SOCK_STREAM))
attempt("packets", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("host to guest", lambda: socket.socket(40, socket.SOCK_STREAM))
for path in ["/etc/shadow", "/etc/gshadow", VICTIMS + "/secret/key", VICTIMS + "/hidden.key", f"/proc/{PARENT}/environ", f"/proc/{PARENT}/mem", f"/proc/{PARENT}/root/etc/passwd", "/dev/kmsg", "/dev/mem", "/dev/sda", "/dev/vda", "/proc/kcore"]:
    attempt("read " + path, lambda path=path: read(path))
print("attempts", attempts)
