import { describe } from 'vitest'
import { hasBox } from '../helpers/box.ts'
import { attack } from './attempts.ts'
import { type Attempt, attempted, planted } from './sandbox-world.ts'

const readOnly = /Read-only file system|Permission denied|Directory nonexistent/i
const busy = /busy|Read-only file system/
const unseen = /Permission denied|No such file|nonexistent/
const other = /Invalid cross-device link|Read-only file system|Permission denied|Operation not permitted/
const forbidden = /not permitted|denied|must be superuser|only root|failed|No space left|Cannot open|Read-only/i

const write = (path: string, stopped = readOnly): Attempt => ({ line: `echo '${planted}' > ${path}`, stopped })
const run = (line: string, stopped: RegExp): Attempt => ({ line, stopped })

describe.skipIf(!hasBox)('programs of models (needs bwrap and user namespaces)', () => {
  attack<Attempt>(
    'change nothing outside of the workspace',
    {
      every: 4,
      core: {
        'a file of the home folder': write('"$ACCOUNT/baton-escape"'),
        'a file beside the workspace': write(
          '"$OUTSIDE/theirs.txt"',
          /Read-only|Permission denied|nonexistent|No such/,
        ),
        'a file that shells read': write('"$HOME/.profile"', /Read-only|Permission denied|nonexistent|No such/),
        'a file of the system': write('/etc/passwd'),
        'a program of the system': run('cp /bin/true /usr/local/bin/baton-escape', readOnly),
        'a library that is put before all others': write('/etc/ld.so.preload'),
        'through a link in the workspace': run('ln -s /etc/passwd l; echo x >> l', readOnly),
        'through a link to a folder': run('ln -s /etc l; echo x > l/baton-escape', readOnly),
        'through a chain of links': run('ln -s /etc a; ln -s a b; ln -s b/passwd c; echo x >> c', readOnly),
        'by a hard link': run('ln /etc/passwd l && echo x >> l', other),
        'by a path with ..': write('../outside/theirs.txt', /Read-only|Permission denied|nonexistent|No such/),
        'by /proc/self/root': write('/proc/self/root/etc/passwd'),
        'by /proc/1/root': write('/proc/1/root/etc/passwd', /denied|Read-only/),
        'by the working directory of another process': write(
          '/proc/1/cwd/etc/passwd',
          /denied|Read-only|nonexistent|No such/,
        ),
        'by moving the workspace': run('cd ..; mv work gone', /busy|Read-only|Permission denied/),
        'by removing the workspace': run('rm -rf ../outside', /Read-only|Permission denied|^\s*$/),
        'a cron table': run("echo '* * * * * true' | crontab - 2>&1 || echo NO", /NO|not found|denied/),
        'a setting of the kernel': write('/proc/sys/kernel/core_pattern'),
        'a limit of namespaces': run('echo 1000 > /proc/sys/user/max_user_namespaces', readOnly),
        'the trigger of the kernel': write('/proc/sysrq-trigger', /Read-only|denied|nonexistent|No such/),
        'a file of sysfs': run(
          'echo never > /sys/kernel/mm/transparent_hugepage/enabled',
          /Read-only|denied|nonexistent/,
        ),
        'a group of processes': run('mkdir /sys/fs/cgroup/baton-escape', /Read-only|denied|not permitted/),
        'the mode of a file of the system': run('chmod 666 /etc/hosts', /Read-only|not permitted/),
        'the owner of a file of the system': run('chown 65534 /etc/hosts', /Read-only|not permitted|Invalid/),
        'the host name': run('hostname escaped 2>&1 || echo 1 > /proc/sys/kernel/hostname', forbidden),
        'the time': run('date -s "$(date)" 2>&1', /not permitted|cannot set/),
      },
    },
    async (attempt) => void (await attempted(attempt)),
  )

  attack<Attempt>(
    'leave what decides what is run as it is',
    {
      every: 4,
      core: {
        'a hook of git': run(`echo '${planted}' > .git/hooks/pre-commit`, readOnly),
        'the config of git': run('git config core.fsmonitor /bin/true', /Read-only|could not lock/),
        'the config of git by its file': write('.git/config'),
        'the config of git by a hard link': run('ln .git/config c && echo x >> c', other),
        'the config of git by a link': run('ln -s .git/config c; echo x >> c', readOnly),
        'git moved away': run('mv .git gone', busy),
        'git removed': run('rm -rf .git', busy),
        'git with other modes': run('chmod -R 777 .git', /Read-only/),
        'git that something is mounted on': run('mkdir m; mount --bind m .git', forbidden),
        'git, unmounted': run('umount .git', forbidden),
        'git in a namespace of its own': run('unshare -Urm umount .git', forbidden),
        'config of Baton that is not there': write('baton.toml', /directory|Read-only/i),
        'config of Baton by moving': run(`echo '${planted}' > b; mv -T b baton.toml`, /cannot|directory|busy/),
        'config of Baton by a link': run('ln -s free.txt baton.toml; ls -l baton.toml/free.txt', /Read-only/),
        'config of Baton after its name is free': run('rmdir baton.toml; rm -rf baton.toml; echo x > baton.toml', busy),
        'config of Baton by renaming over it': run('mkdir n; mv -T n baton.toml', busy),
        'the folder of Baton': run('mkdir -p .baton/packs/core/evil', /Read-only/),
        'packs of AIPack': run('mkdir -p .aipack/pack', /Read-only/),
        'servers of tools': write('.mcp.json', /directory|Read-only/i),
        'the prompt file': write('ask.md'),
        'the prompt file by an editor in place': run('sed -i s/Do/Undo/ ask.md', busy),
        'the prompt file by renaming over it': run(`echo '${planted}' > n; mv n ask.md`, busy),
        'the prompt file removed': run('rm -f ask.md', busy),
        'the prompt file cut': run('truncate -s 0 ask.md', /Read-only/),
        'the prompt file by a hard link': run('ln ask.md n && echo x >> n', other),
        'an agent': write('agents/deep/look.lua'),
        'an agent by renaming its folder': run('mv agents/deep agents/gone', busy),
        'an agent by renaming the folder above': run('mv agents gone', busy),
        'an agent by exchanging folders': run('cp -r agents n; mv -T agents o && mv -T n agents', busy),
        'an agent through /proc/self/cwd': write('/proc/self/cwd/agents/deep/look.lua'),
        'an agent from a folder that is held open': run('cd agents/deep; echo x > look.lua', readOnly),
      },
    },
    async (attempt) => void (await attempted(attempt)),
  )

  attack<Attempt>(
    'do not read keys',
    {
      every: 4,
      core: {
        'a file of variables': run('cat .env', unseen),
        'a file of variables by redirection': run('read -r line < .env; echo "$line"', unseen),
        'a copy of a file of variables': run('cp .env copy; cat copy', unseen),
        'a file of variables by a link': run('ln -s .env l; cat l', unseen),
        'a file of variables by a hard link': run('ln .env l; cat l', other),
        'a file of variables, moved': run('mv .env l; cat l', /busy|No such/),
        'a file of variables in an archive': run('tar cf - .env | tar tvf -', /crw|Permission denied/),
        'a file of variables by searching': run('grep -r KEY . 2>&1', unseen),
        'a file of variables by /proc': run('cat "/proc/self/root$WORK/.env" /proc/self/cwd/.env', unseen),
        'a file of variables by git': run(
          'git add -f .env; git hash-object -w .env; git diff --no-index /dev/null .env',
          /denied|could not|Read-only/,
        ),
        'a file of variables by Node': run(
          `"$NODE" -e "process.stdout.write(require('fs').readFileSync('.env'))"`,
          /EACCES|ENXIO|ENODEV/,
        ),
        'a file of variables with other modes': run('chmod 777 .env; cat .env', /Permission denied|Read-only/),
        'a file of variables, unmounted': run('umount .env; cat .env', unseen),
        'a deeper one that git ignores': run('cat deep/er/.env.local', unseen),
        'a deeper one in a folder that is moved': run('mv deep d; cat d/er/.env.local; mv d deep', unseen),
        'keys of ssh': run('cat ~/.ssh/id_ed25519; ls ~/.ssh', unseen),
        'keys of ssh by the home of the account': run('ls "$ACCOUNT/.ssh" 2>&1; cat "$ACCOUNT"/.ssh/* 2>&1', unseen),
        'keys of clouds': run('cat ~/.aws/credentials ~/.config/gcloud/key.json', unseen),
        'passwords of hosts': run('cat ~/.netrc', unseen),
        'what somebody has typed': run('cat ~/.bash_history', unseen),
        'the key that runs are signed with': run('cat "$STATE/state/run-key"', unseen),
        'the folder of runs': run('ls -R "$STATE"; find "$STATE"', unseen),
        'passwords of the system': run('cat /etc/shadow /etc/gshadow', unseen),
        'the temporary folder of others': run(
          'ls /tmp | wc -l; test -e "$OUTSIDE/../../.." && echo; ls /var/tmp/x',
          /No such/,
        ),
        'memory of the machine': run(
          'dd if=/dev/mem count=1; cat /proc/kcore | head -c 1; dd if=/dev/kmem count=1',
          unseen,
        ),
        'disks of the machine': run('for d in sda vda nvme0n1 xvda dm-0; do head -c 1 /dev/$d; done', /No such/),
        'disks by files of devices of its own': run('mknod d b 8 0; mknod c c 1 1; head -c 1 d c', forbidden),
        'the environment of Baton': run(
          `cat /proc/${process.pid}/environ; cat /proc/*/environ | tr '\\0' '\\n'`,
          /No such/,
        ),
        'keys in its own environment': run('env; export; echo end', /end/),
        'the first process of the box': run("tr '\\0' '\\n' < /proc/1/environ; ls -l /proc/1/fd; echo end", /end/),
        'files that Baton has open': run(
          'for f in /proc/self/fd/*; do readlink $f; done | grep -v "pipe\\|null\\|/proc\\|socket"; echo none',
          /^none$/m,
        ),
      },
    },
    async (attempt) => void (await attempted(attempt)),
  )
})
