"""Seccomp filters as in production, for test/target/filtered.c."""

import functools
import re
import subprocess

from conftest import ROOT

# The essence of Docker's default profile: what it allows without a capability. Every other call
# fails with EPERM.
DOCKER = """
accept accept4 access adjtimex alarm bind brk cachestat capget capset chdir chmod chown clock_adjtime clock_getres
clock_gettime clock_nanosleep close close_range connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1
epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old eventfd eventfd2 execve execveat exit
exit_group faccessat faccessat2 fadvise64 fallocate fanotify_mark fchdir fchmod fchmodat fchmodat2 fchown fchownat
fcntl fdatasync fgetxattr flistxattr flock fork fremovexattr fsetxattr fstat fstatfs fsync ftruncate futex futex_requeue
futex_wait futex_waitv futex_wake futimesat getcpu getcwd getdents getdents64 getegid geteuid getgid getgroups
getitimer getpeername getpgid getpgrp getpid getppid getpriority getrandom getresgid getresuid getrlimit
get_robust_list getrusage getsid getsockname getsockopt get_thread_area gettid gettimeofday getuid getxattr
inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_cancel ioctl io_destroy io_getevents io_pgetevents
ioprio_get ioprio_set io_setup io_submit kill landlock_add_rule landlock_create_ruleset landlock_restrict_self
lchown lgetxattr link linkat listen listxattr llistxattr lremovexattr lseek lsetxattr lstat madvise map_shadow_stack
membarrier memfd_create memfd_secret mincore mkdir mkdirat mknod mknodat mlock mlock2 mlockall mmap mprotect
mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink mremap msgctl msgget msgrcv msgsnd msync
munlock munlockall munmap name_to_handle_at nanosleep newfstatat open openat openat2 pause pidfd_open
pidfd_send_signal pipe pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll prctl pread64 preadv preadv2 prlimit64
process_mrelease pselect6 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv recvfrom recvmmsg
recvmsg remap_file_pages removexattr rename renameat renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending
rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_getaffinity
sched_getattr sched_getparam sched_get_priority_max sched_get_priority_min sched_getscheduler sched_rr_get_interval
sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp select semctl semget semop
semtimedop sendfile sendmmsg sendmsg sendto setfsgid setfsuid setgid setgroups setitimer setpgid setpriority
setregid setresgid setresuid setreuid setrlimit set_robust_list setsid setsockopt set_thread_area set_tid_address
setuid setxattr shmat shmctl shmdt shmget shutdown sigaltstack signalfd signalfd4 socket socketpair splice stat
statfs statx symlink symlinkat sync sync_file_range syncfs sysinfo tee tgkill time timer_create timer_delete
timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill truncate
umask uname unlink unlinkat utime utimensat utimes vfork vmsplice wait4 waitid write writev
arch_prctl clone process_vm_readv process_vm_writev ptrace personality
"""

# The essence of systemd's SystemCallFilter=@system-service. Without a SystemCallErrorNumber=, every
# other call kills.
SYSTEMD = """
brk cachestat close close_range dup dup2 dup3 lseek pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readv write
writev access chdir chmod close creat faccessat faccessat2 fallocate fchdir fchmod fchmodat fchmodat2 fcntl fgetxattr
flistxattr fremovexattr fsetxattr fstat fstatfs ftruncate futimesat getcwd getdents getdents64 getxattr
inotify_add_watch inotify_init inotify_init1 inotify_rm_watch lgetxattr link linkat listxattr llistxattr lremovexattr
lsetxattr lstat mkdir mkdirat mknod mknodat newfstatat open openat openat2 readlink readlinkat removexattr rename
renameat renameat2 rmdir setxattr stat statfs statx symlink symlinkat truncate unlink unlinkat utime utimensat utimes
arch_prctl clock_getres clock_gettime clock_nanosleep execve exit exit_group futex futex_waitv get_robust_list
get_thread_area getegid geteuid getgid getgroups getpgid getpgrp getpid getppid getrandom getresgid getresuid
getrlimit getsid gettid gettimeofday getuid membarrier mmap mprotect munmap nanosleep pause prlimit64 restart_syscall
rseq rt_sigreturn sched_getaffinity sched_yield set_robust_list set_thread_area set_tid_address setrlimit
sigaltstack time
epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 poll ppoll pselect6 select
memfd_create mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd pipe
pipe2 process_madvise process_vm_readv process_vm_writev semctl semget semop semtimedop shmat shmctl shmdt shmget
mlock mlock2 mlockall munlock munlockall accept accept4 bind connect getpeername getsockname getsockopt listen
recvfrom recvmmsg recvmsg sendmmsg sendmsg sendto setsockopt shutdown socket socketpair
capget clone clone3 execveat fork getrusage kill pidfd_open pidfd_send_signal prctl rt_sigqueueinfo
rt_tgsigqueueinfo setns swapcontext tgkill times tkill unshare vfork wait4 waitid waitpid
ioprio_get ioprio_set sched_setaffinity sched_setattr sched_setparam sched_setscheduler setpriority
rt_sigaction rt_sigpending rt_sigprocmask rt_sigsuspend rt_sigtimedwait signalfd signalfd4
alarm getitimer setitimer timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create
timerfd_gettime timerfd_settime fdatasync fsync msync sync sync_file_range syncfs
capset setfsgid setfsuid setgid setgroups setregid setresgid setresuid setreuid setuid
arch_prctl copy_file_range fadvise64 flock get_mempolicy getcpu getpriority ioctl kcmp madvise mbind mincore mremap
name_to_handle_at personality readahead readdir remap_file_pages sched_get_priority_max sched_get_priority_min
sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_yield sendfile setfsgid setpgid setsid
splice sysinfo tee umask uname userfaultfd vmsplice
"""

# The calls that test/target/resident.c and its start make themselves, with glibc 2.31 to 2.41.
RESIDENT = """
read write execve brk access openat newfstatat fstat pread64 mmap munmap mprotect close arch_prctl set_tid_address
set_robust_list rseq prlimit64 getrandom clone clone3 exit exit_group wait4 clock_nanosleep rt_sigprocmask
rt_sigaction rt_sigreturn futex prctl ioctl fcntl madvise restart_syscall lseek mremap clock_gettime
"""


@functools.cache
def numbers():
    """{name: number} of this machine's system calls."""
    text = subprocess.run(
        ["gcc", "-E", "-dM", "-include", "sys/syscall.h", "-"], input="", capture_output=True, text=True, check=True
    ).stdout
    return {name: int(value) for name, value in re.findall(r"#define __NR_(\w+) (\d+)", text)}


def numbers_of(names):
    """In the form that filtered.c reads; calls that this machine does not have are left out."""
    known = numbers()
    return ",".join(str(n) for n in sorted({known[name] for name in names if name in known}))


def only(action, names):
    return ["only", action, numbers_of(names.split() if isinstance(names, str) else names)]


def deny(action, *names):
    return ["deny", action, numbers_of(names)]


def docker():
    """Makes a newer clone fail as if it did not exist, so that glibc uses the older one; the newest
    filter decides."""
    return only("errno", DOCKER) + deny("enosys", "clone3")


def systemd():
    return only("kill", SYSTEMD)


def listed(file, *arrays):
    """Returns the names of the calls in tables of the sources."""
    text = (ROOT / "src" / file).read_text()
    found = set()
    for array in arrays:
        body = re.search(rf"\n(?:#define {array} |static const \S+ \S+ {array}\[\] = )(.*?)\n\n", text, re.S).group(1)
        found |= set(re.findall(r"HS_SECCOMP_(?:CALL|MAY_FAIL|FIRST|SECOND|THIRD)\(\s*(\w+)", body))
        found |= {"mmap"} if "MMAP(" in body else set()
        found |= set(re.findall(r'\.name = "(\w+)"', body))
    assert found
    return found


def injection_calls():
    return listed("inject/seccomp/seccomp_calls.c", "stop_calls", "borrow_calls", "load_calls")


def client_calls(*arrays):
    return listed("collect/attach/client_calls.c", *arrays)
