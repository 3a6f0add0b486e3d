import { BatonError } from '../base/error.ts'
import type { Environment } from '../config/locate.ts'
import { type SecretMask, secretNames } from '../journal/secrets.ts'
import type { StoredSources } from '../run/read-sources.ts'

/** Secrets that are in no variable of their own have names that no variable can have. */
const variable = /^[A-Za-z_]\w*$/

/**
 * A mask that puts back all secrets or nothing: with a name in place of a value a run would ask, write and run something
 * else than it did, and do finished parts again. Its `unmask` throws BatonError USAGE for a variable that is not set.
 */
export function strictMask(mask: SecretMask, env: Environment): SecretMask {
  return {
    ...mask,
    unmask(text) {
      const missing = secretNames(text).filter((name) => variable.test(name) && (env[name] ?? '').trim() === '')
      if (missing.length > 0) throw refusal(`this run has used ${namesText(missing)}, which ${isNot(missing)} set now`)
      return mask.unmask(text)
    },
  }
}

/** Refuses sources whose text cannot be had again because a secret in it has changed. @throws BatonError USAGE */
export function refuseChangedSecrets({ start, later }: StoredSources): void {
  for (const source of [...start.values(), ...later.values()]) {
    if ('changed' in source || source.isWhole) continue
    const names = source.secrets.filter((name) => variable.test(name))
    if (names.length > 0) {
      throw refusal(
        `${source.path} held the value of ${namesText(names)} when this run began, and it is another one now`,
      )
    }
  }
}

function refusal(message: string): BatonError {
  return new BatonError('USAGE', message, {
    hint: 'Set it as it was then, for example with --env-file, or run the file anew.',
  })
}

function namesText(names: readonly string[]): string {
  return names.length === 1 ? `the secret ${names[0]}` : `the secrets ${names.join(', ')}`
}

function isNot(names: readonly string[]): string {
  return names.length === 1 ? 'is not' : 'are not'
}
