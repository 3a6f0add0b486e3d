import { canonicalJson, isJsonObject, type Json } from '../base/json.ts'
import type { ReadLog } from '../base/reads.ts'
import type { Environment, LiveMask } from '../journal/secrets.ts'
import type { CommandFile, NamedFile } from '../pack/resolve.ts'
import { startsAgents } from '../load/definitions.ts'
import type { NamedProgram } from '../load/strategy.ts'
import { originsOf, type Target } from '../load/target.ts'
import { strategies } from '../strategies/strategies.ts'

/** The secrets of programs that are agents: the `env` values in their definitions, wherever these are written. */
export interface ProgramSecrets {
  /** Masks the secrets of the programs that a target may start, as far as they are known before it runs. */
  readonly addFrom: (target: Target) => Promise<void>
  /**
   * Finds an agent during the run. Masks its secrets and those of the programs it defines before what was read for it
   * is recorded.
   */
  readonly hidden: (reads: ReadLog, find: (noted: ReadLog) => Promise<NamedFile>) => Promise<NamedFile>
}

/** One for each process that runs, resumes or replays a run: `mask` masks the secrets from the time they are added. */
export function createProgramSecrets(mask: Pick<LiveMask, 'add'>, environment: Environment): ProgramSecrets {
  const known = new Map<string, string>()

  /**
   * Several files may define programs with the same name: each gets a unique name that stays the same in a resumed run.
   */
  function nameOf({ name, env }: NamedProgram): string | undefined {
    const text = canonicalJson(env)
    let free = name
    for (let count = 2; known.has(free); count += 1) {
      if (known.get(free) === text) return undefined
      free = `${name}~${count}`
    }
    known.set(free, text)
    return free
  }

  async function add(programs: readonly NamedProgram[]): Promise<void> {
    const added = programs.flatMap((program): readonly (readonly [string, Pick<NamedProgram, 'env'>])[] => {
      const name = Object.keys(program.env).length === 0 ? undefined : nameOf(program)
      return name === undefined ? [] : [[name, { env: program.env }]]
    })
    if (added.length === 0) return
    const { serverSecrets } = await import('../journal/server-secrets.ts')
    mask.add(serverSecrets(Object.fromEntries(added), environment, 'agents'))
  }

  return {
    addFrom: async (target) => add(await programsOf(target)),
    async hidden(reads, find) {
      const waiting: (() => void)[] = []
      const { sources } = reads
      const found: NonNullable<ReadLog['sources']>['found'] = (...source) =>
        void waiting.push(() => sources?.found(...source))
      try {
        const agent = await find(sources === undefined ? reads : { ...reads, sources: { ...sources, found } })
        await add(await programsIn(agent))
        return agent
      } finally {
        for (const note of waiting) note()
      }
    },
  }
}

/** The programs of its settings, its named agents and its strategy, and all named agents if its model may start any. */
async function programsOf(target: Target): Promise<readonly NamedProgram[]> {
  const written = originsOf(target).flatMap(({ path, value }) =>
    path[0] === 'agents' && path.length === 2 ? [programOf(String(path[1]), value)] : [],
  )
  const named = target.agents.flatMap((agent) => (agent.kind === 'command' ? [lineOf(agent)] : []))
  if (target.kind === 'agent') return [...written, ...named]
  const { settings, starts, spec } = target
  const members = strategies.flatMap(({ programs }) => programs?.(settings) ?? [])
  const below = await Promise.all(starts.flatMap(({ child }) => (child === undefined ? [] : [programsOf(child)])))
  const offered = startsAgents(spec) ? [...(await target.definitions()).byName.values()] : []
  const lines = offered.flatMap(({ agent }) => (agent.kind === 'command' ? [lineOf(agent)] : []))
  return [...written, ...named, ...members, ...below.flat(), ...lines]
}

/** The programs that a resolved agent is, or that the front matter of a prompt file defines. */
async function programsIn(agent: NamedFile): Promise<readonly NamedProgram[]> {
  if (agent.kind === 'command') return [lineOf(agent)]
  if (agent.kind !== 'prompt' || !/\benv\b/.test(agent.text)) return []
  const { parsePrompt } = await import('../prompt/document.ts')
  // errors in it are reported when it is loaded
  const document = await parsePrompt(agent.file, agent.text).catch(() => undefined)
  const data = document?.meta.data ?? {}
  const { agents = null } = data
  return [
    ...Object.entries(isJsonObject(agents) ? agents : {}),
    ...strategies.flatMap(({ key, programTables }) => programTables?.(data[key] ?? null) ?? []),
  ].map(([name, table]) => programOf(name, table))
}

function lineOf({ name, line }: Pick<CommandFile, 'name' | 'line'>): NamedProgram {
  return { name, env: line.env }
}

function programOf(name: string, table: Json): NamedProgram {
  const { env = null } = isJsonObject(table) ? table : {}
  const texts = Object.entries(isJsonObject(env) ? env : {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return { name, env: Object.fromEntries(texts) }
}
