import { entriesIn } from '../../base/entries.ts'
import { lstatSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { homeFolder } from '../../base/home.ts'

/** Files and folders in a home folder that hold keys, or what the user has typed. */
const inHome = (
  '.ssh .aws .azure .gnupg .kube .docker .netrc .npmrc .yarnrc .yarnrc.yml .pypirc .pip .config/pip .git-credentials ' +
  '.config/git/credentials .config/gcloud .config/gh .config/glab-cli .config/hub .config/op .config/rclone .config/doctl ' +
  '.config/heroku .config/containers .config/sops .config/age .config/openai .config/anthropic .config/claude ' +
  '.config/github-copilot .config/configstore .config/google-chrome .config/chromium .config/BraveSoftware .config/Slack ' +
  '.config/Signal .config/keybase .config/environment.d .cargo/credentials .cargo/credentials.toml ' +
  '.gem/credentials .bundle/config .composer/auth.json .config/composer/auth.json .nuget/NuGet .m2/settings.xml ' +
  '.m2/settings-security.xml .gradle/gradle.properties .sbt/.credentials .ivy2/.credentials .terraform.d .terraformrc ' +
  '.vault-token .password-store .local/share/keyrings .local/share/gnome-keyring .mozilla .thunderbird .s3cfg .boto ' +
  '.pgpass .my.cnf .mylogin.cnf .databrickscfg .snowflake .kaggle .oci .fly .netlify .vercel .wrangler .pulumi .claude ' +
  '.claude.json .codex .gemini .cursor .continue .aider.conf.yml .anthropic .openai .huggingface .cache/huggingface/token ' +
  '.cache/huggingface/stored_tokens .purple .weechat .irssi .msmtprc .mutt .muttrc .fetchmailrc .Xauthority .ICEauthority ' +
  '.bitcoin .ethereum .electrum .aipack-base'
).split(' ')

/** The same by patterns of names, at the top of a home folder. */
const telling =
  /^\.env|token|credential|secret|passw|_history$|\.(?:pem|key|p12|pfx|kdbx)$|id_(?:rsa|dsa|ecdsa|ed25519)/i

/**
 * Places that hold keys in the user's home folders, whether they exist or not. Absolute. `given`: the value of `HOME`.
 */
export function keysAtHome(given: string | undefined): readonly string[] {
  const homes = new Set([homeFolder(given), homeFolder(), ofAccount()].filter((home) => home !== undefined))
  return [...homes].flatMap((home) => [
    ...inHome.map((name) => join(home, name)),
    ...entriesIn(home).flatMap(({ name }) => (telling.test(name) ? [join(home, name)] : [])),
  ])
}

/** The home folder according to the user database, whatever `HOME` says. */
function ofAccount(): string | undefined {
  try {
    return userInfo().homedir
  } catch {
    return undefined
  }
}

let ofSystem: readonly string[] | undefined

/**
 * What only root may read, if this process runs as root: other users could not read it anyway. Looked up once per
 * process.
 */
export function keysOfSystem(): readonly string[] {
  if (process.getuid?.() !== 0) return []
  ofSystem ??= [
    '/var/lib/docker',
    '/var/lib/containerd',
    '/var/lib/kubelet',
    '/var/lib/private',
    '/sys/kernel/debug',
    '/sys/kernel/tracing',
    '/sys/firmware',
    ...closedIn('/etc'),
    ...closedIn('/var/spool'),
    ...closedIn('/var/log'),
  ]
  return ofSystem
}

/** Deeper files are in folders that others may read as well. */
const deepest = 6

/** Files and folders below a folder that are not readable by others. */
function closedIn(folder: string, depth = 0): readonly string[] {
  return entriesIn(folder).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (!entry.isFile() && !entry.isDirectory()) return []
    const mode = lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0o777
    if ((mode & 0o004) === 0) return [path]
    return entry.isDirectory() && depth < deepest ? closedIn(path, depth + 1) : []
  })
}
