import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { BatonError, hasSystemCode, messageOf } from '../base/error.ts'
import { createSigner } from '../base/hash.ts'
import { makeFolderPrivate } from '../base/private-folder.ts'
import { adviceFor } from './failure.ts'
import { nodeFiles } from './file-port.ts'
import { stateFolder } from './run-id.ts'
import type { Environment } from './secrets.ts'

/** The key that signs the records of this installation. It never leaves its file. */
export type SigningKey = Buffer

const keyBytes = 32

/** Loaded only when a key is made or a record is read: loading takes a short run longer than all its signing. */
const crypto = () => process.getBuiltinModule('node:crypto')

const ownState = {
  what: 'the state folder',
  hint: 'Set BATON_HOME or XDG_STATE_HOME to a folder of your own.',
}

const unusable = 'the key that records are signed with cannot be used:'

/** Where the key of this installation is stored. */
function signingKeyFile(around: { readonly env: Environment; readonly home: string }): string {
  return join(stateFolder(around), 'run-key')
}

/**
 * The key of this installation; created if it does not exist. If several processes create one, all get the same key.
 * @throws BatonError UNTRUSTED if it or its folder belongs to another user, JOURNAL_FAILED if it cannot be read or created
 */
export function openSigningKey(around: { readonly env: Environment; readonly home: string }): SigningKey {
  const file = signingKeyFile(around)
  try {
    makeFolderPrivate(dirname(file), ownState)
    return readKey(file) ?? makeKey(file)
  } catch (error) {
    if (error instanceof BatonError) throw error
    throw new BatonError('JOURNAL_FAILED', `${unusable} ${file}: ${messageOf(error)}`, {
      hint: adviceFor(error, 'set BATON_HOME to another folder'),
      cause: error,
    })
  }
}

/** The same without creating anything: if there is no key, returns a random one, which has signed nothing. */
export function presentSigningKey(around: { readonly env: Environment; readonly home: string }): SigningKey {
  return readKey(signingKeyFile(around)) ?? crypto().randomBytes(keyBytes)
}

function readKey(file: string): SigningKey | undefined {
  let descriptor: number
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (hasSystemCode(error, 'ENOENT')) return undefined
    throw error
  }
  try {
    const { mode, uid } = fstatSync(descriptor)
    if (process.getuid !== undefined && uid !== process.getuid()) {
      throw new BatonError('UNTRUSTED', `${unusable} ${file}: it belongs to another user`, { hint: ownState.hint })
    }
    const key = Buffer.from(readFileSync(descriptor, 'utf8').trim(), 'hex')
    if (key.length !== keyBytes) throw keyError(file, 'it does not contain a key')
    if ((mode & 0o077) !== 0) chmodSync(file, 0o600)
    return key
  } finally {
    closeSync(descriptor)
  }
}

/** The first process that links its file into place has made the key. */
function makeKey(file: string): SigningKey {
  nodeFiles.makeFolder(dirname(file))
  const temporary = `${file}.${crypto().randomBytes(8).toString('hex')}.tmp`
  try {
    writeFileSync(temporary, `${crypto().randomBytes(keyBytes).toString('hex')}\n`, {
      mode: 0o600,
      flag: 'wx',
      flush: true,
    })
    linkSync(temporary, file)
  } catch (error) {
    if (!hasSystemCode(error, 'EEXIST')) throw error
  } finally {
    rmSync(temporary, { force: true })
  }
  const key = readKey(file)
  if (key === undefined) throw keyError(file, 'it was removed in the meantime')
  return key
}

function keyError(file: string, why: string): BatonError {
  return new BatonError('JOURNAL_FAILED', `${unusable} ${file}: ${why}`, {
    hint: 'Remove it: a new one is created, and earlier runs can no longer be resumed.',
  })
}

/** Kind of the line that signs all lines before it, back to the previous one. */
export const sealKind = 'seal'

/** Identifies a signing line: its run, file and line number. */
interface SealPlace {
  /** The run folder: its name is the id of the run. */
  readonly folder: string
  readonly epoch: number
  readonly number: number
}

/** Accumulates lines, and signs them. */
export interface Seal {
  readonly add: (...bytes: readonly (string | Uint8Array)[]) => void
  /** The signature of everything that was added since the last one. */
  readonly take: (place: SealPlace) => string
}

export function createSeal(key: SigningKey): Seal {
  let signer = createSigner(key)
  return {
    add(...all) {
      for (const bytes of all) signer.update(bytes)
    },
    take({ folder, epoch, number }) {
      signer.update(`${basename(folder)} ${epoch} ${number}`)
      const signature = signer.digest('hex')
      signer = createSigner(key)
      return signature
    },
  }
}

export function isSameSignature(one: string, other: unknown): boolean {
  return (
    typeof other === 'string' &&
    one.length === other.length &&
    crypto().timingSafeEqual(Buffer.from(one), Buffer.from(other))
  )
}
