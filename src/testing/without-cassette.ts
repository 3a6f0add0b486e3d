import { BatonError, isBatonError } from '../base/error.ts'
import { isObject } from '../base/json.ts'
import type { EffectKind, Effects } from '../event/effects.ts'
import { createEffects } from '../journal/effects.ts'
import { createMemoryJournal } from '../journal/memory.ts'
import type { SecretMask } from '../journal/secrets.ts'
import type { OpenedRun } from '../wiring/conduct.ts'

const whatIsDone: { readonly [kind in EffectKind]?: string } = {
  model: 'asks a model',
  http: 'sends an HTTP request',
  command: 'runs a command',
}

/**
 * A run that may read and change files, and nothing else: a test without a cassette. The first time it wants more is
 * what it fails for, whatever its scripts catch.
 */
export function openWithoutCassette(options: { readonly mask: SecretMask; readonly signal: AbortSignal }): OpenedRun {
  const journal = createMemoryJournal(options)
  const live = createEffects({ journal, signal: options.signal })
  let refused: BatonError | undefined

  function refuse(what: string): never {
    refused ??= new BatonError('DIVERGED', `this test has no cassette, and its run ${what}`, {
      hint: 'Name a file by cassette = "…", and fill it by baton test --record.',
    })
    throw refused
  }

  const effects: Effects = {
    ...live,
    async perform(_at, { kind, request }) {
      return refuse(`${whatIsDone[kind] ?? `does something outside (${kind})`}${named(request)}`)
    },
  }
  return {
    journal,
    replay: {
      effects,
      chooseModel: async (name) => refuse(`asks ${name === undefined ? 'a model' : `the model ${name}`}`),
      settle(error) {
        if (refused !== undefined && !(isBatonError(error) && error.code === 'DIVERGED')) throw refused
      },
    },
  }
}

/** What of a request says which one it is. */
function named(request: unknown): string {
  const name = isObject(request) ? (request['url'] ?? request['program'] ?? request['command']) : undefined
  return typeof name === 'string' ? `: ${name.slice(0, 200)}` : ''
}
