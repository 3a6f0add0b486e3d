import { createHash } from '../base/hash.ts'
import { isObject } from '../base/json.ts'
import type { FilePort } from './file-port.ts'
import { readLineBatches } from './lines.ts'
import { decodeLine } from './record.ts'
import { type Environment, secretNames } from './secrets.ts'

/** By the name of a variable whose marks are in a cassette: the proof that its writer knew the value. */
export type SecretProofs = Readonly<Record<string, string>>

/** A shorter value could be guessed from its proof, which is in a file that is shared. */
const shortestProven = 16
/** Each proof takes some 50 ms. */
const mostProofs = 32

/**
 * Anybody can write the mark of a secret into a cassette; a replay would turn it into the value of the user who replays.
 * So marks count only for variables of which the writer knew the value, in the file as it was written.
 */
export interface ProofWriter {
  /** Call this with each line before the last one, as it is written, in order. */
  readonly add: (line: string) => void
  /** Call this with text in which marks may be, before it is split into lines. */
  readonly look: (text: string) => void
  readonly proofs: (env: Environment) => SecretProofs
}

export function createProofWriter(): ProofWriter {
  const hash = createHash('sha256')
  const names = new Set<string>()
  return {
    add: (line) => void hash.update(line),
    look(text) {
      for (const name of secretNames(text)) names.add(name)
    },
    proofs(env) {
      const content = hash.digest('hex')
      const known = [...names].toSorted().filter((name) => valueOf(name, env).length >= shortestProven)
      return Object.fromEntries(known.slice(0, mostProofs).map((name) => [name, proofOf(name, content, env)]))
    },
  }
}

/** The part of the environment whose values the writer of a cassette knew. Damage is reported when it is opened. */
export async function provenVariables(file: string, env: Environment, files: FilePort): Promise<Environment> {
  const hash = createHash('sha256')
  let proofs: unknown
  for await (const lines of readLineBatches(file, files)) {
    for (const { bytes } of lines) {
      const end = bytes.includes('"cassette.end"') ? decodeLine(bytes) : undefined
      if (end?.e === 0 && (end.k as string) === 'cassette.end') proofs = (end as { readonly proofs?: unknown }).proofs
      else hash.update(bytes).update('\n')
    }
  }
  if (!isObject(proofs)) return {}
  const content = hash.digest('hex')
  const isProven = ([name, proof]: readonly [string, unknown]): boolean =>
    valueOf(name, env).length >= shortestProven && proof === proofOf(name, content, env)
  const proven = Object.entries(proofs).slice(0, mostProofs).filter(isProven)
  return Object.fromEntries(proven.map(([name]) => [name, env[name]]))
}

function valueOf(name: string, env: Environment): string {
  return Object.hasOwn(env, name) ? (env[name] ?? '').trim() : ''
}

/** Slow on purpose: the file may be public, and a value less random than a key. */
function proofOf(name: string, content: string, env: Environment): string {
  const { scryptSync } = process.getBuiltinModule('node:crypto')
  return scryptSync(valueOf(name, env), `baton cassette ${name} ${content}`, 32).toString('hex')
}
