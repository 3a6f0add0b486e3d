import { execFileSync } from 'node:child_process'
import { describe, expect } from 'vitest'
import { hasBox } from '../helpers/box.ts'
import { attack } from './attempts.ts'
import { type Attempt, attempted } from './sandbox-world.ts'

const forbidden =
  /not permitted|denied|must be superuser|failed|No space left|not found|No such|Read-only|terminal|permission|I\/O error|authentication failure/i
const hasPython = runs('python3', ['-c', ''])

function runs(program: string, args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** System calls, with their error numbers. */
const python = (code: string): string => `python3 -c '
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def tell(name, result):
    print(name, "ESCAPED" if result >= 0 else os.strerror(ctypes.get_errno()))
${code}
' 2>&1`

describe.skipIf(!hasBox)('processes of models (needs bwrap and user namespaces)', () => {
  attack<Attempt>(
    'do not leave their box',
    {
      every: 4,
      core: {
        'a signal for Baton': { line: `kill -9 ${process.pid}; kill -0 ${process.ppid}`, stopped: /No such process/ },
        'a list of other processes': {
          line: `ls /proc | grep -x ${process.pid}; ls -d /proc/[0-9]* | wc -l; echo end`,
          stopped: /^[1-9]\nend/m,
        },
        'another namespace of users': { line: 'unshare -U id', stopped: forbidden },
        'another namespace of mounts': { line: 'unshare -m true', stopped: forbidden },
        'another namespace of processes': { line: 'unshare -Urp --fork true', stopped: forbidden },
        'a box in the box': { line: 'bwrap --bind / / --dev /dev true', stopped: forbidden },
        'the namespaces of another process': {
          line: `nsenter -t 1 -a true; nsenter -t ${process.pid} -m true`,
          stopped: forbidden,
        },
        'another root': { line: 'chroot / true', stopped: forbidden },
        'a root that is writable': { line: 'mount -o remount,rw /', stopped: forbidden },
        'a file system of its own': { line: 'mkdir m; mount -t tmpfs none m', stopped: forbidden },
        'the disk, mounted anew': { line: 'mkdir m; mount /dev/vda m; mount /dev/sda1 m', stopped: forbidden },
        'the procfs, mounted anew': { line: 'mkdir m; mount -t proc none m', stopped: forbidden },
        'another user by su': {
          line: 'su -c id nobody </dev/null; su - -c "cat /etc/shadow" </dev/null',
          stopped: forbidden,
        },
        'another user by sudo': { line: 'sudo -n id', stopped: forbidden },
        'a setuid program of its own': {
          line: 'cp /usr/bin/id i; chmod 6755 i; ./i -u; cat /proc/self/status | grep -E "CapEff|NoNewPrivs"',
          stopped: /CapEff:\t0000000000000000\nNoNewPrivs:\t1/,
        },
        'capabilities of a file': { line: 'cp /bin/true t; setcap cap_sys_admin+ep t', stopped: forbidden },
        'a terminal to type at': {
          line: ': < /dev/tty; echo x > /dev/tty',
          stopped: /No such device|cannot open|cannot create/,
        },
        'a line for the terminal of Baton': {
          line: `"$NODE" -e "require('fs').openSync('/dev/tty', 'r+')"`,
          stopped: /ENXIO|ENOENT/,
        },
        'a network device': { line: 'ip link add d0 type dummy; ip link set lo down', stopped: forbidden },
        'a module of the kernel': { line: 'insmod x.ko; modprobe dummy', stopped: forbidden },
        'the log of the kernel': { line: 'dmesg -C; cat /dev/kmsg', stopped: forbidden },
        'a service of the system': { line: 'systemd-run --user true; systemctl start x', stopped: forbidden },
        'a job for later': { line: 'echo true | at now', stopped: forbidden },
        'a longer life than others': { line: 'echo -1000 > /proc/self/oom_score_adj', stopped: forbidden },
        'larger files than allowed': { line: 'ulimit -f unlimited', stopped: /not permitted|limit/i },
        'a higher priority': { line: 'nice -n -20 true', stopped: forbidden },
      },
    },
    async (attempt) => void (await attempted(attempt)),
  )

  describe.skipIf(!hasPython)('by system calls (needs python3)', () => {
    attack<Attempt>(
      'do not leave their box by calls of the system',
      {
        every: 4,
        core: {
          'ptrace of Baton': {
            line: python(`tell("attach", libc.ptrace(16, ${process.pid}, 0, 0))`),
            stopped: /attach (?:No such process|Operation not permitted)/,
          },
          'memory of Baton': {
            line: python(`open("/proc/${process.pid}/mem", "rb")`),
            stopped: /No such file/,
          },
          'reading memory of another process': {
            line: python(
              `b = ctypes.create_string_buffer(64)
class V(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
v = V(ctypes.addressof(b), 64)
tell("read", libc.process_vm_readv(${process.pid}, ctypes.byref(v), 1, ctypes.byref(v), 1, 0))`,
            ),
            stopped: /read (?:No such process|Operation not permitted|Bad address)/,
          },
          'unshare of everything': {
            line: python('tell("unshare", libc.unshare(0x10000000 | 0x00020000))'),
            stopped: /unshare (?:No space|Operation not)/,
          },
          'a new root': {
            line: python('tell("pivot_root", libc.pivot_root(b"/", b"/tmp"))'),
            stopped: /pivot_root Operation not permitted/,
          },
          'a mount': {
            line: python('tell("mount", libc.mount(b"none", b"/mnt", b"tmpfs", 0, None))'),
            stopped: /mount Operation not permitted/,
          },
          'a device': {
            line: python('tell("mknod", libc.mknod(b"d", 0o60666, 0x800))'),
            stopped: /mknod Operation not permitted/,
          },
          'another user': {
            line: python('tell("setuid", libc.setresuid(12345, 12345, 12345))'),
            stopped: /setuid (?:Invalid argument|Operation not permitted)/,
          },
          'other groups': {
            line: python('tell("setgroups", libc.setgroups(0, None))'),
            stopped: /setgroups Operation not permitted/,
          },
          'the clock': {
            line: python(
              'class T(ctypes.Structure): _fields_ = [("s", ctypes.c_long), ("n", ctypes.c_long)]\ntell("clock", libc.clock_settime(0, ctypes.byref(T(1, 0))))',
            ),
            stopped: /clock Operation not permitted/,
          },
          swap: {
            line: python('tell("swapoff", libc.swapoff(b"/swapfile"))'),
            stopped: /swapoff (?:Operation not permitted|No such)/,
          },
          'a handle of a file': {
            line: python(
              'b = ctypes.create_string_buffer(b"\\x08\\0\\0\\0\\x01\\0\\0\\0\\x02" + b"\\0" * 64)\nfd = os.open("/", os.O_RDONLY)\ntell("handle", libc.open_by_handle_at(fd, b, 0))',
            ),
            stopped: /handle Operation not permitted/,
          },
          'raw packets': {
            line: python('socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'),
            stopped: /not permitted/,
          },
          'packets of the link': { line: python('socket.socket(17, socket.SOCK_RAW, 0)'), stopped: /not permitted/ },
          "a process that is another one's child": {
            line: python('tell("subreaper", -1 if os.getppid() in (0, 1, 2, 3) else 0)'),
            stopped: /subreaper/,
          },
        },
      },
      async (attempt) => void (await attempted(attempt)),
    )
  })

  let next = 0
  attack<(seconds: string) => string>(
    'do not outlive their command',
    {
      every: 3,
      core: {
        'in the background': (seconds) => `sleep ${seconds} &`,
        'in a session of their own': (seconds) => `setsid sleep ${seconds} >/dev/null 2>&1 &`,
        'without a hangup': (seconds) => `nohup sleep ${seconds} >/dev/null 2>&1 &`,
        'forked twice': (seconds) => `(setsid sh -c 'sleep ${seconds} & exit' &)`,
        'deaf to signals': (seconds) => `setsid sh -c 'trap "" TERM HUP INT; sleep ${seconds}; sleep ${seconds}' &`,
        'started again and again': (seconds) => `setsid sh -c 'while :; do sleep ${seconds}; done' &`,
        'as a daemon of Node': (seconds) =>
          `"$NODE" -e "require('child_process').spawn('sleep', ['${seconds}'], { detached: true, stdio: 'ignore' }).unref()"`,
      },
    },
    async (start) => {
      const seconds = `86${process.pid}${(next += 1)}`
      await attempted({ line: `${start(seconds)}\nsleep 0.2; echo ran`, stopped: /ran/ })
      await expect.poll(() => execFileSync('ps', ['ax', '-o', 'args'], { encoding: 'utf8' })).not.toContain(seconds)
    },
  )

  attack<Attempt>(
    'do not use up the machine',
    {
      every: 3,
      core: {
        'a fork bomb': {
          line: 'b() { b | b & }; b; sleep 15',
          stopped: /more than 60 processes/,
          options: { rights: { processes: 60 } },
        },
        'a slow fork bomb': {
          line: 'i=0; while :; do sleep 20 & i=$((i+1)); done',
          stopped: /more than 60 processes/,
          options: { rights: { processes: 60 } },
        },
        'a bomb of memory': {
          line: `"$NODE" -e "const a = []; for (;;) a.push(Buffer.alloc(3e7, 1))"`,
          stopped: /more than 400 MiB/,
          options: { rights: { memory_mb: 400 } },
        },
        'memory of many processes': {
          line: `for i in 1 2 3 4 5 6; do "$NODE" -e "const a = Buffer.alloc(12e7, 1); setTimeout(() => a, 15000)" & done; wait`,
          stopped: /more than 400 MiB/,
          options: { rights: { memory_mb: 400 } },
        },
        'a full /tmp': {
          line: 'cat /dev/zero > /tmp/a',
          stopped: /No space left/,
          options: { rights: { tmp_mb: 16 } },
        },
        'a full /run': {
          line: 'cat /dev/zero > /run/a',
          stopped: /No space left/,
          options: { rights: { tmp_mb: 16 } },
        },
        'a full /var/tmp': {
          line: 'cat /dev/zero > /var/tmp/a',
          stopped: /No space left/,
          options: { rights: { tmp_mb: 16 } },
        },
        'full shared memory': {
          line: 'cat /dev/zero > /dev/shm/a',
          stopped: /No space left/,
          options: { rights: { tmp_mb: 16 } },
        },
        'a full /dev': { line: 'cat /dev/zero > /dev/a', stopped: /Read-only file system/ },
        'a huge file': {
          line: 'cat /dev/zero > big; echo "ended by $?"; rm big',
          stopped: /ended by 153/,
          options: { rights: { file_mb: 8 } },
        },
        'a sparse file': {
          line: 'truncate -s 1T big; echo "ended by $?"',
          stopped: /File too large|ended by 153/,
          options: { rights: { file_mb: 8 } },
        },
        'an image of memory': { line: 'sh -c "kill -SEGV \\$\\$"; ls core* 2>&1', stopped: /No such file/ },
      },
    },
    async (attempt) => void (await attempted(attempt)),
  )
})
