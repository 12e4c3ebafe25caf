//! Which system calls a child may make: all but a list. The programs are plain BPF, built here, so that they also refuse
//! the numbers of other calling conventions, and see the arguments that matter.

use super::sys::{self, Instruction};
use crate::SandboxError;
use crate::spec::{Hold, Spec};

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const IF_EQUAL: u16 = 0x15;
#[cfg(target_arch = "x86_64")]
const IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
const ERRNO: u32 = 0x0005_0000;

const OFFSET_OF_NUMBER: u32 = 0;
const OFFSET_OF_ARCH: u32 = 4;
const OFFSET_OF_ARGS: u32 = 16;

#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xc000_00b7;

/// Refused to every child that isn't `full`: what changes the machine or looks into other processes, whatever the
/// user, and what would go around the other checks.
const REFUSED: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_bpf,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    467, // open_tree_attr
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_vhangup,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_memfd_secret,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// Refused besides to a child that may change nothing: what changes a file without opening it for writing, so that
/// Landlock's write right doesn't cover it in every version.
const REFUSED_READ_ONLY: &[i64] = &[
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    452, // fchmodat2
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    463, // setxattrat
    466, // removexattrat
    469, // file_setattr
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// Answered as an old kernel would, so that programs take the call that can be checked.
const UNKNOWN: &[i64] = &[libc::SYS_openat2, libc::SYS_clone3];

const NEW_NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;

fn op(code: u16, k: u32) -> Instruction {
    Instruction { code, on_true: 0, on_false: 0, k }
}

/// Skips the next instruction unless the accumulator is `k`.
fn if_equal(k: u32) -> Instruction {
    Instruction { code: IF_EQUAL, on_true: 0, on_false: 1, k }
}

fn refuse(errno: i32) -> Instruction {
    op(RETURN, ERRNO | errno as u32)
}

/// Loads the lower half of an argument; what is tested fits there, and the kernel reads no more of these.
fn argument(index: u32) -> Instruction {
    op(LOAD, OFFSET_OF_ARGS + 8 * index)
}

/// Adds a block for one call. It decides; nothing after it sees the call.
fn block(program: &mut Vec<Instruction>, number: i64, body: &[Instruction]) {
    program.push(Instruction { code: IF_EQUAL, on_true: 0, on_false: body.len() as u8, k: number as u32 });
    program.extend_from_slice(body);
}

/// Allows only these values of an argument after a mask.
fn only(index: u32, mask: u32, values: &[u32]) -> Vec<Instruction> {
    let mut body = vec![argument(index), op(AND, mask)];
    for &value in values {
        body.extend([if_equal(value), op(RETURN, ALLOW)]);
    }
    body.push(refuse(libc::EPERM));
    body
}

/// Refuses one value of an argument after a mask.
fn never(index: u32, mask: u32, value: u32) -> Vec<Instruction> {
    vec![argument(index), op(AND, mask), if_equal(value), refuse(libc::EPERM), op(RETURN, ALLOW)]
}

/// The program of a child.
pub(crate) fn program(spec: &Spec) -> Vec<Instruction> {
    let mut program = vec![
        op(LOAD, OFFSET_OF_ARCH),
        Instruction { code: IF_EQUAL, on_true: 1, on_false: 0, k: NATIVE },
        op(RETURN, KILL),
        op(LOAD, OFFSET_OF_NUMBER),
    ];
    #[cfg(target_arch = "x86_64")]
    program.extend([
        // The x32 convention: the same architecture, other numbers.
        Instruction { code: IF_AT_LEAST, on_true: 0, on_false: 1, k: 0x4000_0000 },
        op(RETURN, KILL),
    ]);
    for &number in UNKNOWN {
        block(&mut program, number, &[refuse(libc::ENOSYS)]);
    }
    for &number in REFUSED {
        block(&mut program, number, &[refuse(libc::EPERM)]);
    }
    let mut families = vec![libc::AF_NETLINK as u32];
    if spec.unix_sockets {
        families.push(libc::AF_UNIX as u32);
    }
    if spec.network {
        families.extend([libc::AF_INET as u32, libc::AF_INET6 as u32]);
    }
    block(&mut program, libc::SYS_socket, &only(0, u32::MAX, &families));
    // A pair of datagram sockets could be used to send to any other.
    let kinds = [libc::SOCK_STREAM as u32, libc::SOCK_SEQPACKET as u32];
    block(&mut program, libc::SYS_socketpair, &only(1, 0xf, &kinds));
    block(&mut program, libc::SYS_clone, &only(0, NEW_NAMESPACES, &[0]));
    let mut ioctl = vec![argument(1)];
    for request in [libc::TIOCSTI as u32, libc::TIOCLINUX as u32] {
        ioctl.extend([if_equal(request), refuse(libc::EPERM)]);
    }
    ioctl.push(op(RETURN, ALLOW));
    block(&mut program, libc::SYS_ioctl, &ioctl);
    match spec.hold {
        Hold::ReadOnly => {
            for &number in REFUSED_READ_ONLY {
                block(&mut program, number, &[refuse(libc::EPERM)]);
            }
            let (mask, value) = ((libc::O_TRUNC | libc::O_ACCMODE) as u32, libc::O_TRUNC as u32);
            #[cfg(target_arch = "x86_64")]
            block(&mut program, libc::SYS_open, &never(1, mask, value));
            block(&mut program, libc::SYS_openat, &never(2, mask, value));
        }
        // Files may be made there, but none that lends its owner's rights.
        Hold::Workspace | Hold::Full => {
            let lends = libc::S_ISUID | libc::S_ISGID;
            for (number, index) in [
                (libc::SYS_fchmod, 1),
                (libc::SYS_fchmodat, 2),
                (452, 2),
                #[cfg(target_arch = "x86_64")]
                (libc::SYS_chmod, 1),
            ] {
                block(&mut program, number, &only(index, lends, &[0]));
            }
        }
    }
    program.push(op(RETURN, ALLOW));
    program
}

/// Puts it on for good.
pub(crate) fn restrict(spec: &Spec) -> Result<(), SandboxError> {
    sys::seccomp(&program(spec)).map_err(SandboxError::step("seccomp can't be put on"))
}
