//! The system calls that neither the standard library nor rustix has in a form that fits, each behind a safe function.
//! Everything here is for the helper, which has one thread.
#![expect(
    unsafe_code,
    reason = "the one place of the crate, beside `spawn`, that talks to the kernel directly"
)]

use std::ffi::{CString, c_int, c_long, c_uint, c_ulong};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;

/// One instruction of a seccomp program, as the kernel reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) code: u16,
    pub(crate) on_true: u8,
    pub(crate) on_false: u8,
    pub(crate) k: u32,
}

/// Which of the two processes a fork returned in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fork {
    Parent(i32),
    Child,
}

/// A process that ended, and how `wait` puts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waited {
    pub(crate) pid: i32,
    pub(crate) status: i32,
}

fn check(result: c_long) -> io::Result<c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

pub(crate) fn unshare(flags: c_int) -> io::Result<()> {
    // SAFETY: takes no pointers. The process has one thread, so none shares what is left.
    check(unsafe { libc::unshare(flags) }.into()).map(drop)
}

pub(crate) fn fork() -> io::Result<Fork> {
    // SAFETY: the process has one thread, so no lock can be held by another in the copy.
    match check(unsafe { libc::fork() }.into())? {
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(pid as i32)),
    }
}

/// Ends the process without running destructors, which belong to the process that forked.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: takes no pointers and doesn't return.
    unsafe { libc::_exit(code) }
}

/// Waits for one child, or for any with -1. `None`: none has ended yet and `flags` say not to wait.
pub(crate) fn wait(pid: i32, flags: c_int) -> io::Result<Option<Waited>> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is a valid place for the result.
        match check(unsafe { libc::waitpid(pid, &raw mut status, flags) }.into()) {
            Ok(0) => return Ok(None),
            Ok(pid) => return Ok(Some(Waited { pid: pid as i32, status })),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

pub(crate) fn kill(pid: i32, signal: c_int) {
    // SAFETY: takes no pointers. That the process is gone already is no error to anybody here.
    let _gone = unsafe { libc::kill(pid, signal) };
}

pub(crate) fn prctl(option: c_int, argument: c_ulong) -> io::Result<()> {
    let zero: c_ulong = 0;
    // SAFETY: only options that take numbers are used.
    check(unsafe { libc::prctl(option, argument, zero, zero, zero) }.into()).map(drop)
}

/// Whether the kernel knows the capability with this number and it is in the bounding set.
pub(crate) fn in_bounding_set(capability: u32) -> bool {
    let zero: c_ulong = 0;
    // SAFETY: takes numbers only.
    unsafe { libc::prctl(libc::PR_CAPBSET_READ, c_ulong::from(capability), zero, zero, zero) == 1 }
}

/// Clears all ambient capabilities.
pub(crate) fn clear_ambient() -> io::Result<()> {
    let zero: c_ulong = 0;
    let clear = libc::PR_CAP_AMBIENT_CLEAR_ALL as c_ulong;
    // SAFETY: takes numbers only.
    check(unsafe { libc::prctl(libc::PR_CAP_AMBIENT, clear, zero, zero, zero) }.into()).map(drop)
}

/// Makes `mask` the permitted and effective capabilities; nothing is inheritable.
pub(crate) fn set_capabilities(mask: u64) -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: c_int,
    }
    #[repr(C)]
    struct Data {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    let header = Header { version: 0x2008_0522, pid: 0 };
    let half = |bits: u64| Data { effective: bits as u32, permitted: bits as u32, inheritable: 0 };
    let data = [half(mask & u64::from(u32::MAX)), half(mask >> 32)];
    // SAFETY: version 3 of the interface takes one header and two data structs, all of which outlive the call.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) }).map(drop)
}

pub(crate) fn set_identity(uid: u32, gid: u32, groups: &[u32]) -> io::Result<()> {
    // SAFETY: the pointer and the length describe `groups`; the others take numbers only.
    unsafe {
        check(libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()))?;
        check(libc::syscall(libc::SYS_setresgid, gid, gid, gid))?;
        check(libc::syscall(libc::SYS_setresuid, uid, uid, uid))?;
    }
    Ok(())
}

pub(crate) fn mount(
    source: Option<&Path>,
    target: &Path,
    kind: Option<&str>,
    flags: c_ulong,
    data: Option<&str>,
) -> io::Result<()> {
    let source = source.map(c_path).transpose()?;
    let target = c_path(target)?;
    let kind = kind.map(CString::new).transpose()?;
    let data = data.map(CString::new).transpose()?;
    let pointer = |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
    // SAFETY: each pointer is null or a C string that outlives the call.
    let result = unsafe {
        libc::mount(pointer(&source), target.as_ptr(), pointer(&kind), flags, pointer(&data).cast())
    };
    check(result.into()).map(drop)
}

/// Takes away the uppermost mount at a place.
pub(crate) fn unmount(place: &Path) -> io::Result<()> {
    let place = c_path(place)?;
    // SAFETY: the path is a C string that outlives the call.
    check(unsafe { libc::umount2(place.as_ptr(), libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW) }.into()).map(drop)
}

/// Sets and clears attributes of a mount, or with `recursive` of it and all below.
pub(crate) fn set_mount_attributes(path: &Path, set: u64, clear: u64, recursive: bool) -> io::Result<()> {
    let attributes = [set, clear, 0, 0];
    let path = c_path(path)?;
    let flags = if recursive { libc::AT_RECURSIVE } else { 0 } | libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: `attributes` has the layout of `struct mount_attr`, four u64, whose size is given; both outlive the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags as c_uint,
            attributes.as_ptr(),
            size_of_val(&attributes),
        )
    };
    check(result).map(drop)
}

/// The version of Landlock that the kernel offers; 0: none.
pub(crate) fn landlock_abi() -> u32 {
    // SAFETY: a null pointer with size 0 and this flag asks for the version.
    let result =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<u64>(), 0usize, 1u32) };
    u32::try_from(result).unwrap_or(0)
}

/// Makes a Landlock ruleset that handles the given rights.
pub(crate) fn landlock_ruleset(files: u64, network: u64, scoped: u64) -> io::Result<OwnedFd> {
    let attributes = [files, network, scoped];
    // Older kernels take a longer struct only if the rest is zero, which is how callers fill it for them.
    // SAFETY: `attributes` has the layout of `struct landlock_ruleset_attr`, and its size is given.
    let fd = check(unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, attributes.as_ptr(), size_of_val(&attributes), 0u32)
    })?;
    // SAFETY: the kernel just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Allows rights at and below a place.
pub(crate) fn landlock_allow(ruleset: BorrowedFd<'_>, place: BorrowedFd<'_>, files: u64) -> io::Result<()> {
    #[repr(C, packed)]
    struct PathBeneath {
        allowed: u64,
        parent: i32,
    }
    let rule = PathBeneath { allowed: files, parent: place.as_raw_fd() };
    // SAFETY: `rule` has the packed layout of `struct landlock_path_beneath_attr`; rule type 1 takes it.
    let result = unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), 1u32, &raw const rule, 0u32)
    };
    check(result).map(drop)
}

pub(crate) fn landlock_restrict(ruleset: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0u32) }).map(drop)
}

/// Puts a seccomp program on this process and all that come from it.
pub(crate) fn seccomp(program: &[Instruction]) -> io::Result<()> {
    #[repr(C)]
    struct Program {
        length: u16,
        filter: *const Instruction,
    }
    let length = u16::try_from(program.len()).map_err(io::Error::other)?;
    let program = Program { length, filter: program.as_ptr() };
    // SAFETY: `program` has the layout of `struct sock_fprog` and describes a slice that outlives the call.
    check(unsafe { libc::syscall(libc::SYS_seccomp, 1u32, 0u32, &raw const program) }).map(drop)
}

/// Marks all descriptors from `first` on to be closed by an exec.
pub(crate) fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: takes numbers only; the last flag marks instead of closing.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 4u32) }).map(drop)
}

/// Closes all descriptors in a range, both ends included.
pub(crate) fn close_range(first: u32, last: u32) {
    // SAFETY: takes numbers only. Callers don't use what they close.
    let _none_open = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0u32) };
}

/// Takes a descriptor that whoever started this process passed under its number.
pub(crate) fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: asks for flags only.
    check(unsafe { libc::fcntl(number, libc::F_GETFD) }.into())?;
    // SAFETY: it is open, and the command line says that it is for this process; it is taken once.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Duplicates a descriptor to the first free number from `at_least` on, closed by an exec.
pub(crate) fn duplicate_above(fd: BorrowedFd<'_>, at_least: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only; the result is ours.
    unsafe {
        let number = check(libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, at_least).into())?;
        Ok(OwnedFd::from_raw_fd(number as RawFd))
    }
}

/// Makes `number` another name of a descriptor, one that an exec keeps.
pub(crate) fn duplicate_onto(fd: BorrowedFd<'_>, number: RawFd) -> io::Result<()> {
    // SAFETY: takes numbers only; callers own what was at `number`.
    check(unsafe { libc::dup2(fd.as_raw_fd(), number) }.into()).map(drop)
}

/// Waits until one of two descriptors can be read or is at its end, for at most `milliseconds`.
pub(crate) fn poll(fds: [BorrowedFd<'_>; 2], milliseconds: c_int) -> io::Result<[bool; 2]> {
    let mut entries = fds.map(|fd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 });
    // SAFETY: the pointer and the number describe `entries`.
    match check(unsafe { libc::poll(entries.as_mut_ptr(), 2, milliseconds) }.into()) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(entries.map(|entry| entry.revents != 0)),
    }
}

/// Gives all signals their first meaning and blocks none.
pub(crate) fn reset_signals() {
    let default = [0u64; 4];
    for number in 1..=64 {
        // Not through libc, which keeps two signals for itself.
        // SAFETY: all zero is the default action without flags or mask, in no more bytes than these; 8 are the mask's.
        unsafe {
            libc::syscall(libc::SYS_rt_sigaction, number, default.as_ptr(), ptr::null_mut::<u64>(), 8usize)
        };
    }
    // SAFETY: `set` is filled before it is read.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, ptr::null_mut());
    }
}

/// Makes this process give way to others, at least as much as it did.
pub(crate) fn be_nicer(level: c_int) -> io::Result<()> {
    // An agent that gives way itself may not take that back without a right that few have.
    let own = rustix::process::getpriority_process(None)?;
    be_nice(level.max(own))
}

/// Makes this process give way to others this much.
pub(crate) fn be_nice(level: c_int) -> io::Result<()> {
    // SAFETY: takes numbers only: this process.
    check(unsafe { libc::syscall(libc::SYS_setpriority, 0, 0, level) }).map(drop)
}
