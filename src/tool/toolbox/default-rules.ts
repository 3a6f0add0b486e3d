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

/**
 * What tools that read are not given unless somebody opens it: everything outside the workspace, and secrets. The last rule
 * that matches counts.
 */
export const readingRules: readonly ToolRule[] = readers.flatMap((tool) => {
  const all = (patterns: readonly string[], effect: ToolRule['effect']): readonly ToolRule[] =>
    patterns.map((pattern) => ({ tool, pattern, effect, origin: 'default' }))
  return [
    ...all(everything, 'deny'),
    ...all(workspace, 'allow'),
    ...all(secretFiles, 'deny'),
    ...all([exampleFiles], 'allow'),
  ]
})
