import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BatonError, hasSystemCode, messageOf } from '../../base/error.ts'
import { isObject, type Json } from '../../base/json.ts'
import { writeWholeFile } from '../../base/private-file.ts'
import { makeFolderPrivate } from '../../base/private-folder.ts'
import { randomName } from '../../base/random-name.ts'
import { type Owner, processOwners } from '../../journal/owner.ts'
import { stateFolder, triggersFolder, triggersOwner } from '../../journal/run-id.ts'
import type { Environment } from '../../journal/secrets.ts'

/*
 * What has to outlive the server: when a trigger has last started something, which times of it are dealt with, which
 * webhooks were accepted, and what waits. All of it is in a folder of the user's state, a file for each.
 */

/** Why a trigger starts a run. `missed`: a time at which no server followed it. `hand`: somebody asked for it. */
type TriggerCause = 'cron' | 'missed' | 'files' | 'webhook' | 'hand'

/** Something that starts a trigger. */
export interface TriggerEvent {
  readonly cause: TriggerCause
  /** For people: the time, the files. */
  readonly about: string
  /** What a webhook has sent; omitted for others. */
  readonly payload?: Json
}

/** The last thing that came of a trigger. */
export interface LastStart {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly cause: TriggerCause
  readonly about: string
  readonly outcome: 'started' | 'skipped' | 'failed'
  readonly run?: string
  /** Why it was skipped, or what failed. */
  readonly message?: string
}

interface Remembered {
  readonly last?: LastStart
  /** The last run that it has started; `last` may be later and have none. */
  readonly run?: string
  /** All times of this schedule up to `until` are dealt with. */
  readonly schedule?: string
  /** Milliseconds since 1970. */
  readonly until?: number
}

/** Webhooks that were accepted. */
export interface AcceptedHooks {
  /** None that was sent at this second or earlier is accepted any more. */
  readonly floor: number
  /** Signatures with the second at which they were made. */
  readonly signatures: Readonly<Record<string, number>>
  /** The same for deliveries that have started something: `NAME id`. */
  readonly deliveries: Readonly<Record<string, number>>
}

interface Waiting {
  readonly trigger: string
  readonly event: TriggerEvent
}

export interface TriggerMemory {
  readonly of: (trigger: string) => Remembered
  /** Sets some fields of what is remembered. Never throws: a memory is not worth failing the work for. */
  readonly remember: (trigger: string, some: Remembered) => void
  readonly hooks: () => AcceptedHooks
  /** @throws the system's error: a webhook that could be sent again must not be accepted */
  readonly keepHooks: (hooks: AcceptedHooks) => void
  /** Keeps an event until `taken` is called. */
  readonly wait: (waiting: Waiting) => { readonly taken: () => void }
  /** The events that an earlier server has left, oldest first; each is kept until it is taken. */
  readonly left: () => readonly (Waiting & { readonly taken: () => void })[]
  /**
   * Makes this process the one that follows the triggers of the workspace. Returns the process that already does.
   */
  readonly claim: () => Promise<Owner | undefined>
  /** The opposite; does nothing without a claim. */
  readonly release: () => void
}

interface Around {
  readonly env: Environment
  readonly home: string
}

const noHooks: AcceptedHooks = { floor: 0, signatures: {}, deliveries: {} }

/** The memory of the triggers of a workspace. @throws BatonError UNTRUSTED, FILE_FAILED if it cannot be written */
export function openTriggerMemory(workspace: string, around: Around): TriggerMemory {
  const folder = triggersFolder(around, workspace)
  const queue = join(folder, 'waiting')
  try {
    makeFolderPrivate(stateFolder(around), {
      what: 'the state folder',
      hint: 'Set BATON_HOME or XDG_STATE_HOME to a folder of your own.',
    })
    mkdirSync(queue, { recursive: true, mode: 0o700 })
  } catch (error) {
    if (error instanceof BatonError) throw error
    throw new BatonError('FILE_FAILED', `the state of triggers cannot be written: ${messageOf(error)}`, {
      hint: 'Set BATON_HOME to another folder.',
      cause: error,
    })
  }
  const fileOf = (trigger: string): string => join(folder, `trigger-${trigger}.json`)
  const [hooksFile, ownerFile] = [join(folder, 'hooks.json'), join(folder, triggersOwner)]
  const self = { ...processOwners.self(), claim: randomName() }
  let sequence = 0

  const of = (trigger: string): Remembered => (readJson(fileOf(trigger)) ?? {}) as Remembered

  async function claim(): Promise<Owner | undefined> {
    const mine = join(folder, `.${self.claim}.tmp`)
    try {
      writeFileSync(mine, JSON.stringify(self), { mode: 0o600 })
      for (let tries = 0; ; tries += 1) {
        try {
          linkSync(mine, ownerFile)
          return undefined
        } catch (error) {
          if (!hasSystemCode(error, 'EEXIST')) throw error
        }
        const other = readJson(ownerFile) as (Owner & { readonly claim: string }) | undefined
        if (other !== undefined && (await isAlive(other))) return other
        if (other !== undefined || tries > 3) removeStaleClaim(ownerFile, other?.claim)
      }
    } finally {
      rmSync(mine, { force: true })
    }
  }

  return {
    of,
    remember(trigger, some) {
      try {
        write(fileOf(trigger), { ...of(trigger), ...some })
      } catch {
        // the next server may start a missed run once more
      }
    },
    hooks: () => ({ ...noHooks, ...readJson(hooksFile) }),
    keepHooks: (hooks) => write(hooksFile, hooks, { flush: true }),
    wait(waiting) {
      const file = join(queue, `${Date.now()}-${String((sequence += 1)).padStart(6, '0')}-${randomName()}.json`)
      write(file, waiting)
      return { taken: () => rmSync(file, { force: true }) }
    },
    left: () =>
      readdirSync(queue)
        .toSorted()
        .flatMap((name) => {
          const file = join(queue, name)
          const waiting = readJson(file)
          return name.endsWith('.json') && isWaiting(waiting)
            ? [{ ...waiting, taken: () => rmSync(file, { force: true }) }]
            : []
        }),
    claim,
    release() {
      if ((readJson(ownerFile) as { readonly claim?: string } | undefined)?.claim === self.claim)
        rmSync(ownerFile, { force: true })
    },
  }
}

async function isAlive(owner: Owner): Promise<boolean> {
  // one of another machine or container cannot be seen: it is left its triggers
  return !processOwners.isVisible(owner) || processOwners.isAlive(owner)
}

/** Removes the claim of a process that is gone, and no other that has taken its place meanwhile. */
function removeStaleClaim(file: string, claim: string | undefined): void {
  const aside = `${file}.${randomName()}`
  try {
    renameSync(file, aside)
    const found = readJson(aside) as { readonly claim?: string } | undefined
    if (found?.claim !== undefined && found.claim !== claim) linkSync(aside, file)
  } catch {
    // another process was faster
  } finally {
    rmSync(aside, { force: true })
  }
}

function write(file: string, value: object, options?: { readonly flush: boolean }): void {
  writeWholeFile(file, `${JSON.stringify(value)}\n`, options)
}

function readJson(file: string): object | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isWaiting(value: object | undefined): value is Waiting {
  return value !== undefined && 'trigger' in value && 'event' in value && isObject(value.event)
}
