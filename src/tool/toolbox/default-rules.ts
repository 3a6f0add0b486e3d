import type { ToolRule } from '../../event/permission.ts'
import { isWriter, ownToolNames, subjectKind } from './rows.ts'

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

/** Look like secret files but are meant to be read: they document the variables. */
const exampleFiles = '**/.env*.{example,sample,template}'

const everything = ['/', '/**']
const workspace = ['.', '**']

const withPath = ownToolNames.filter((name) => subjectKind(name) === 'path')

function ruled(tool: string, patterns: readonly string[], effect: ToolRule['effect']): readonly ToolRule[] {
  return patterns.map((pattern) => ({ tool, pattern, effect, origin: 'default' }))
}

/**
 * What tools whose calls name a path cannot access unless a rule allows it: secrets, and everything outside the
 * workspace, for which tools that change files have limits of their own. The last matching rule applies.
 */
export const fileRules: readonly ToolRule[] = [
  ...withPath
    .filter((tool) => !isWriter(tool))
    .flatMap((tool) => [...ruled(tool, everything, 'deny'), ...ruled(tool, workspace, 'allow')]),
  ...withPath.flatMap((tool) => [...ruled(tool, secretFiles, 'deny'), ...ruled(tool, [exampleFiles], 'allow')]),
]
