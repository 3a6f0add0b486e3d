import type { ToolRule } from '../../event/permission.ts'

/** Files that hold keys and passwords, wherever they are. */
const secretFiles: readonly string[] = [
  '**/.env*',
  '**/*.{pem,key,p12,pfx,jks,keystore,kdbx,ppk}',
  '**/id_{rsa,dsa,ecdsa,ed25519,ecdsa_sk,ed25519_sk}',
  '**/{.netrc,_netrc,.npmrc,.pypirc,.pgpass,.my.cnf,.htpasswd,.dockercfg,.git-credentials,.vault-token}',
  '**/{.ssh,.aws,.gnupg,.kube}/**',
  '**/.docker/config.json',
  '**/.config/{gcloud,gh}/**',
]

/** What looks like one of them and is meant to be read: it shows which variables there are. */
const exampleFiles = '**/.env*.{example,sample,template}'

const everything = ['/', '/**']
const workspace = ['.', '**']

const readers = ['read', 'glob', 'grep']
/** What they may change besides is not for rules to say: nothing outside the workspace, nothing protected. */
const writers = ['edit', 'write']

function ruled(tool: string, patterns: readonly string[], effect: ToolRule['effect']): readonly ToolRule[] {
  return patterns.map((pattern) => ({ tool, pattern, effect, origin: 'default' }))
}

/**
 * What tools for files are not given unless somebody opens it: secrets, and to those that read everything outside the
 * workspace. The last rule that matches counts.
 */
export const fileRules: readonly ToolRule[] = [
  ...readers.flatMap((tool) => [...ruled(tool, everything, 'deny'), ...ruled(tool, workspace, 'allow')]),
  ...[...readers, ...writers].flatMap((tool) => [
    ...ruled(tool, secretFiles, 'deny'),
    ...ruled(tool, [exampleFiles], 'allow'),
  ]),
]
