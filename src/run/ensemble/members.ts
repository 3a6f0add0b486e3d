import { basename, extname } from 'node:path'
import { canonicalJson, type JsonObject } from '../../base/json.ts'
import type { Ensemble, EnsembleMember } from '../../config/ensemble.ts'
import { settingsFor } from '../../config/run-spec.ts'
import type { Settings } from '../../config/settings.ts'
import type { ChainState } from '../../stage/state.ts'
import type { FoundAgent } from '../prompt-agents.ts'
import type { PromptTarget } from '../prompt-target.ts'

type MemberKind = 'model' | 'agent' | 'command'

/** A member as it is asked: the file as if it had no ensemble, and this one answered alone. */
export interface PreparedMember extends Pick<EnsembleMember, 'name' | 'index'> {
  /** `{file}-ensemble-{name}` (R267). */
  readonly id: string
  readonly kind: MemberKind
  readonly target: PromptTarget
}

/** Whether members answer what `[output]` describes; else that is for who makes one answer of theirs. */
function answersInForm({ aggregate, isolation }: Ensemble): boolean {
  return aggregate === 'vote' || aggregate === 'first' || isolation === 'worktree'
}

/**
 * The members of an ensemble, as they are written.
 * @throws BatonError AGENT_NOT_FOUND
 */
export function prepareMembers(ensemble: Ensemble, target: PromptTarget): Promise<readonly PreparedMember[]> {
  const { file } = target.spec
  const spec = basename(file, extname(file))
  return Promise.all(
    ensemble.members.map(async (member) => {
      const { name, index, model } = member
      const agent = await agentOf(member, target)
      return {
        name,
        index,
        id: `${spec}-ensemble-${name}`,
        kind: kindOf(member),
        target: {
          ...alone(target, agent === undefined ? model : undefined),
          answerAgent: agent,
          answerOptions: model === undefined ? {} : { model },
          output: answersInForm(ensemble) ? target.output : undefined,
        },
      }
    }),
  )
}

/** Who makes one answer of all, as if the file had no ensemble: the aggregator, or the model of the synthesis. */
export async function aggregateTarget(
  { aggregator: name, model }: Ensemble,
  target: PromptTarget,
): Promise<PromptTarget> {
  const answerAgent = name === undefined ? undefined : ((await target.findAgent({ name })) as FoundAgent)
  return { ...withoutTeam(alone(target, model)), answerAgent, answerOptions: {} }
}

/** Who joins answers, or chooses one, starts no agents: that is for those who answer. */
function withoutTeam(target: PromptTarget): PromptTarget {
  const without = (settings: Settings): Settings => {
    const { collab: _, ...others } = settings
    return others
  }
  return { ...target, settings: without(target.settings), settingsFor: (params) => without(target.settingsFor(params)) }
}

function kindOf({ agent, line }: EnsembleMember): MemberKind {
  if (line !== undefined) return 'command'
  return agent === undefined ? 'model' : 'agent'
}

async function agentOf(
  { name, agent, line }: EnsembleMember,
  { findAgent, spec }: PromptTarget,
): Promise<FoundAgent | undefined> {
  if (agent !== undefined) return (await findAgent({ name: agent })) as FoundAgent
  if (line === undefined) return undefined
  const text = canonicalJson(line as unknown as JsonObject)
  return { kind: 'command', name, file: spec.file, text, line, builtIn: false }
}

/**
 * The file as if it had no ensemble. `model`: wins over that of the file and over flags, which say who answers where nobody is
 * named; left out: they say it.
 */
function alone(target: PromptTarget, model: string | undefined): PromptTarget {
  const { spec } = target
  const named = { origin: spec.layers.own.origin, values: model === undefined ? {} : { model } }
  const layers = { ...spec.layers, above: [...spec.layers.above, named] }
  const settingsOf = settingsFor({ ...spec, layers })
  const known = new WeakMap<JsonObject, Settings>()
  const settingsAlone = (params: JsonObject): Settings => {
    const { ensemble: _, ...settings } = known.get(params) ?? settingsOf(params)
    known.set(params, settings)
    return settings
  }
  return { ...target, settings: settingsAlone(spec.params), settingsFor: settingsAlone }
}

/** What a chain made of the front matter, without the ensemble: members do not see it. */
export function withoutEnsemble({ params, prompts }: ChainState): ChainState {
  const { ensemble: _, ...others } = params
  return { params: others, prompts }
}
